// The options of `simulate`, which are checked before anything runs.
//
// Invariant: an unknown name is an error, because a misspelt option would silently leave its default in force.

import { storageError } from '@ctx-storage/core/errors';
import type { ClassTable } from '@ctx-storage/worker/objects';
import type { CallEntry } from './clients.ts';
import type { Minimum } from './coverage.ts';
import type { Answers } from './outside.ts';
import type { FaultName } from './plan.ts';
import type { Invariant, Tools } from './tools.ts';
import type { WorkerdOptions } from './workerd.ts';

export interface SimulateOptions<Table extends object> {
  /** The calls that may happen: functions that make calls, or such functions with a weight. */
  readonly calls: (tools: Tools<Table>) => readonly CallEntry[];
  /** Must hold at rest: before the first step, after each crash, and at the end. */
  readonly invariant?: Invariant<Table> | readonly Invariant<Table>[];
  /** Makes the first state of each run, without faults. */
  readonly setup?: (tools: Tools<Table>) => unknown;
  /** The number of runs. @default 100 */
  readonly runs?: number;
  /** The seed of the first run; the next runs have the following seeds. @default '1' */
  readonly from?: string;
  /** Runs only this seed, as a failure names it. */
  readonly seed?: string;
  /** The approximate number of steps of a run. @default 20 */
  readonly steps?: number;
  /** The weights of faults; 0 switches one off, and `false` all of them. @default all faults happen */
  readonly faults?: false | Partial<Readonly<Record<FaultName, number>>>;
  /** How often a client repeats a call that failed with `retryable`. @default 2 */
  readonly retries?: number;
  /** The largest number of calls in flight. @default 4 */
  readonly concurrency?: number;
  /**
   * The time without faults before the invariant is checked, in milliseconds, in which alarms may run. @default 300,000
   */
  readonly restMs?: number;
  /** Answers requests of the classes, with random numbers from the seed. @default every request fails */
  readonly fetch?: Answers;
  /** Further versions of the classes. The fault `deploy` changes between all versions, in both directions. */
  readonly versions?: readonly Partial<Record<keyof Table, ClassTable[string]>>[];
  /** The app's own members of `env`. */
  readonly env?: object;
  /** The least that all runs together must have tested; otherwise they fail. */
  readonly minimum?: Minimum;
  /**
   * Runs the script in workerd, which has its own time and order. A failure is not shrunk, waits between steps are left
   * out, alarms are not waited for, and the only faults are evictions and lost replies. @default the script runs in
   * this process
   */
  readonly workerd?: WorkerdOptions;
  /** The file to which a failed run is written as JSON. @default none */
  readonly file?: string;
  /**
   * The code of the classes, by file name, such as `main.ts`. With it, the playground opens the file of a failed run.
   */
  readonly source?: Readonly<Record<string, string>>;
}

interface Rule {
  /** Describes the values that the option takes. */
  readonly takes: string;
  isRight(value: unknown): boolean;
}

const wholeFrom = (min: number): Rule => ({
  takes: `a whole number from ${min} on`,
  isRight: (value) => Number.isSafeInteger(value) && (value as number) >= min,
});

const isObject = (value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isFunction = (value: unknown) => typeof value === 'function';

const TEXT: Rule = { takes: 'a text', isRight: (value) => typeof value === 'string' };
const OBJECT: Rule = { takes: 'an object', isRight: isObject };
const FUNCTION: Rule = { takes: 'a function', isRight: isFunction };

const RULES: Readonly<Record<keyof SimulateOptions<object>, Rule>> = {
  calls: { ...FUNCTION, takes: 'a function that returns the calls that may happen' },
  concurrency: wholeFrom(1),
  env: OBJECT,
  faults: {
    takes: 'an object of weights by name, or false',
    isRight: (value) => value === false || isObject(value),
  },
  fetch: FUNCTION,
  file: TEXT,
  from: TEXT,
  invariant: {
    takes: 'a function, or a list of functions',
    isRight: (value) => [value].flat().every(isFunction),
  },
  minimum: OBJECT,
  restMs: wholeFrom(0),
  retries: wholeFrom(0),
  runs: wholeFrom(1),
  seed: TEXT,
  setup: FUNCTION,
  source: OBJECT,
  steps: wholeFrom(1),
  versions: {
    takes: 'a list of classes by name',
    isRight: (value) => Array.isArray(value) && value.every(isObject),
  },
  workerd: OBJECT,
};

/**
 * Checks the classes and options. @throws INVALID_ARGUMENT that names the option, the value and the values that it
 * takes
 */
export function checkSimulation(classes: ClassTable, options: object): void {
  if (!isObject(classes) || Object.keys(classes).length === 0) {
    throw invalidOptions(
      `the first argument is the classes by name, such as { Room }, not ${textOf(classes)}.`,
    );
  }
  if (!isObject(options)) {
    throw invalidOptions(
      `the second argument is the options, such as { calls }, not ${textOf(options)}.`,
    );
  }
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(RULES, name));
  if (unknown !== undefined) {
    throw invalidOptions(
      `there is no option ${unknown}; there are ${Object.keys(RULES).join(', ')}.`,
    );
  }
  for (const [name, { takes, isRight }] of Object.entries(RULES)) {
    const value: unknown = Reflect.get(options, name);
    if (value === undefined && name !== 'calls') continue;
    if (!isRight(value)) throw invalidOptions(`${name} takes ${takes}, not ${textOf(value)}.`);
  }
}

function invalidOptions(fact: string): Error {
  return storageError('INVALID_ARGUMENT', `simulate: ${fact}`);
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) {
    return Object.keys(value).length === 0 ? 'an empty object' : 'an object';
  }
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
