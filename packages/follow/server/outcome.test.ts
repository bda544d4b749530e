// Tests the outcomes of calls: they are copies, which can be stored and sent.

import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { serialize } from '../../../src/shared/values/encode.ts';
import { errorOutcome, valueOutcome } from './outcome.ts';

const MEBIBYTE = 1_048_576;
/** Returns a text whose serialized form has this many bytes. */
const textOf = (bytes: number) =>
  'x'.repeat(bytes - (serialize('x'.repeat(300_000)).length - 300_000));
/** Returns the error of an outcome. */
const errorIn = (outcome: unknown) => (outcome as { error: Error & Record<string, unknown> }).error;

test('[FOLS7] a result is a copy, which later changes of the object do not reach', () => {
  const result = { deep: [1], at: new Date(3) };
  const outcome = valueOutcome(result);
  result.deep.push(2);
  expect(outcome).toEqual({ kind: 'value', value: { deep: [1], at: new Date(3) } });
  expect(valueOutcome(undefined)).toEqual({ kind: 'value', value: undefined });
});

test('[FOLS7] a result that cannot be copied is an error of its class', () => {
  for (const result of [() => 1, { deep: Symbol('s') }, new (class Point {})()]) {
    const outcome = valueOutcome(result);
    expect(outcome.kind).toBe('error');
    expect(errorIn(outcome).name).toBe('DataCloneError');
  }
});

test('[FOLS7] a result, and an error, have at most 1 MiB', () => {
  const most = textOf(MEBIBYTE);
  expect(serialize(most).length).toBe(MEBIBYTE);
  expect(valueOutcome(most)).toEqual({ kind: 'value', value: most });
  const { message, code } = errorIn(valueOutcome(`${most}x`));
  expect(code).toBe('MESSAGE_TOO_LARGE');
  expect(message).toMatch(
    /result of the call has 1048577 bytes, at most 1048576\. .*Store the data/,
  );
  expect(errorOutcome(most)).toEqual({ kind: 'error', error: most });
  const large = errorIn(errorOutcome(`${most}x`));
  expect([large.code, large.message]).toEqual([
    'MESSAGE_TOO_LARGE',
    expect.stringMatching(/The error of the call has 1048577 bytes/),
  ]);
});

test('[FOLS7] an error keeps its class, its message and its simple properties, and no frames', () => {
  const thrown = Object.assign(new TypeError('no', { cause: new Error('inner') }), {
    code: 'NO',
    count: 0,
    isFinal: false,
    at: new Date(),
    hint: () => 'no',
    big: 1n,
  });
  Object.defineProperty(thrown, 'quiet', { value: 'kept', enumerable: false });
  const error = errorIn(errorOutcome(thrown));
  expect(error).toBeInstanceOf(TypeError);
  expect([error.name, error.message, error.stack]).toEqual(['TypeError', 'no', 'TypeError: no']);
  expect(error).toMatchObject({ code: 'NO', count: 0, isFinal: false, quiet: 'kept' });
  for (const name of ['cause', 'at', 'hint', 'big']) expect(error).not.toHaveProperty(name);
});

test('[FOLS7] a thrown value that is not an error is sent; if it cannot be copied, a text about it is', () => {
  expect(errorOutcome({ reason: 'full' })).toEqual({ kind: 'error', error: { reason: 'full' } });
  expect(errorOutcome(null)).toEqual({ kind: 'error', error: null });
  expect(errorOutcome(() => 1)).toEqual({ kind: 'error', error: '[object Function]' });
  expect(errorOutcome(new (class Point {})())).toEqual({ kind: 'error', error: '[object Object]' });
});

/** Returns every text in a value, also of hidden properties. */
function textsIn(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const parts = value instanceof Map || value instanceof Set ? [...value].flat() : [];
  const own = Object.getOwnPropertyNames(value).map((name) => Reflect.get(value, name));
  return [...parts, ...own].map(textsIn).join('\n');
}

const failed = () => {
  const cause = new Error('behind');
  const error = new RangeError('no', { cause });
  return Object.assign(error, { code: 'NO', trace: error.stack, of: [cause] });
};

test.each([
  ['an error', failed()],
  [
    'errors in data',
    { list: [failed()], map: new Map([['a', failed()]]), set: new Set([failed()]) },
  ],
  ['several errors', new AggregateError([failed()], 'many')],
  ['an error with the stack of another one in its message', new Error(failed().stack)],
])(
  '[FOLS7] neither a result nor a thrown value shows frames or files of the server: %s',
  (_, value) => {
    expect(textsIn(value)).toContain('outcome.test.ts');
    for (const outcome of [valueOutcome(value), errorOutcome(value)]) {
      const sent = textsIn((outcome as { value?: unknown }).value ?? errorIn(outcome));
      expect(sent).not.toMatch(/outcome\.test|\n\s+at |behind/);
    }
  },
);

test('[FOLS7] an error in a result keeps its class, message and simple properties', async () => {
  const [settled] = await Promise.allSettled([Promise.reject(failed())]);
  const { value } = valueOutcome({ settled }) as { value: { settled: { reason: Error } } };
  const { reason } = value.settled;
  expect(reason).toBeInstanceOf(RangeError);
  expect([reason.message, reason.stack]).toEqual(['no', 'RangeError: no']);
  expect(reason).toMatchObject({ code: 'NO' });
});

test('[FOLS7] an error of the file system does not name the file', async () => {
  const path = '/srv/secret/folder/data.txt';
  const thrown = await readFile(path).catch((error: unknown) => error);
  const error = errorIn(errorOutcome(thrown));
  expect(error.message).toBe("ENOENT: no such file or directory, open '(a file)'");
  expect(error).toMatchObject({ code: 'ENOENT', syscall: 'open' });
  expect(textsIn(error)).not.toContain('secret');
});

test('[FOLS7] messages of an app keep their addresses', () => {
  const message = 'See https://example.org/a:1:2x, /list/a or 12:30:15.';
  expect(errorIn(errorOutcome(new Error(message))).message).toBe(message);
});

test('[FOLS7] an error whose getter throws is told without it', () => {
  const thrown = Object.defineProperty(new Error('x'), 'trap', {
    get() {
      throw new Error('sprung');
    },
  });
  expect(errorIn(errorOutcome(thrown)).message).toBe(
    'The method threw an error that cannot be sent.',
  );
});
