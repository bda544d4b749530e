// Converts the options of `list` into one half-open range of keys.
//
// Bounds are bytes of UTF-8, because keys are sorted by these bytes, and because the bound after a prefix may be invalid as
// text.

import { compareBytes } from './key-order.ts';
import { encodeText } from './utf8.ts';

/** The range of keys with `start <= key < end`, of which at most `limit` are listed. */
export interface KeyRange {
  readonly start: Uint8Array;
  /** The first key after the range; null if there is no upper bound. */
  readonly end: Uint8Array | null;
  readonly reverse: boolean;
  /** The most keys to list; null if there is no limit. */
  readonly limit: number | null;
}

/** List options after argument conversion. */
export interface ConvertedListOptions {
  readonly start: string | undefined;
  readonly startAfter: string | undefined;
  readonly end: string | undefined;
  readonly prefix: string | undefined;
  readonly reverse: boolean;
  readonly limit: number | undefined;
}

const NO_BYTES = new Uint8Array(0);

/** Computes the range of converted options. */
export function compileRange(options: ConvertedListOptions): KeyRange {
  let start = options.start === undefined ? NO_BYTES : encodeText(options.start);
  // The smallest key after `startAfter` is `startAfter` followed by a NUL byte.
  if (options.startAfter !== undefined) start = encodeText(`${options.startAfter}\0`);
  let end = options.end === undefined ? null : encodeText(options.end);

  if (options.prefix) {
    const prefix = encodeText(options.prefix);
    if (compareBytes(prefix, start) > 0) start = prefix;
    const afterPrefix = successor(prefix);
    if (end === null || compareBytes(afterPrefix, end) < 0) end = afterPrefix;
  }
  return { start, end, reverse: options.reverse, limit: options.limit ?? null };
}

/** Returns true if no key can be in the range. */
export function isEmptyRange({ start, end }: KeyRange): boolean {
  return end !== null && compareBytes(start, end) >= 0;
}

// Returns the smallest byte string after all those with this prefix. It cannot overflow, because UTF-8 has no byte 0xFF.
function successor(prefix: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(prefix);
  bytes[bytes.length - 1]! += 1;
  return bytes;
}
