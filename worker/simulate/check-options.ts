// The options of `simulate`, checked before anything runs.
//
// Invariant: an unknown name is an error, because a misspelt option would leave its default in force, unseen.

import { storageError } from '../../src/shared/contract/errors.ts';
import type { ClassTable } from '../objects/instance/object-class.ts';
import type { SimulateOptions } from './simulate.ts';

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
export function checkOptions(classes: ClassTable, options: object): void {
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
