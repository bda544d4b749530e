// The walks of the model: which calls, with which faults, are followed through every interleaving.
//
// All five faults meet in every division of three writes between A and B; in the other walks, fewer faults or calls do.
// `at A` bounds crashes, losses, repeats and delays to one follower, A by symmetry, while both are connected.
//
// Not walked: faults at both followers with a restart; two faults of a kind; more than three calls.
//
// Does not know how a walk is made.

import { DEFECTS } from './defects.ts';
import { explore, type WalkOptions } from './explore.ts';
import { nameOf, type Scenario, scenario } from './scenario.ts';

const ALL_FAULTS = { restarts: 1, crashes: 1, losses: 1, repeats: 1, late: 1 } as const;

/** Seconds together. */
export const SMALL_WALKS: readonly Scenario[] = [
  scenario('A write, B write, A write', {}),
  scenario('A write, B refused, A write', { losses: 1 }),
  scenario('A thrown, A quiet, A outside', { losses: 1 }, { at: 'A' }),
  scenario('A write, A refused', { crashes: 1, losses: 1 }, { at: 'A' }),
  scenario('A refused, A write', { crashes: 1, dismissals: 1 }, { at: 'A' }),
  scenario('A write, A write', { losses: 1, repeats: 1, late: 1 }, { at: 'A' }),
  scenario('A lingering, B write', { crashes: 1 }, { at: 'A' }),
  scenario('A slow, B write', { restarts: 1 }),
  scenario('A write, A refused', { restarts: 1, losses: 1 }, { at: 'A' }),
  scenario('A write, B write', { restores: 1 }),
  scenario('A write', { losses: 1, late: 1, restores: 1 }, { at: 'A' }),
  scenario('A write', { losses: 1, late: 1 }, { isConnected: false, at: 'A' }),
  scenario('B write', { crashes: 1, losses: 1 }, { isConnected: false, at: 'A' }),
  scenario('B write, B write', { restores: 1 }, { isConnected: false }),
];

/** A minute together. */
export const LARGE_WALKS: readonly Scenario[] = [
  scenario('A write, B refused, A write', { restarts: 1, crashes: 1 }, { at: 'A' }),
  scenario('A write, A refused', { restarts: 1, crashes: 1, losses: 1 }, { at: 'A' }),
  scenario('A slow, B lingering', { restarts: 1, losses: 1 }, { at: 'A' }),
  scenario('A fatal, B write', { losses: 1 }, { at: 'A' }),
  scenario('A write, B write', { restores: 1, losses: 1, late: 1 }, { at: 'A' }),
  scenario('A write, B refused', { crashes: 1, losses: 1 }, { isConnected: false, at: 'A' }),
  scenario('B write, B write', { restores: 1, losses: 1 }, { isConnected: false, at: 'A' }),
];

/** Minutes together: for `npm run model:follow`, after a change of the core. */
export const LARGEST_WALKS: readonly Scenario[] = [
  scenario('A write', ALL_FAULTS, { at: 'A' }),
  scenario('A write, B refused, A write', { crashes: 1, losses: 1 }),
  scenario('A write, B write, A refused', { losses: 1, repeats: 1, late: 1 }),
  scenario('A write, B write, A write', { restarts: 1, losses: 1, late: 1 }, { at: 'A' }),
  scenario('A write, B write', ALL_FAULTS, { at: 'A' }),
];

/** Two and a half hours together, and 6 GB: for `npm run model:follow:largest`. */
export const THREE_CALLS_WITH_ALL_FAULTS: readonly Scenario[] = [
  scenario('A write, B write, A write', ALL_FAULTS, { at: 'A' }),
  scenario('B write, A write, B write', ALL_FAULTS, { at: 'A' }),
  scenario('A write, A write, A write', ALL_FAULTS, { at: 'A' }),
  scenario('B write, B write, B write', ALL_FAULTS, { at: 'A' }),
];

export interface WalkRow {
  readonly name: string;
  readonly states: number;
  readonly steps: number;
  readonly depth: number;
  /** In words, with the steps that lead to it; null: every promise holds. */
  readonly failure: string | null;
}

/** A walk of the core as it is. */
export function walked(scenario: Scenario, options?: WalkOptions): WalkRow {
  const { failure, ...counts } = explore(scenario, {}, options);
  const name = nameOf(scenario);
  const text = failure && `${name}: ${failure.promise}\n  ${failure.trace.join('\n  ')}`;
  return { name, ...counts, failure: text };
}

/** The first small walk that refutes the defect; null: none does. */
export function refuted(defect: string): WalkRow | null {
  for (const scenario of SMALL_WALKS) {
    const { failure, ...counts } = explore(scenario, DEFECTS[defect]!);
    if (failure !== null) return { name: nameOf(scenario), ...counts, failure: failure.promise };
  }
  return null;
}
