// Lists the walks of the model. A walk is a set of calls and faults, all interleavings of which are visited.
//
// The largest walks combine three writes, divided between the followers A and B in every way, with all five faults; the
// other walks have fewer faults or calls. `at: 'A'` lets crashes, losses, repeats and delays happen to A alone, which
// covers B by symmetry.
//
// No walk has faults at both followers with a restart, two faults of a kind, or more than three calls.
//
// This file does not know how a walk is made (explore.ts).

import { DEFECTS, type Defects } from './defects.ts';
import { explore, type Failure, type WalkOptions } from './explore.ts';
import { HOSTILE_DEFECTS, HOSTILE_SERVER_DEFECTS } from './hostile-defects.ts';
import { exploreHostileServer, type HostileServerScenario } from './hostile-server.ts';
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

const TWO_CONNECTIONS = { connections: 2, kinds: ['write'] } as const;
const ENDING = { connections: 1, kinds: ['fatal', 'write'] } as const;

/** The walks of the long tests with a hostile follower beside the two others, which take a minute in total. */
export const HOSTILE_WALKS: readonly Scenario[] = [
  scenario('', { hostile: 4 }),
  scenario('A write', { hostile: 2 }, { isConnected: false }),
  scenario('A write', { hostile: 2, losses: 1 }, { at: 'A' }),
  scenario('A write', { hostile: 2, restarts: 1 }),
  scenario('A write', { hostile: 2, restores: 1 }),
  scenario('A write, A write', { hostile: 3 }),
  scenario('A write', { hostile: 3 }, { hostile: TWO_CONNECTIONS }),
  scenario('A write', { hostile: 4 }),
  scenario('A slow', { hostile: 3 }, { hostile: ENDING }),
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

/** The walks of `npm run model:follow` with a hostile follower, which take minutes in total. */
export const LARGER_HOSTILE_WALKS: readonly Scenario[] = [
  scenario('A write, A refused', { hostile: 3, losses: 1 }, { at: 'A' }),
  scenario('A write, A write', { hostile: 4 }),
];

/** The walks of `npm run model:follow:largest`, which take two and a half hours in total, and need 6 GB of memory. */
export const THREE_CALLS_WITH_ALL_FAULTS: readonly Scenario[] = [
  scenario('A write, B write, A write', ALL_FAULTS, { at: 'A' }),
  scenario('B write, A write, B write', ALL_FAULTS, { at: 'A' }),
  scenario('A write, A write, A write', ALL_FAULTS, { at: 'A' }),
  scenario('B write, B write, B write', ALL_FAULTS, { at: 'A' }),
];

export const HOSTILE_SERVER_WALKS: readonly HostileServerScenario[] = [
  { messages: 3, isNew: false },
  { messages: 3, isNew: true },
];

/** The walks of `npm run model:follow` with a hostile server, which take minutes. */
export const LARGER_HOSTILE_SERVER_WALKS: readonly HostileServerScenario[] = [
  { messages: 4, isNew: false },
  { messages: 5, isNew: true },
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
  return rowOf(nameOf(scenario), explore(scenario, {}, options));
}

/** Walks the real protocol of a device whose server is hostile. */
export function runHostileServerWalk(scenario: HostileServerScenario): WalkRow {
  return rowOf(nameOfHostileServer(scenario), exploreHostileServer(scenario));
}

export function nameOfHostileServer({ messages, isNew }: HostileServerScenario): string {
  return `${messages} messages of a hostile server${isNew ? '; new device' : ''}`;
}

/** A defect, and a function that looks for a walk in which the defect breaks a promise. */
interface NamedDefect {
  readonly name: string;
  /** Returns the first walk in which the defect breaks a promise; null if there is none. */
  readonly refutation: () => WalkRow | null;
}

/** All defects of the model. */
export const ALL_DEFECTS: readonly NamedDefect[] = [
  ...named(DEFECTS, SMALL_WALKS, (defects) => (scenario) => ({
    name: nameOf(scenario),
    walk: explore(scenario, defects),
  })),
  ...named(HOSTILE_DEFECTS, HOSTILE_WALKS, (defects) => (scenario) => ({
    name: nameOf(scenario),
    walk: explore(scenario, defects),
  })),
  ...named(HOSTILE_SERVER_DEFECTS, HOSTILE_SERVER_WALKS, (defects) => (scenario) => ({
    name: nameOfHostileServer(scenario),
    walk: exploreHostileServer(scenario, defects),
  })),
];

type Counts = Pick<WalkRow, 'states' | 'steps' | 'depth'> & { readonly failure: Failure | null };

function named<S>(
  defects: Readonly<Record<string, Defects>>,
  scenarios: readonly S[],
  walkWith: (defects: Defects) => (scenario: S) => { name: string; walk: Counts },
): NamedDefect[] {
  return Object.entries(defects).map(([name, changes]) => ({
    name,
    refutation() {
      for (const scenario of scenarios) {
        const { name: found, walk } = walkWith(changes)(scenario);
        if (walk.failure !== null) return { ...rowOf(found, walk), failure: walk.failure.promise };
      }
      return null;
    },
  }));
}

function rowOf(name: string, { states, steps, depth, failure }: Counts): WalkRow {
  const text = failure && `${name}: ${failure.promise}\n  ${failure.trace.join('\n  ')}`;
  return { name, states, steps, depth, failure: text };
}
