// The options of `simulate`, and their check before anything runs.
//
// Invariant: an unknown name is an error, because a misspelt option would leave its default in force, unseen.

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
  /** Holds at rest: before the first step, after each crash, and at the end. */
  readonly invariant?: Invariant<Table> | readonly Invariant<Table>[];
  /** Makes the first state of each run, without faults. */
  readonly setup?: (tools: Tools<Table>) => unknown;
  /** How many runs. @default 100 */
  readonly runs?: number;
  /** The seed of the first run; the next ones follow it. @default '1' */
  readonly from?: string;
  /** Runs this seed alone, as a failure names it. */
  readonly seed?: string;
  /** About how many steps a run has. @default 20 */
  readonly steps?: number;
  /** Weights of faults; 0 switches one off. `false`: no faults. @default all */
  readonly faults?: false | Partial<Readonly<Record<FaultName, number>>>;
  /** How often a client repeats a call that failed with `retryable`. @default 2 */
  readonly retries?: number;
  /** How many calls are in flight at most. @default 4 */
  readonly concurrency?: number;
  /** The time without faults before the invariant, in milliseconds, in which alarms may run. @default 300,000 */
  readonly restMs?: number;
  /** Answers requests of the classes. Draws are from the seed. @default every request fails */
  readonly fetch?: Answers;
  /** More versions of the classes; the fault `deploy` changes between them, both ways. */
  readonly versions?: readonly Partial<Record<keyof Table, ClassTable[string]>>[];
  /** The app's own members of `env`. */
  readonly env?: object;
  /** The least that all runs together must have tested; otherwise they fail. */
  readonly minimum?: Minimum;
  /**
   * Runs the script in workerd, whose time and order are its own: a failure is not shrunk, waits between steps are left
   * out, alarms are not waited for, and of the faults there are evictions and lost replies. @default it runs here
   */
  readonly workerd?: WorkerdOptions;
  /** Where to write a failed run, as JSON. @default nowhere */
  readonly file?: string;
  /** The code of the classes, by file, such as `main.ts`: with it, the playground opens the file of a failed run. */
  readonly source?: Readonly<Record<string, string>>;
}

interface Rule {
  /** The values that it takes, in words. */
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

/** @throws INVALID_ARGUMENT that names the option, the value and the values that it takes */
export function checkSimulation(classes: ClassTable, options: object): void {
  if (!isObject(classes) || Object.keys(classes).length === 0) {
    throw invalid(
      `the first argument is the classes by name, such as { Room }, not ${textOf(classes)}.`,
    );
  }
  if (!isObject(options)) {
    throw invalid(`the second argument is the options, such as { calls }, not ${textOf(options)}.`);
  }
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(RULES, name));
  if (unknown !== undefined) {
    throw invalid(`there is no option ${unknown}; there are ${Object.keys(RULES).join(', ')}.`);
  }
  for (const [name, { takes, isRight }] of Object.entries(RULES)) {
    const value: unknown = Reflect.get(options, name);
    if (value === undefined && name !== 'calls') continue;
    if (!isRight(value)) throw invalid(`${name} takes ${takes}, not ${textOf(value)}.`);
  }
}

function invalid(fact: string): Error {
  return storageError('INVALID_ARGUMENT', `simulate: ${fact}`);
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) {
    return Object.keys(value).length === 0 ? 'an empty object' : 'an object';
  }
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
