// The entry `ctx-storage/simulate` runs the user's own classes through crashes, evictions, late alarms and power loss,
// from a seed.
//
// Invariant: a seed decides a run, to the byte of its trace, in every process.

import { readFile } from 'node:fs/promises';
import { ownWasmUrl } from '@ctx-storage/core/contract';
import { storageError } from '@ctx-storage/core/errors';
import { loadSqlite, type Sqlite } from '@ctx-storage/worker/engine';
import { ClassRegistry, type ClassTable } from '@ctx-storage/worker/objects';
import { followAwaits } from './activity.ts';
import { Coverage, type SimulationCoverage } from './coverage.ts';
import { failureOf, writeRun } from './failure.ts';
import { installGlobals } from './globals.ts';
import { checkSimulation, type SimulateOptions } from './options.ts';
import { FAULTS, type FaultName, type Step, stepsOf } from './plan.ts';
import { type RunOptions, type RunOutcome, SimulatedRun } from './run.ts';
import { SimulatedHost } from './simulated-host.ts';
import type { Check } from './tools.ts';
import { WORKERD_FAULTS, type WorkerdHosts, workerdHosts } from './workerd.ts';
import { shrink } from './world/shrink.ts';

export type { CallOutcome, ClientCall } from './client-calls.ts';
export type { CallEntry } from './clients.ts';
export type { Minimum, SimulationCoverage } from './coverage.ts';
export { SimulationFailed } from './failure.ts';
export {
  conserved,
  exactlyOnce,
  linearizable,
  type Model,
  noAlarmLost,
} from './invariants.ts';
export type { SimulateOptions } from './options.ts';
export type { Answers, Draw } from './outside.ts';
export type { FaultName } from './plan.ts';
export type { Invariant, InvariantTools, StubOf, Tools } from './tools.ts';
export type { WorkerdOptions } from './workerd.ts';

type AnyOptions = SimulateOptions<Record<string, object>>;

/** The result of runs that have all passed. */
export interface SimulationReport {
  readonly coverage: SimulationCoverage;
  /** A digest of everything that happened in the last run. */
  readonly digest: string;
}

/**
 * Runs the classes from seeds, and fails with the first run whose invariant fails.
 *
 * @throws SimulationFailed with the shortest script that still fails; CLASS_INVALID, INVALID_ARGUMENT
 */
export async function simulate<Table extends ClassTable>(
  classes: Table,
  options: SimulateOptions<Table>,
): Promise<SimulationReport> {
  checkSimulation(classes, options);
  new ClassRegistry(classes); // throws CLASS_INVALID
  const seeds = seedsOf(options);
  const faults = faultsOf(options, classes);
  const plan = { steps: options.steps ?? 20, faults };
  const sqlite = await loadSqlite(new Uint8Array(await readFile(ownWasmUrl()!)));
  const hosts = options.workerd && (await workerdHosts(options.workerd, Object.keys(classes)));
  const runOptions = runOptionsOf(sqlite, classes, options, hosts);
  const undo = [installGlobals(), followAwaits()];
  const coverage = new Coverage();
  let digest = '';
  try {
    for (const seed of seeds) {
      const steps = stepsOf(seed, plan);
      const outcome = await runOnce(runOptions, seed, steps);
      coverage.add(outcome);
      digest = outcome.digest;
      if (outcome.failure !== undefined)
        throw await explain(runOptions, seed, steps, outcome, options);
    }
  } finally {
    for (const end of undo) end();
    beginRandomness(sqlite); // code outside of the run gets random numbers of the platform again
    await hosts?.end();
  }
  const short = coverage.shortOf(options.minimum ?? {});
  if (short.length === 0) return { coverage, digest };
  throw storageError(
    'INVALID_ARGUMENT',
    `simulate: the runs passed, but tested less than the minimum: ${short.join('; ')}. Make more runs or steps, or more ` +
      `kinds of calls.\n${coverage.table()}`,
  );
}

function runOnce(options: RunOptions, seed: number, steps: readonly Step[]): Promise<RunOutcome> {
  beginRandomness(options.sqlite); // SQL's random numbers come from the seed, too
  return new SimulatedRun(options, seed, steps).run();
}

/** Makes SQLite ask for a new seed when it next needs a random number. */
function beginRandomness({ exports }: Sqlite): void {
  exports.sqlite3_randomness(0, 0);
}

/** Runs the failed seed again, and looks for the shortest script that fails in the same way. */
async function explain(
  options: RunOptions,
  seed: number,
  steps: readonly Step[],
  outcome: RunOutcome,
  { file, source, workerd }: Pick<AnyOptions, 'file' | 'source' | 'workerd'>,
): Promise<Error> {
  const runsIn = workerd === undefined ? ('here' as const) : ('workerd' as const);
  const facts = { seed: seed.toString(36), outcome, stepCount: steps.length, file, runsIn };
  if (runsIn === 'workerd') {
    if (file !== undefined) writeRun(file, facts.seed, outcome, source);
    return failureOf({ ...facts, shortest: undefined });
  }
  const again = await runOnce({ ...options, showsConsole: false }, seed, steps);
  let shortest: RunOutcome | undefined;
  if (again.digest === outcome.digest) {
    shortest = again;
    await shrink(steps, async (fewer) => {
      const tried = await runOnce({ ...options, showsConsole: false }, seed, fewer);
      if (nameOf(tried) !== nameOf(outcome)) return false;
      shortest = tried;
      return true;
    });
  }
  if (file !== undefined) writeRun(file, facts.seed, shortest ?? outcome, source);
  return failureOf({ ...facts, shortest });
}

/** Returns the kind of a run's failure; undefined if the run has passed. */
function nameOf({ failure }: RunOutcome): string | undefined {
  return failure && (failure.error instanceof Error ? failure.error.name : 'not an Error');
}

function runOptionsOf<Table extends ClassTable>(
  sqlite: Sqlite,
  classes: Table,
  options: SimulateOptions<Table>,
  hosts: WorkerdHosts | undefined,
): RunOptions {
  const { invariant = [], versions = [] } = options;
  const tables = [
    classes,
    ...versions.map((changed) => ({ ...classes, ...changed }) as ClassTable),
  ];
  for (const table of tables) new ClassRegistry(table); // throws CLASS_INVALID
  return {
    sqlite,
    versions: tables,
    env: options.env ?? {},
    setup: options.setup as RunOptions['setup'],
    calls: options.calls as RunOptions['calls'],
    invariants: [invariant].flat() as unknown[] as Check[],
    fetch: options.fetch,
    retries: options.retries ?? 2,
    concurrency: options.concurrency ?? 4,
    restMs: options.restMs ?? 300_000,
    showsConsole: options.seed !== undefined,
    startHost: hosts?.start ?? ((host) => SimulatedHost.start(host)),
    outsideMs: hosts === undefined ? 1000 : 60_000,
  };
}

function seedsOf({
  seed,
  runs = 100,
  from = '1',
}: Pick<AnyOptions, 'seed' | 'runs' | 'from'>): number[] {
  const first = parseSeed(seed ?? from);
  const count = seed === undefined ? runs : 1;
  return Array.from({ length: count }, (_, i) => first + i);
}

function parseSeed(seed: string): number {
  const number = /^[0-9a-z]{1,8}$/.test(seed) ? Number.parseInt(seed, 36) : Number.NaN;
  if (number < 2 ** 40) return number;
  throw storageError(
    'INVALID_ARGUMENT',
    `simulate: a seed is 1 to 8 characters of 0-9 and a-z, not ${JSON.stringify(seed)}.`,
  );
}

function faultsOf(
  {
    faults = {},
    fetch,
    versions = [],
    workerd,
  }: Pick<AnyOptions, 'faults' | 'fetch' | 'versions' | 'workerd'>,
  classes: ClassTable,
): Map<FaultName, number> {
  if (faults === false) return new Map();
  const weights = new Map(Object.entries({ ...FAULTS, ...faults }) as [FaultName, number][]);
  for (const [name, weight] of weights) {
    if (!(name in FAULTS) || !Number.isInteger(weight) || weight < 0) {
      throw storageError(
        'INVALID_ARGUMENT',
        `simulate: faults takes whole numbers by name, not ${name}: ${weight}; there are ${Object.keys(FAULTS).join(', ')}.`,
      );
    }
  }
  if (fetch === undefined) weights.delete('fetchFails');
  if (versions.length === 0) weights.delete('deploy');
  const makesSockets = Object.values(classes).some(
    (entry) => 'fetch' in (typeof entry === 'function' ? entry : entry.class).prototype,
  );
  if (!makesSockets) weights.delete('socketLost');
  for (const name of weights.keys()) {
    if (workerd !== undefined && !WORKERD_FAULTS.includes(name)) weights.delete(name);
  }
  return weights;
}
