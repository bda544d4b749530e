// Assertions about what is stored. Like Playwright's own, they try again until they hold or their time is over.

import {
  expect as baseExpect,
  type Expect,
  type ExpectMatcherState,
  type MatcherReturnType,
} from '@playwright/test';
import { isStorageError, storageError } from '../contract/errors.ts';
import { areEqual } from './equality.ts';
import { TestStorage } from './test-storage.ts';

/** How long they wait. @default as configured for `expect` */
export interface MatchOptions {
  readonly timeout?: number;
}

/** The delays between tries; the last one repeats. */
const DELAYS_MS = [0, 20, 50, 100, 100, 250, 500];

interface Comparison {
  readonly matcher: string;
  readonly storage: TestStorage;
  /** What is compared, in words: `key 'count'`. */
  readonly what: string;
  readonly expected: unknown;
  readonly options: MatchOptions;
  readonly read: (waitMs: number) => Promise<unknown>;
  readonly matches: (actual: unknown) => boolean;
}

const matchers = {
  /** The key holds this value; without a value, the key exists. */
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

  /** The query gives these rows, in this order. */
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

  /** An alarm is set for this time; without a time, one is set; `null`: none is. */
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

/** Playwright's `expect`, with the matchers of this package. */
export const expect: Expect<typeof matchers> = baseExpect.extend(matchers);

async function compare(
  state: ExpectMatcherState,
  comparison: Comparison,
): Promise<MatcherReturnType> {
  const { matcher, storage, what, expected, options, read, matches } = comparison;
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
      if (!isPassing(error)) throw error;
      failure = error;
      pass = state.isNot;
    }
    if (failure === undefined && pass !== state.isNot) break;
    const delayMs = DELAYS_MS[Math.min(tries, DELAYS_MS.length - 1)]!;
    if (performance.now() + delayMs >= untilMs) break;
    await new Promise((resolve) => setTimeout(resolve, delayMs));
  }
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
      lines.push(utils.printDiffOrStringify(expected, actual, 'Expected', 'Received', false));
    }
    return lines.join('\n');
  };
  return { pass, message, name: matcher, expected, actual, timeout };
}

// What the app may still do: create the table, load its worker, start another one.
function isPassing(error: unknown): boolean {
  if (!isStorageError(error)) return false;
  return error.retryable === true || PASSING.has(error.code);
}

const PASSING: ReadonlySet<string> = new Set(['SQL', 'WORKER_FAILED', 'UNKNOWN_CLASS']);

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
