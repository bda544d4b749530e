// The scenario of a walk: who makes which calls, and how many faults of each kind may happen.
//
// Invariant: a scenario is data; two walks of it visit the same states.

/**
 * On the server, a call
 *   write    writes a note in one turn
 *   refused  throws before it writes
 *   thrown   writes, then throws
 *   quiet    writes nothing there, though its forecast did
 *   slow     writes in two turns
 *   lingering writes in the first of two turns
 *   fatal    ends the instance, each time
 *   outside  writes; it reached outside on the device, so that it is not forecast
 */
export type CallKind =
  | 'write'
  | 'refused'
  | 'thrown'
  | 'quiet'
  | 'slow'
  | 'lingering'
  | 'fatal'
  | 'outside';

export interface ScriptedCall {
  readonly by: 'A' | 'B';
  readonly kind: CallKind;
}

export interface TaggedCall extends ScriptedCall {
  readonly tag: string;
}

/** How many may still happen. */
export interface FaultBudget {
  /** The server's instance ends, or hibernates. */
  readonly restarts: number;
  /** The server's instance ends, and its storage is restored to an earlier commit. */
  readonly restores: number;
  /** A device loses its memory, and of each log any commits after the last flush. */
  readonly crashes: number;
  /** A connection breaks. */
  readonly losses: number;
  /** A message is delivered again, later on its connection or, upward, on a newer one. */
  readonly repeats: number;
  /** A message of a lost connection reaches a device after the next connection was made. */
  readonly late: number;
  /** The app dismisses a refusal. No fault, but a step that need not come. */
  readonly dismissals: number;
}

export interface Scenario {
  /** False: both devices are new. True: they have connected, and the object is empty. */
  readonly isConnected: boolean;
  readonly calls: readonly ScriptedCall[];
  /** The calls of each device, in its order. A tag names a call: `A1` is the first of all, and A's. */
  readonly script: readonly [readonly TaggedCall[], readonly TaggedCall[]];
  readonly faults: FaultBudget;
  /** Whose device crashes, and whose connections break, repeat and delay messages; null: either's. */
  readonly faultsAt: 'A' | 'B' | null;
}

export const NO_FAULTS: FaultBudget = {
  restarts: 0,
  restores: 0,
  crashes: 0,
  losses: 0,
  repeats: 0,
  late: 0,
  dismissals: 0,
};

/** Calls as text: `A write, B slow`; none: an empty text. */
export function scenario(
  calls: string,
  faults: Partial<FaultBudget>,
  { isConnected = true, at = null }: { isConnected?: boolean; at?: 'A' | 'B' | null } = {},
): Scenario {
  const scripted = (calls === '' ? [] : calls.split(', ')).map((call) => {
    const [by, kind] = call.split(' ') as [ScriptedCall['by'], CallKind];
    return { by, kind };
  });
  const tagged = scripted.map((call, i) => ({ ...call, tag: `${call.by}${i + 1}` }));
  const of = (name: string) => tagged.filter(({ by }) => by === name);
  const script = [of('A'), of('B')] as const;
  const budget = { ...NO_FAULTS, ...faults };
  return { isConnected, calls: scripted, script, faults: budget, faultsAt: at };
}

export function nameOf({ isConnected, calls, faults, faultsAt }: Scenario): string {
  const counts = Object.entries(faults).filter(([, count]) => count > 0);
  const named = counts.map(([name, count]) => `${count} ${name}`).join(', ');
  const made = calls.map(({ by, kind }) => `${by} ${kind}`).join(', ');
  const where = faultsAt === null ? '' : ` at ${faultsAt}`;
  return `${made}; ${named || 'no faults'}${where}${isConnected ? '' : '; new devices'}`;
}
