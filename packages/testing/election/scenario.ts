// The scenario of a walk: which deployments the tabs run, how they begin, and which faults may happen.
//
// Invariant: a scenario is data; two walks of it visit the same states.

import type { Defects } from './defects.ts';
import { normal } from './normal.ts';
import { Run } from './run.ts';
import { stepsOf } from './steps.ts';
import { type FaultBudget, type ModelTab, TAB_INDEXES, type World } from './world.ts';

export interface Scenario {
  readonly name: string;
  /** The builds of the tabs; null for a closed tab. */
  readonly builds: readonly [number | null, number | null, number | null];
  /** How many of the tabs have opened, and come to rest, before the walk. The others open together. */
  readonly openedBefore: number;
  readonly faults: FaultBudget;
}

const NO_FAULTS: FaultBudget = {
  kills: 0,
  freezes: 0,
  terminations: 0,
  unloaded: 0,
  unopened: 0,
  late: 0,
  lost: 0,
  successions: 0,
};

/** Parses a scenario such as `1 then 2: kills, late` (walks.ts). */
export function scenario(name: string): Scenario {
  const [tabs = '', kinds = ''] = name.split(':');
  const [before = '', after = ''] = tabs.split('then').map((part) => part.trim());
  const builds = `${before} ${after}`.trim().split(' ').map(Number);
  const faults: Record<string, number> = {};
  for (const kind of kinds.split(',').map((kind) => kind.trim())) {
    if (kind !== '') faults[kind] = (faults[kind] ?? 0) + 1;
  }
  return {
    name,
    builds: [builds[0] ?? null, builds[1] ?? null, builds[2] ?? null],
    openedBefore: before.split(' ').length,
    faults: { ...NO_FAULTS, ...faults },
  };
}

/** The tabs that opened before have come to rest. */
export function firstWorld({ builds, openedBefore, faults }: Scenario, defects: Defects): World {
  let world = emptyWorld(builds);
  let count = 0;
  for (const tab of TAB_INDEXES) {
    if (builds[tab] === null) continue;
    if (count === openedBefore && count > 0) world = atRest(world, defects);
    const run = new Run(world, defects);
    run.openPage(tab);
    world = run.world;
    count += 1;
    if (count < openedBefore) world = atRest(world, defects);
  }
  if (count === openedBefore) world = atRest(world, defects);
  return normal({ ...world, rest: { ...world.rest, faults } });
}

function emptyWorld(builds: Scenario['builds']): World {
  const tabs = TAB_INDEXES.map((tab): ModelTab => {
    const build = builds[tab] ?? 0;
    return { build, page: null, workers: [], isFrozen: false, workerCount: 0, nextBuild: build };
  });
  return {
    tabs: tabs as unknown as World['tabs'],
    shared: { leader: [], isGranted: false, reserve: {}, host: null },
    rest: { faults: NO_FAULTS, late: [], unable: [], refused: [] },
  };
}

const STEPS_MAX = 10_000;

function atRest(given: World, defects: Defects): World {
  let world = given;
  for (let i = 0; i < STEPS_MAX; i++) {
    const step = stepsOf(world, defects)[0];
    if (step === undefined) return world;
    world = normal(step.next());
  }
  return world; // The walk finds the circle.
}
