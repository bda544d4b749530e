import { expect, test } from 'vitest';
import { type Call, OPERATIONS } from '../../../src/shared/wire/operations.ts';
import type { Moment } from './moment.ts';
import { MOMENT_READERS, type MomentReaders, performAt } from './perform.ts';

/** Reads of more than one state: of a session, the instance, two moments, or all commits together. */
const ELSEWHERE: readonly string[] = [
  ...['rows', 'closeCursor', 'begin', 'openMoment', 'closeMoment'],
  ...['openDiff', 'nextChanges', 'countChanges', 'closeDiff', 'branches'],
  ...['getCurrentBookmark', 'getBookmarkForTime', 'history'],
];

const EMPTY = {
  get: () => undefined,
  list: () => ({ next: () => undefined }),
  alarm: null,
  databaseSize: 0,
  databaseBytes: () => new Uint8Array(),
} as unknown as Moment;

function isRefused(op: string): boolean {
  try {
    performAt(EMPTY, { op, keys: ['key'], range: {} } as unknown as Call);
    return false;
  } catch (error) {
    expect(error).toMatchObject({ code: 'READ_ONLY' });
    return true;
  }
}

test.for(Object.entries(OPERATIONS))(
  '[HIST5] at a moment, %s is refused unless it reads the state of the object',
  ([op, { effect }]) => {
    expect(isRefused(op)).toBe(effect === 'write' || ELSEWHERE.includes(op));
  },
);

test('[HIST5] the compiler refuses a table of the reads at a moment in which one is missing', () => {
  const { list, ...others } = MOMENT_READERS;
  // @ts-expect-error: `list` is missing
  const incomplete: MomentReaders = others;
  expect(Object.keys(incomplete)).not.toContain(list.name);
});
