// Bookmarks: text names of moments in the history of one object.
//
// Four groups of lower-case hex digits, 8-8-8-32:
//   1, 2  the sequence of the last commit that belongs to the moment
//   3     the time of that commit in seconds since 1970, for people who read it
//   4     the sum of that commit (16 digits, zeros when any commit of that place is meant), and a
//         check over everything and the object's own random number (16 digits)
// Plain string order is sequence order, and sequence order is time order.
//
// The upper half of a sequence counts the restores: each begins a new timeline, so the bookmark that
// undoes a restore (all ones below) sorts after every commit before it and before the restore.

import { storageError } from '../../src/contract/errors.ts';
import type { Checksum } from './checksum.ts';

const TIMELINE = 0x1_0000_0000;

export interface Bookmark {
  readonly sequence: number;
  readonly timeMs: number;
  /** Sum of the commit named; 0 when the bookmark names whatever came last up to its sequence. */
  readonly sum: number;
}

/** The first sequence of the timeline that a restore begins. */
export function nextTimeline(sequence: number): number {
  return (Math.floor(sequence / TIMELINE) + 1) * TIMELINE;
}

/** The sequence no commit of this timeline reaches: it names the timeline's end. */
export function timelineEnd(sequence: number): number {
  return nextTimeline(sequence) - 1;
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
 * Reads a bookmark of this object; its time is whole seconds.
 *
 * @throws BOOKMARK_INVALID when it is none, is damaged, or belongs to another object.
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

function check(body: string, checksum: Checksum): string {
  const words = new Uint32Array(body.length);
  for (let i = 0; i < body.length; i++) words[i] = body.charCodeAt(i);
  return hex(checksum.ofRecord(words, 0, words.length), 16);
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}
