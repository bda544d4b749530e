import { expect, test } from 'vitest';
import { formatBookmark, parseBookmark } from './bookmark.ts';
import { Checksum } from './checksum.ts';
import { nextTimeline, timelineEnd } from './log-position.ts';

const CHECKSUM = new Checksum(0x1234abcd);

test('[LOG9] a bookmark is four groups of 8, 8, 8 and 32 hex digits and reads back, its time in whole seconds', () => {
  const bookmark = { sequence: 2 ** 33 + 5, timeMs: 1_900_000_000_000, sum: 2 ** 53 - 1 };
  const text = formatBookmark({ ...bookmark, timeMs: bookmark.timeMs + 999 }, CHECKSUM);
  expect(text).toMatch(/^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}$/);
  expect(parseBookmark(text, CHECKSUM)).toEqual(bookmark);
});

test('[LOG9] plain string order is the order of sequences, whatever their times and checksums', () => {
  const sequences = [0, 1, 9, 16, 255, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 7, 2 ** 40];
  const texts = sequences.map((sequence, i) =>
    formatBookmark({ sequence, timeMs: 9e11 - i * 1e9, sum: 900 - i }, CHECKSUM),
  );
  expect([...texts].sort()).toEqual(texts);
});

test('[LOG9] the end of a timeline is after all its commits and before the restore', () => {
  const sequence = 3 * 2 ** 32 + 77;
  expect(timelineEnd(sequence)).toBeGreaterThan(sequence + 1_000_000);
  expect(nextTimeline(sequence)).toBe(timelineEnd(sequence) + 1);
  expect([0, 2 ** 32 - 1, 2 ** 32, sequence].map(nextTimeline)).toEqual(
    [1, 1, 2, 4].map((timeline) => timeline * 2 ** 32),
  );
});

test.each(['', 'x', '00000000-00000001-00000000-00000000000000000000000000000000'])(
  '[LOG10] "%s" is not a bookmark',
  (text) => {
    expect(() => parseBookmark(text, CHECKSUM)).toThrow(
      expect.objectContaining({
        code: 'BOOKMARK_INVALID',
        message: `"${text}" is not a bookmark of this object.`,
      }),
    );
  },
);

test('[LOG10] a bookmark of another object, or with any digit changed, is refused', () => {
  const text = formatBookmark({ sequence: 5, timeMs: 0, sum: 9 }, CHECKSUM);
  const isInvalid = expect.objectContaining({ code: 'BOOKMARK_INVALID' });
  expect(() => parseBookmark(text, new Checksum(CHECKSUM.salt + 1))).toThrow(isInvalid);
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '-') continue;
    const digit = (Number.parseInt(text[at]!, 16) ^ 1).toString(16);
    const changed = text.slice(0, at) + digit + text.slice(at + 1);
    expect(() => parseBookmark(changed, CHECKSUM), changed).toThrow(isInvalid);
  }
});
