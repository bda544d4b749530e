// Plans a run: its steps are drawn from the seed. Each step has a seed of its own, so that it does the same when others
// are left out.

import { Random } from './world/random.ts';

/** The faults, each with the relative frequency with which it happens. */
export const FAULTS = {
  /** All objects that are at rest leave memory. */
  eviction: 4,
  /** The host ends between two turns of the event loop; unflushed writes are lost, torn or reordered. */
  crash: 4,
  /** Power fails during a call on a file, so it may fail inside a commit. */
  powerLoss: 4,
  /** The host closes in order, with calls in flight, as when another tab takes over. */
  failover: 1,
  /** A call is performed, and its answer is lost. */
  replyLost: 3,
  /** A call on a file fails. */
  diskError: 1,
  /** A call on a file finds no space. */
  diskFull: 1,
  /** The next timer or alarm runs late. */
  alarmLate: 2,
  /** The next alarm that succeeds runs again. */
  alarmTwice: 2,
  /** The wall clock is set back. */
  clockBack: 2,
  /** Resets one object while calls are in flight. */
  reset: 2,
  /** The connection of a socket is lost, while the object continues. */
  socketLost: 2,
  /** An outgoing request fails, or its answer is lost. */
  fetchFails: 2,
  /** The host ends, and one with another version of the classes starts. */
  deploy: 2,
} as const;

export type FaultName = keyof typeof FAULTS;

/** The wait before a step: for turns of the event loop, for time, or until no call is in flight. */
export type Gap =
  | { readonly kind: 'turns'; readonly count: number }
  | { readonly kind: 'time'; readonly durationMs: number }
  | { readonly kind: 'settled' };

export interface Step {
  readonly kind: 'call' | FaultName;
  readonly seed: number;
  readonly gap: Gap;
}

export interface PlanOptions {
  readonly steps: number;
  /** The weights of the faults, by name. */
  readonly faults: ReadonlyMap<FaultName, number>;
}

/** About one step in this many is a fault. */
const STEPS_PER_FAULT = 4;
const DELAYS_MS = [1, 10, 100, 1000, 15_000, 120_000];

export function stepsOf(seed: number, { steps, faults }: PlanOptions): Step[] {
  const random = new Random(seed);
  const names = [...faults].flatMap(([name, weight]) => Array<FaultName>(weight).fill(name));
  return Array.from({ length: 1 + random.below(steps * 2) }, () => {
    const isFault = random.onceIn(STEPS_PER_FAULT) && names.length > 0;
    return {
      kind: isFault ? random.pick(names) : 'call',
      seed: random.below(2 ** 30),
      gap: gapOf(random),
    };
  });
}

function gapOf(random: Random): Gap {
  switch (random.below(8)) {
    case 0:
      return { kind: 'settled' };
    case 1:
    case 2:
      return { kind: 'time', durationMs: random.pick(DELAYS_MS) };
    case 3:
    case 4:
    case 5:
      return { kind: 'turns', count: 1 + random.below(20) };
    default:
      return { kind: 'turns', count: 0 };
  }
}
