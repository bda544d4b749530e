// Which keys a list visits: the options a caller writes, compiled into one half-open range.
//
// Bounds are bytes of UTF-8, because keys are in that order and because the bound after a prefix may
// be invalid text.

import { compareBytes } from './key-order.ts';
import { encodeText } from './utf8.ts';

/** Keys in `start <= key < end`, at most `limit` of them. */
export interface KeyRange {
  readonly start: Uint8Array;
  /** Null: no upper bound. */
  readonly end: Uint8Array | null;
  readonly reverse: boolean;
  /** Null: no limit. */
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

/** The range of converted options. */
export function compileRange(options: ConvertedListOptions): KeyRange {
  let start = options.start === undefined ? NO_BYTES : encodeText(options.start);
  // The least key after `startAfter` is the same key with a NUL byte behind it.
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

/** True when no key can be in the range. */
export function isEmptyRange({ start, end }: KeyRange): boolean {
  return end !== null && compareBytes(start, end) >= 0;
}

// The least byte string after all with this prefix. Does not overflow: UTF-8 has no 0xFF.
function successor(prefix: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(prefix);
  bytes[bytes.length - 1]! += 1;
  return bytes;
}
