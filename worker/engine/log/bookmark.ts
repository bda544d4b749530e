// Formats and parses bookmarks, the texts that name commits in the history of one object.
//
// Four groups of lower-case hex digits, 8-8-8-32:
//   1, 2  the sequence of the commit
//   3     the time of the commit in seconds since 1970, for human readers
//   4     the commit's checksum (16 digits; zeros if any commit with that sequence is meant), and a
//         checksum of all this, seeded with the object's salt (16 digits)
// Plain string order is sequence order. The bookmark that undoes a restore has all lower bits of its sequence set, so
// it sorts after every earlier commit and before the restore.

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { Checksum } from './checksum.ts';
import { TIMELINE } from './log-position.ts';

export interface Bookmark {
  readonly sequence: number;
  readonly timeMs: number;
  /** Checksum of the commit; 0 if the bookmark names the last commit up to its sequence. */
  readonly sum: number;
}

export function formatBookmark({ sequence, timeMs, sum }: Bookmark, checksum: Checksum): string {
  const body = [
    hex(Math.floor(sequence / TIMELINE), 8),
    hex(sequence % TIMELINE, 8),
    hex(Math.floor(timeMs / 1000) % TIMELINE, 8),
    hex(sum, 16),
  ].join('-');
  return body + check(body, checksum);
}

/**
 * Parses a bookmark of this object; its time is in whole seconds.
 *
 * @throws BOOKMARK_INVALID if the text is not a bookmark, is damaged, or belongs to another object.
 */
export function parseBookmark(text: string, checksum: Checksum): Bookmark {
  const match = /^([0-9a-f]{8})-([0-9a-f]{8})-([0-9a-f]{8})-([0-9a-f]{16})([0-9a-f]{16})$/.exec(
    text,
  );
  const body = text.slice(0, -16);
  if (match === null || check(body, checksum) !== match[5]) {
    throw storageError('BOOKMARK_INVALID', `"${text}" is not a bookmark of this object.`);
  }
  const number = (group: number) => Number.parseInt(match[group]!, 16);
  return {
    sequence: number(1) * TIMELINE + number(2),
    timeMs: number(3) * 1000,
    sum: number(4),
  };
}

/** Reads the sequence from a bookmark that is known to be valid. */
export function sequenceIn(bookmark: string): number {
  const [timeline = '', within = ''] = bookmark.split('-');
  return Number.parseInt(timeline, 16) * TIMELINE + Number.parseInt(within, 16);
}

function check(body: string, checksum: Checksum): string {
  const words = new Uint32Array(body.length);
  for (let i = 0; i < body.length; i++) words[i] = body.charCodeAt(i);
  return hex(checksum.ofRecord(words, 0, words.length), 16);
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}
