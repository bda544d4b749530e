// The walks of the model: which tabs, with which faults, are followed through every interleaving.
//
// `1 1 2: kills, late` are three tabs, the third of a newer deployment, which have come to rest; then one tab is closed and
// one message comes late, each at any time or not at all. Tabs after `then` open while the faults happen.
//
// Not walked: more than two faults; a worker that starts while its page follows an older leader, and whose question or request
// is lost, because it asks once.
//
// Does not know how a walk is made.

import { DEFECTS, type Defects } from './defects.ts';
import { explore } from './explore.ts';
import { type Scenario, scenario } from './scenario.ts';

const scenarios = (...texts: string[]): readonly Scenario[] => texts.map((text) => scenario(text));

/** A second together. */
export const SMALL_WALKS: readonly Scenario[] = scenarios(
  '1 then 1',
  '1 then 2',
  '1 1: kills',
  '1 1: freezes',
  '1 2: terminations',
  '1 then 2: unloaded',
  '1 then 2: unopened',
  '1 then 2: lost',
  '1 then 2: late',
  '1 1 1: kills',
  '1 1 2: kills, kills',
  '1 4: successions',
);

/** Three tabs with a fault of each kind, at rest and while the third tab opens, and pairs of faults: minutes together. */
export const LARGE_WALKS: readonly Scenario[] = scenarios(
  '1 1 2: kills, lost',
  '1 1 2: kills, late',
  '1 1 2: kills, freezes',
  '1 1 2: kills, terminations',
  '1 1 2: terminations',
  '1 1 2: freezes',
  '1 1 2: freezes, unopened',
  '1 1 2: freezes, lost',
  '1 1 2: freezes, late',
  '1 1 1: kills, terminations',
  '1 1 1: terminations',
  '1 1 then 2: kills',
  '1 1 then 2: lost',
  '1 1 then 2: late',
  '1 1 then 2: unloaded',
  '1 1 then 2: unopened',
  '1 1 then 2: freezes',
  '1 2: terminations, terminations',
  '1 2: terminations, late',
  '1 then 2: late, late',
);

/** The other pairs of faults: for `npm run model:election:largest`, hours together. */
export const LARGEST_WALKS: readonly Scenario[] = scenarios(
  '1 1 2: freezes, freezes',
  '1 1 2: freezes, terminations',
  '1 1 2: terminations, unloaded',
  '1 1 2: terminations, unopened',
  '1 1 2: terminations, late',
  '1 1 2: terminations, terminations',
  '1 then 1 2',
  '1 1 4: successions',
  '1 1 then 2: terminations',
  '1 1 then 2: kills, late',
  '1 1 then 2: kills, lost',
  '1 1 then 2: kills, unloaded',
);

export interface WalkRow {
  readonly name: string;
  readonly states: number;
  readonly steps: number;
  readonly depth: number;
  /** In words, with the steps that lead to it; null: every promise holds. */
  readonly failure: string | null;
}

export function exploreScenario(scenario: Scenario, defects?: Defects): WalkRow {
  const { failure, ...counts } = explore(scenario, defects);
  const { name } = scenario;
  const text = failure && `${name}: ${failure.promise}\n  ${failure.trace.join('\n  ')}`;
  return { name, ...counts, failure: text };
}

/** Returns the first small walk that refutes the defect; null if none does. */
export function refutingWalk(defect: string): WalkRow | null {
  for (const scenario of SMALL_WALKS) {
    const row = exploreScenario(scenario, DEFECTS[defect]);
    if (row.failure !== null) return row;
  }
  return null;
}
