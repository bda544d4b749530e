// Changes to bytes that parsers get wrong: single bits, lengths, ends, and parts moved about.

import type { Draws } from '../../../packages/testing/page/draws.ts';

/** Bytes that are limits of something: of signs, of varints, of text. */
const EDGES = [0x00, 0x01, 0x7f, 0x80, 0x81, 0xfe, 0xff, 0x0f, 0x5f, 0x24];

/** A changed copy; `from` and `limit` bound where the change begins, also beyond the end of the bytes. */
export function mutate(
  bytes: Uint8Array,
  draws: Draws,
  from = 0,
  limit = bytes.length,
): Uint8Array {
  const below = Math.min(limit, bytes.length);
  if (below <= from) return Uint8Array.of(draws.below(256));
  const at = from + draws.below(below - from);
  const span = 1 + draws.below(Math.min(64, bytes.length - at));
  switch (draws.below(9)) {
    case 0:
      return replaced(bytes, at, 1, [bytes[at]! ^ (1 << draws.below(8))]);
    case 1:
      return replaced(bytes, at, 1, [draws.pick(EDGES)]);
    case 2:
      return replaced(bytes, at, 1, [draws.below(256)]);
    case 3:
      return replaced(bytes, at, span, []);
    case 4:
      return replaced(
        bytes,
        at,
        0,
        draws.times(span, () => draws.below(256)),
      );
    case 5:
      return bytes.slice(0, at);
    case 6: {
      const part = bytes.subarray(at, at + span);
      return replaced(bytes, from + draws.below(below - from), 0, part);
    }
    case 7:
      // A number that goes on and on.
      return replaced(bytes, at, 1, [...draws.times(1 + draws.below(8), () => 0xff), 0x7f]);
    default:
      return replaced(
        bytes,
        at,
        span,
        draws.times(span, () => draws.pick(EDGES)),
      );
  }
}

function replaced(
  bytes: Uint8Array,
  at: number,
  count: number,
  by: readonly number[] | Uint8Array,
): Uint8Array {
  const result = new Uint8Array(bytes.length - Math.min(count, bytes.length - at) + by.length);
  result.set(bytes.subarray(0, at));
  result.set(by, at);
  result.set(bytes.subarray(Math.min(bytes.length, at + count)), at + by.length);
  return result;
}
