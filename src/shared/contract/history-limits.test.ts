import { expect, test } from 'vitest';
import { checkHistoryLimits, historyBytes } from './history-limits.ts';

const MB = 1 << 20;

test.each([
  [{}, 0, 256 * MB],
  [{ days: 1 }, 256 * MB, 256 * MB],
  [{}, 300 * MB, 300 * MB],
  [{ bytes: 5 }, 300 * MB, 5],
  [{ bytes: 0 }, 300 * MB, 0],
  [{ bytes: Number.POSITIVE_INFINITY }, 0, Number.POSITIVE_INFINITY],
])(
  '[HIST8] with the option %j, an object whose database has %i bytes keeps %d bytes of history',
  (limits, databaseBytes, kept) => {
    expect(historyBytes(limits, databaseBytes)).toBe(kept);
  },
);

test('[HIST10] bounds that are right are taken as they are', () => {
  expect(checkHistoryLimits('serve', undefined)).toEqual({});
  expect(checkHistoryLimits('serve', { days: undefined, bytes: undefined })).toEqual({});
  const given = { days: 0.5, bytes: Number.POSITIVE_INFINITY, other: 1 };
  expect(checkHistoryLimits('serve', given)).toEqual({ days: 0.5, bytes: given.bytes });
  expect(checkHistoryLimits('serve', { days: 30, bytes: 0 })).toEqual({ days: 30, bytes: 0 });
  expect(checkHistoryLimits('serve', { days: 0 })).toEqual({ days: 0 });
  expect(checkHistoryLimits('serve', { thin: true })).toEqual({ thin: true });
});

test.each<[unknown, string]>([
  [null, 'serve: history is an object, such as { days: 7, bytes: 64e6 }, not null.'],
  [7, 'not number'],
  [{ days: 31 }, 'history.days is a number from 0 to 30, not 31.'],
  [{ days: -1 }, 'not -1.'],
  [{ days: Number.NaN }, 'not NaN.'],
  [{ days: '7' }, 'not a string.'],
  [{ days: null }, 'history.days'],
  [{ bytes: -1 }, 'history.bytes is a number of bytes from 0 on, or Infinity, not -1.'],
  [{ bytes: Number.NaN }, 'not NaN.'],
  [{ bytes: 10n }, 'not a bigint.'],
  [{ days: 7, bytes: null }, 'history.bytes'],
  [{ thin: 1 }, 'history.thin is true or false, not 1.'],
  [{ thin: 'minutes' }, 'history.thin is true or false, not a string.'],
])('[HIST10] %o is INVALID_ARGUMENT', (given, words) => {
  const check = () => checkHistoryLimits('serve', given);
  expect(check).toThrow(expect.objectContaining({ name: 'TypeError', code: 'INVALID_ARGUMENT' }));
  expect(check).toThrow(words);
});
