// Assertions about stored data. Like Playwright's own, they are tried again until they hold or their time is over.

import { isDeepStrictEqual } from 'node:util';
import { isStorageError, storageError } from '@ctx-storage/core/errors';
import {
  expect as baseExpect,
  type Expect,
  type ExpectMatcherState,
  type MatcherReturnType,
} from '@playwright/test';
import { TestStorage } from './test-storage.ts';

/** How long an assertion is tried again. @default as configured for `expect` */
export interface MatchOptions {
  readonly timeout?: number;
}

/** A change that `toHaveChanged` expects. A field that is left out may have any value. */
export interface ExpectedChange {
  readonly kind?: 'schema' | 'alarm' | 'key' | 'row' | 'table';
  /** For a change of the schema: table, index, view or trigger. */
  readonly type?: unknown;
  /** For a change of the schema: the name of the definition. */
  readonly name?: unknown;
  readonly table?: unknown;
  /** The key, or the columns of a row's primary key. */
  readonly key?: unknown;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** How the changes come about: exactly one of the two is given. */
export interface ChangeOptions extends MatchOptions {
  /** The action; it runs once. */
  readonly by?: () => unknown;
  /** A bookmark of the object, or a time. */
  readonly since?: string | Date;
}

/** The delays between tries; the last one repeats. */
const DELAYS_MS = [0, 20, 50, 100, 100, 250, 500];

/** The longest time for each question that only improves the error message. */
const EMPTINESS_MS = 2000;

interface Comparison {
  readonly matcher: string;
  readonly storage: TestStorage;
  /** A description of the compared value, such as `key 'count'`. */
  readonly what: string;
  readonly expected: unknown;
  readonly options: MatchOptions;
  readonly read: (waitMs: number) => Promise<unknown>;
  readonly matches: (actual: unknown) => boolean;
  /** Selects the part of the actual value that the message shows. @default all of it */
  readonly shown?: (actual: unknown) => unknown;
}

const matchers = {
  /** Expects that the key holds this value; without a value, that the key exists. */
  async toHaveStored(
    this: ExpectMatcherState,
    received: unknown,
    ...[key, ...rest]: [key: string, value?: unknown, options?: MatchOptions]
  ): Promise<MatcherReturnType> {
    const storage = storageIn('toHaveStored', received);
    if (typeof key !== 'string') throw wrong('toHaveStored', `takes a key, not ${String(key)}`);
    if (rest.length === 1 && rest[0] === undefined) {
      throw wrong(
        'toHaveStored',
        `the value for key '${key}' is undefined, and undefined is never stored. Leave the value out to ask ` +
          `whether there is any; expect(…).not.toHaveStored('${key}') says that there is none`,
      );
    }
    const [expected = ANYTHING, options = {}] = rest;
    return compare(this, {
      matcher: 'toHaveStored',
      storage,
      what: `key '${key}'`,
      expected,
      options,
      read: (waitMs) => storage.quietly(waitMs).read('get', key),
      matches: (actual) =>
        expected === ANYTHING ? actual !== undefined : areEqual(actual, expected),
    });
  },

  /** Expects that the query returns these rows, in this order. */
  async toHaveRows(
    this: ExpectMatcherState,
    received: unknown,
    query: string,
    rows: readonly object[],
    options: MatchOptions & { readonly bindings?: readonly unknown[] } = {},
  ): Promise<MatcherReturnType> {
    const storage = storageIn('toHaveRows', received);
    if (!Array.isArray(rows)) {
      throw wrong('toHaveRows', `takes an array of rows, such as [{ id: 1 }], not ${String(rows)}`);
    }
    const { bindings = [] } = options;
    return compare(this, {
      matcher: 'toHaveRows',
      storage,
      what: `rows of ${query}`,
      expected: rows,
      options,
      read: (waitMs) => storage.quietly(waitMs).sql(query, bindings),
      matches: (actual) => areEqual(actual, rows),
    });
  },

  /**
   * Expects that the action has made exactly these changes, or that they were made since a moment, in the order of a
   * diff. Only the named fields of a change are compared.
   */
  async toHaveChanged(
    this: ExpectMatcherState,
    received: unknown,
    changes: readonly ExpectedChange[],
    options: ChangeOptions = {},
  ): Promise<MatcherReturnType> {
    const storage = storageIn('toHaveChanged', received);
    checkChanges(changes, options);
    const from = options.since ?? (await storage.getCurrentBookmark());
    await options.by?.();
    return compare(this, {
      matcher: 'toHaveChanged',
      storage,
      what: 'changes',
      expected: changes,
      options,
      read: (waitMs) => storage.quietly(waitMs).diff(from),
      matches: (actual) => {
        const made = actual as object[];
        return (
          made.length === changes.length &&
          made.every((change, at) => isChange(change, changes[at]!, CHANGE_FIELDS))
        );
      },
      shown: (actual) => (actual as object[]).map((change, at) => shownChange(change, changes[at])),
    });
  },

  /** Expects that the alarm is set for this time; without a time, that one is set; with `null`, that none is. */
  async toHaveAlarm(
    this: ExpectMatcherState,
    received: unknown,
    time?: number | Date | null,
    options: MatchOptions = {},
  ): Promise<MatcherReturnType> {
    const storage = storageIn('toHaveAlarm', received);
    const expected = time instanceof Date ? time.getTime() : time;
    if (!Number.isFinite(expected ?? 0)) {
      const shown = typeof time === 'string' ? `"${time}"` : String(time);
      throw wrong('toHaveAlarm', `takes a time in milliseconds, a Date or null, not ${shown}`);
    }
    return compare(this, {
      matcher: 'toHaveAlarm',
      storage,
      what: 'alarm',
      expected: expected === undefined ? ANYTHING : timeText(expected),
      options,
      read: async (waitMs) =>
        timeText((await storage.quietly(waitMs).read('getAlarm')) as number | null),
      matches: (actual) =>
        expected === undefined ? actual !== 'none' : actual === timeText(expected),
    });
  },
};

const ANYTHING = Symbol('anything');

const CHANGE_FIELDS: readonly string[] = [
  'kind',
  'type',
  'name',
  'table',
  'key',
  'before',
  'after',
] satisfies (keyof ExpectedChange)[];

function checkChanges(changes: readonly ExpectedChange[], options: ChangeOptions): void {
  if (!Array.isArray(changes)) {
    throw wrong(
      'toHaveChanged',
      `takes an array of changes, such as [{ key: 'count', after: 2 }], not ${String(changes)}; [] says that ` +
        'nothing has changed',
    );
  }
  for (const change of changes) {
    if (isAsymmetric(change)) continue;
    const field = Object.keys(Object(change)).find((name) => !CHANGE_FIELDS.includes(name));
    if (field === undefined && typeof change === 'object' && change !== null) continue;
    const fact =
      field === undefined ? `${String(change)} is not a change` : `none has a field "${field}"`;
    throw wrong('toHaveChanged', `changes have the fields ${CHANGE_FIELDS.join(', ')}; ${fact}`);
  }
  const { by, since } = options;
  if ((typeof by === 'function') !== (since !== undefined)) return;
  throw wrong(
    'toHaveChanged',
    'takes { by } or { since }: by: an action that makes the changes, () => page.getByRole(…).click(); since: a ' +
      'bookmark or a Date',
  );
}

/** Returns whether a change has the expected fields; all others may have any value. */
function isChange(actual: object, expected: ExpectedChange, fields: readonly string[]): boolean {
  if (isAsymmetric(expected)) return expected.asymmetricMatch(actual);
  return fields
    .filter((field) => field in expected)
    .every((field) => areEqual(Reflect.get(actual, field), Reflect.get(expected, field)));
}

/**
 * Returns only the expected fields of a change, because any other field would look like a difference in the message.
 */
function shownChange(actual: object, expected: ExpectedChange | undefined): object {
  const isOwn =
    expected !== undefined && isChange(actual, expected, ['kind', 'name', 'table', 'key']);
  if (!isOwn) return actual;
  if (isAsymmetric(expected)) return expected;
  return Object.fromEntries(
    Object.keys(expected).map((field) => [field, Reflect.get(actual, field)]),
  );
}

/** Playwright's `expect`, with the matchers of this package. */
export const expect: Expect<typeof matchers> = baseExpect.extend(matchers);

async function compare(
  state: ExpectMatcherState,
  comparison: Comparison,
): Promise<MatcherReturnType> {
  const { matcher, storage, what, expected, options, read, matches } = comparison;
  const { shown = (all: unknown) => all } = comparison;
  const timeout = options.timeout ?? state.timeout;
  const untilMs = performance.now() + timeout;
  let actual: unknown;
  let failure: unknown;
  let pass = state.isNot;
  for (let tries = 0; ; tries++) {
    const leftMs = Math.max(untilMs - performance.now(), 1);
    try {
      actual = await read(leftMs);
      failure = undefined;
      pass = matches(actual);
    } catch (error) {
      if (!mayPass(error)) throw error;
      failure = error;
      pass = state.isNot;
    }
    if (failure === undefined && pass !== state.isNot) break;
    const delayMs = DELAYS_MS[Math.min(tries, DELAYS_MS.length - 1)]!;
    if (performance.now() + delayMs >= untilMs) break;
    await new Promise((resolve) => setTimeout(resolve, delayMs));
  }
  // If nothing was found, the name may be misspelled, so the message lists the existing objects. If that list fails,
  // the message stays as it is.
  const isMissing = failure === undefined && !pass && !state.isNot;
  const emptiness = isMissing ? await storage.emptiness(EMPTINESS_MS).catch(() => null) : null;
  const message = () => {
    const { utils, isNot } = state;
    const lines = [
      utils.matcherHint(matcher, String(storage), what, { isNot }),
      '',
      `Timeout: ${timeout}ms`,
    ];
    if (failure !== undefined) return [...lines, '', (failure as Error).message].join('\n');
    if (expected === ANYTHING) {
      lines.push(`Expected: ${isNot ? 'nothing' : 'anything'}`);
      lines.push(`Received: ${utils.printReceived(actual)}`);
    } else if (isNot) {
      lines.push(`Expected: not ${utils.printExpected(expected)}`);
    } else {
      lines.push(
        utils.printDiffOrStringify(expected, shown(actual), 'Expected', 'Received', false),
      );
    }
    if (emptiness !== null) lines.push('', emptiness);
    return lines.join('\n');
  };
  return { pass, message, name: matcher, expected, actual, timeout };
}

// These errors may pass: the app may still create the table, load its worker, or start another one.
function mayPass(error: unknown): boolean {
  if (!isStorageError(error)) return false;
  return error.retryable === true || PASSING_ERROR_CODES.has(error.code);
}

const PASSING_ERROR_CODES: ReadonlySet<string> = new Set(['SQL', 'WORKER_FAILED', 'UNKNOWN_CLASS']);

function timeText(timeMs: number | null): string {
  return timeMs === null ? 'none' : new Date(timeMs).toISOString();
}

function storageIn(matcher: string, received: unknown): TestStorage {
  if (received instanceof TestStorage) return received;
  throw wrong(
    matcher,
    `takes the storage of an object, not ${typeof received}: ` +
      `await expect(objects.storage('Room', 'lobby')).${matcher}(…)`,
  );
}

function wrong(matcher: string, fact: string): Error {
  return storageError('INVALID_ARGUMENT', `${matcher}: ${fact}.`);
}

interface Asymmetric {
  asymmetricMatch(actual: unknown): boolean;
}

/** Returns whether a stored value equals the expected one, as `toEqual` does, with `expect.any(…)` at any depth. */
function areEqual(actual: unknown, expected: unknown): boolean {
  if (isAsymmetric(expected)) return expected.asymmetricMatch(actual);
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return false;
    return expected.every((part, at) => areEqual(actual[at], part));
  }
  if (expected instanceof Map) return actual instanceof Map && areMapsEqual(actual, expected);
  // The stack of an error is not compared, because it names the place that made the error.
  if (expected instanceof Error) {
    if (!(actual instanceof Error)) return false;
    return actual.name === expected.name && actual.message === expected.message;
  }
  if (!isPlain(expected) || !isPlain(actual)) return isDeepStrictEqual(actual, expected);
  const names = new Set([...Object.keys(actual), ...Object.keys(expected)]);
  return [...names].every((name) => areEqual(actual[name], expected[name]));
}

function areMapsEqual(
  actual: ReadonlyMap<unknown, unknown>,
  expected: ReadonlyMap<unknown, unknown>,
): boolean {
  if (actual.size !== expected.size) return false;
  return [...expected].every(([key, value]) => {
    if (actual.has(key)) return areEqual(actual.get(key), value);
    return [...actual].some(([own, part]) => areEqual(own, key) && areEqual(part, value));
  });
}

function isAsymmetric(value: unknown): value is Asymmetric {
  return typeof (value as Asymmetric | null | undefined)?.asymmetricMatch === 'function';
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
