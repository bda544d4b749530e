// The plan of a simulation, drawn from its seed in advance. Every step has its own seed, so that leaving out steps does
// not change the others.

import type { HistoryLimits } from '../../../src/shared/contract/history-limits.ts';
import type { DiskOptions } from '../simulate/world/crash-disk.ts';
import { Random } from '../simulate/world/random.ts';
import type { Sizes } from './simulated-object.ts';

/** The kinds of steps, with their relative frequencies. */
const STEPS = {
  write: 20,
  acknowledgedWrite: 14,
  transaction: 8,
  bulk: 4,
  clear: 2,
  deleteAll: 1,
  acknowledge: 4,
  bookmark: 6,
  restore: 4,
  lookUpTime: 3,
  exportDatabase: 1,
  importDatabase: 1,
  checkpoint: 2,
  maintain: 4,
  close: 3,
  reset: 4,
  lossSoon: 18,
  loss: 5,
  fault: 4,
  fullDisk: 2,
  room: 3,
  days: 1,
  large: 0,
} as const;

/**
 * Kinds that were added later. Only plans of seeds from `LATER_SEEDS` on have them, so that plans of earlier seeds have
 * not changed.
 */
const LATER_STEPS = { noMemory: 14 } as const;
export const LATER_SEEDS = 100_000;
/** Kinds that were added later still, or made more frequent, for seeds from `LATEST_SEEDS` on. */
const LATEST_STEPS = { clockStep: 8, lookUpTime: 12 } as const;
const LATEST_SEEDS = 600_000;

/**
 * Turns of events with authors, for seeds from `AUTHORED_SEEDS` on. They are as frequent as all other writing steps
 * together.
 */
const AUTHORED_STEPS = { turn: 45 } as const;
export const AUTHORED_SEEDS = 900_000;

/** Texts into which words are typed, for seeds from `TYPED_SEEDS` on. */
const TYPED_STEPS = { type: 60 } as const;
export const TYPED_SEEDS = 3_000_000;

/** From this seed on, every other plan keeps only few bytes of history. */
export const BOUNDED_SEEDS = 700_000;
const KEPT_BYTES = [0, 1 << 15, 1 << 17];

/** From this seed on, three of four plans thin the history; some of these keep only few bytes. */
export const THINNED_SEEDS = 800_000;

export type StepKind =
  | keyof typeof STEPS
  | keyof typeof LATER_STEPS
  | keyof typeof LATEST_STEPS
  | keyof typeof AUTHORED_STEPS
  | keyof typeof TYPED_STEPS;

export interface Step {
  readonly kind: StepKind;
  readonly seed: number;
}

export interface Plan {
  readonly seed: number;
  readonly sizes: Sizes;
  readonly disk: DiskOptions;
  /** `bytes` is a disk of files; `rows` is the database of a browser without synchronous files. */
  readonly medium: 'bytes' | 'rows';
  readonly steps: readonly Step[];
  /** Whether the writes are events of several authors. */
  readonly isAuthored: boolean;
}

const KINDS = kindsOf(STEPS);
const LATER_KINDS = kindsOf({ ...STEPS, ...LATER_STEPS });
const LATEST_KINDS = kindsOf({ ...STEPS, ...LATER_STEPS, ...LATEST_STEPS });
const AUTHORED_KINDS = kindsOf({ ...STEPS, ...LATER_STEPS, ...LATEST_STEPS, ...AUTHORED_STEPS });
const TYPED_KINDS = kindsOf({
  ...STEPS,
  ...LATER_STEPS,
  ...LATEST_STEPS,
  ...AUTHORED_STEPS,
  ...TYPED_STEPS,
});

/** Returns each kind as often as its frequency says. */
export function kindsOf<Kind extends string>(frequencies: Readonly<Record<Kind, number>>): Kind[] {
  return (Object.keys(frequencies) as Kind[]).flatMap((kind) =>
    Array.from({ length: frequencies[kind] }, () => kind),
  );
}

/** One plan in 150 has values that fill segments of the default size. */
const LARGE_PLANS = 150;

export function planOf(seed: number): Plan {
  const random = new Random(seed);
  const kinds = kindsFor(seed);
  const isLarge = random.onceIn(LARGE_PLANS);
  const step = (kind: StepKind): Step => ({ kind, seed: random.below(1_000_000) });
  const steps = Array.from({ length: 30 + random.below(120) }, () => step(random.pick(kinds)));
  return {
    seed,
    sizes: { ...(isLarge ? {} : smallSizes(seed, random)), history: historyOf(seed) },
    medium: 'bytes',
    disk: { flush: random.pick(['now', 'now', 'late'] as const) },
    steps: isLarge ? withLarge(steps.slice(0, 40), random, step) : steps,
    isAuthored: seed >= AUTHORED_SEEDS,
  };
}

/** Returns how much history the object of a seed keeps. */
export function historyOf(seed: number): HistoryLimits {
  if (seed < BOUNDED_SEEDS) return {};
  const thin = seed >= THINNED_SEEDS && seed % 4 !== 3 && { thin: true };
  if (seed % 2 === 0) return { ...thin };
  return {
    ...thin,
    bytes: KEPT_BYTES[((seed - 1) / 2) % KEPT_BYTES.length]!,
  };
}

function kindsFor(seed: number): readonly StepKind[] {
  if (seed < LATER_SEEDS) return KINDS;
  if (seed < LATEST_SEEDS) return LATER_KINDS;
  if (seed < AUTHORED_SEEDS) return LATEST_KINDS;
  return seed < TYPED_SEEDS ? AUTHORED_KINDS : TYPED_KINDS;
}

function smallSizes(seed: number, random: Random): Sizes {
  return { ...sizesFrom(random), ...(seed % 4 === 1 && { undoBytes: 1 << 14 }) };
}

function sizesFrom(random: Random): Sizes {
  if (random.onceIn(10)) return {};
  return {
    segmentBytes: random.pick([1 << 14, 1 << 15, 1 << 16, 1 << 18]),
    spillBytes: random.pick([1 << 14, 1 << 16, 1 << 20]),
    checkpointOverlayBytes: random.pick([1 << 14, 1 << 16, 1 << 20]),
    checkpointLogBytes: random.pick([1 << 13, 1 << 15, 1 << 17]),
    cachePages: random.pick([10, 10, 50, 2000]),
  };
}

function withLarge(steps: readonly Step[], random: Random, step: (kind: StepKind) => Step): Step[] {
  const mixed = [...steps];
  for (let i = 0; i < 10; i++) {
    const at = random.below(mixed.length);
    mixed.splice(at, 0, step('large'), step('large'), step('loss'));
  }
  return mixed;
}
