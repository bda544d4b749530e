// The steps of a simulation of branches, all drawn from its seed in advance.

import { Random } from '../simulate/world/random.ts';
import { kindsOf } from './plan.ts';

/** The kinds of steps, with their relative frequencies. */
const STEPS = {
  write: 24,
  unconfirmed: 4,
  mark: 8,
  look: 4,
  fork: 10,
  end: 2,
  delete: 4,
  promote: 7,
  merge: 7,
  restore: 4,
  exported: 2,
  imported: 2,
  deleteAll: 2,
  days: 4,
  evict: 4,
  abort: 3,
  close: 2,
  lossSoon: 16,
  loss: 4,
  fault: 6,
  fullDisk: 3,
  room: 3,
} as const;

export type BranchStepKind = keyof typeof STEPS;

export interface BranchStep {
  readonly kind: BranchStepKind;
  readonly seed: number;
}

const KINDS = kindsOf(STEPS);

export function branchStepsOf(seed: number): BranchStep[] {
  const random = new Random(seed);
  return Array.from({ length: 20 + random.below(60) }, () => ({
    kind: random.pick(KINDS),
    seed: random.below(1_000_000),
  }));
}
