// Lists the walks of the model. A walk is a set of calls and faults, all interleavings of which are visited.
//
// The largest walks combine three writes, divided between the followers A and B in every way, with all five faults; the
// other walks have fewer faults or calls. `at: 'A'` lets crashes, losses, repeats and delays happen to A alone, which
// covers B by symmetry.
//
// No walk has faults at both followers with a restart, two faults of a kind, or more than three calls.
//
// This file does not know how a walk is made (explore.ts).

import { DEFECTS } from './defects.ts';
import { explore, type WalkOptions } from './explore.ts';
import { nameOf, type Scenario, scenario } from './scenario.ts';

const ALL_FAULTS = { restarts: 1, crashes: 1, losses: 1, repeats: 1, late: 1 } as const;

/** The walks of the tests, which take some seconds in total. */
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
  scenario('A write, A write', { copies: 1 }, { at: 'A' }),
  scenario('A write, A refused, A write', { copies: 1 }, { at: 'A' }),
];

/** The walks of the long tests, which take a minute in total. */
export const LARGE_WALKS: readonly Scenario[] = [
  scenario('A write, B refused, A write', { restarts: 1, crashes: 1 }, { at: 'A' }),
  scenario('A write, A refused', { restarts: 1, crashes: 1, losses: 1 }, { at: 'A' }),
  scenario('A slow, B lingering', { restarts: 1, losses: 1 }, { at: 'A' }),
  scenario('A fatal, B write', { losses: 1 }, { at: 'A' }),
  scenario('A write, B write', { restores: 1, losses: 1, late: 1 }, { at: 'A' }),
  scenario('A write, B refused', { crashes: 1, losses: 1 }, { isConnected: false, at: 'A' }),
  scenario('B write, B write', { restores: 1, losses: 1 }, { isConnected: false, at: 'A' }),
  scenario('A write, B write, A write', { copies: 1, losses: 1 }, { at: 'A' }),
];

/** The walks of `npm run model:follow`, which take minutes in total. Run it after a change of follower.ts or server.ts. */
export const LARGEST_WALKS: readonly Scenario[] = [
  scenario('A write', ALL_FAULTS, { at: 'A' }),
  scenario('A write, B refused, A write', { crashes: 1, losses: 1 }),
  scenario('A write, B write, A refused', { losses: 1, repeats: 1, late: 1 }),
  scenario('A write, B write, A write', { restarts: 1, losses: 1, late: 1 }, { at: 'A' }),
  scenario('A write, B write', ALL_FAULTS, { at: 'A' }),
  scenario('A write, A write', { copies: 1, crashes: 1, restarts: 1 }, { at: 'A' }),
];

/** The walks of `npm run model:follow:largest`, which take two and a half hours in total, and 6 GB of memory. */
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
  /** The broken promise and the steps that lead to it, as text; null if every promise holds. */
  readonly failure: string | null;
}

/** Walks the real protocol, without a defect. */
export function runWalk(scenario: Scenario, options?: WalkOptions): WalkRow {
  const { failure, ...counts } = explore(scenario, {}, options);
  const name = nameOf(scenario);
  const text = failure && `${name}: ${failure.promise}\n  ${failure.trace.join('\n  ')}`;
  return { name, ...counts, failure: text };
}

/** Returns the first small walk in which the defect breaks a promise; null if there is none. */
export function findRefutation(defect: string): WalkRow | null {
  for (const scenario of SMALL_WALKS) {
    const { failure, ...counts } = explore(scenario, DEFECTS[defect]!);
    if (failure !== null) return { name: nameOf(scenario), ...counts, failure: failure.promise };
  }
  return null;
}
