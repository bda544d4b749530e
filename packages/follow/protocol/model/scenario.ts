// The scenario of a walk: which follower makes which calls, and how many faults of each kind may happen.
//
// Invariant: a scenario is plain data, and two walks of it visit the same states.

/**
 * The kind of a call says what it does on the server. A call that is
 *   write    writes a note in one turn
 *   refused  throws before it writes
 *   thrown   writes, then throws
 *   quiet    writes nothing on the server, though its forecast did
 *   slow     writes in two turns
 *   lingering writes in the first of two turns
 *   fatal    ends the server's instance, each time it runs
 *   outside  writes, and is not forecast, because on the device it reached outside of the object
 *   forged   writes, and has any outcome, because a hostile server may answer it
 */
export type CallKind =
  | 'write'
  | 'refused'
  | 'thrown'
  | 'quiet'
  | 'slow'
  | 'lingering'
  | 'fatal'
  | 'outside'
  | 'forged';

export interface ScriptedCall {
  readonly by: 'A' | 'B';
  readonly kind: CallKind;
}

export interface TaggedCall extends ScriptedCall {
  readonly tag: string;
}

/** How many faults of each kind may still happen. */
export interface FaultBudget {
  /** The server's instance ends or hibernates, and another one starts. */
  readonly restarts: number;
  /** The server's instance ends, and its storage is restored to an earlier commit. */
  readonly restores: number;
  /** A device loses its memory, and from each log some or all commits after the last flush. */
  readonly crashes: number;
  /** A connection breaks. */
  readonly losses: number;
  /** A message is delivered again, later on its connection or, upward, on a newer one. */
  readonly repeats: number;
  /** A message of a lost connection reaches a device after the next connection was made. */
  readonly late: number;
  /**
   * The files of a device are copied, and later the copy replaces the current files, as when a profile comes back from
   * a backup.
   */
  readonly copies: number;
  /** The app dismisses a refusal. This is not a fault, but like a fault it may happen or not. */
  readonly dismissals: number;
  /** The hostile follower sends any message, or ends one of its connections. */
  readonly hostile: number;
}

/** A follower that does not keep to the protocol (hostile.ts). */
export interface HostileFollower {
  readonly connections: 1 | 2;
  /** The kinds of calls that the hostile follower makes. */
  readonly kinds: readonly CallKind[];
}

export interface Scenario {
  /** True if both devices begin connected to an empty object; false if they have never connected. */
  readonly isConnected: boolean;
  readonly calls: readonly ScriptedCall[];
  /** The calls of each device, in order. A tag is the device and the number of the call in `calls`: `A1`, `B2`. */
  readonly script: readonly [readonly TaggedCall[], readonly TaggedCall[]];
  readonly faults: FaultBudget;
  /** The device that may crash, and whose connection may break, repeat or delay messages; null if both may. */
  readonly faultsAt: 'A' | 'B' | null;
  /** Null if all followers keep to the protocol. */
  readonly hostile: HostileFollower | null;
}

export const NO_FAULTS: FaultBudget = {
  restarts: 0,
  restores: 0,
  crashes: 0,
  losses: 0,
  repeats: 0,
  late: 0,
  copies: 0,
  dismissals: 0,
  hostile: 0,
};

/** A hostile follower with enough calls for most of what such a follower can do. */
const HOSTILE: HostileFollower = { connections: 1, kinds: ['write', 'slow'] };

interface ScenarioOptions {
  readonly isConnected?: boolean;
  readonly at?: 'A' | 'B' | null;
  readonly hostile?: HostileFollower;
}

/** Makes a scenario from its calls as text, such as `A write, B slow`. */
export function scenario(
  calls: string,
  faults: Partial<FaultBudget>,
  { isConnected = true, at = null, hostile = HOSTILE }: ScenarioOptions = {},
): Scenario {
  const scripted = (calls === '' ? [] : calls.split(', ')).map((call) => {
    const [by, kind] = call.split(' ') as [ScriptedCall['by'], CallKind];
    return { by, kind };
  });
  const tagged = scripted.map((call, i) => ({ ...call, tag: `${call.by}${i + 1}` }));
  const callsOf = (name: string) => tagged.filter(({ by }) => by === name);
  const script = [callsOf('A'), callsOf('B')] as const;
  const budget = { ...NO_FAULTS, ...faults };
  return {
    ...{ isConnected, calls: scripted, script, faults: budget, faultsAt: at },
    hostile: budget.hostile > 0 ? hostile : null,
  };
}

export function nameOf({ isConnected, calls, faults, faultsAt, hostile }: Scenario): string {
  const counts = Object.entries(faults).filter(([, count]) => count > 0);
  const named = counts.map(([name, count]) => `${count} ${name}`).join(', ');
  const made = calls.map(({ by, kind }) => `${by} ${kind}`).join(', ') || 'no calls';
  const where = faultsAt === null ? '' : ` at ${faultsAt}`;
  const connections = hostile?.connections === 2 ? ' on 2 connections' : '';
  const kinds = hostile === null ? '' : ` (${hostile.kinds.join(', ')})`;
  const rest = `${connections}${kinds}${isConnected ? '' : '; new devices'}`;
  return `${made}; ${named || 'no faults'}${where}${rest}`;
}
