// Changes to bytes that parsers get wrong: single bits, lengths, ends, and parts moved about.

import type { Random } from '../fuzz/random.ts';

/** Bytes that are limits of something: of signs, of varints, of text. */
const EDGES = [0x00, 0x01, 0x7f, 0x80, 0x81, 0xfe, 0xff, 0x0f, 0x5f, 0x24];

/** A changed copy; `from` and `below` bound where the change begins. */
export function mutate(
  bytes: Uint8Array,
  random: Random,
  from = 0,
  below = bytes.length,
): Uint8Array {
  if (below <= from) return Uint8Array.of(random.below(256));
  const at = from + random.below(below - from);
  const span = 1 + random.below(Math.min(64, bytes.length - at));
  switch (random.below(9)) {
    case 0:
      return replaced(bytes, at, 1, [bytes[at]! ^ (1 << random.below(8))]);
    case 1:
      return replaced(bytes, at, 1, [random.pick(EDGES)]);
    case 2:
      return replaced(bytes, at, 1, [random.below(256)]);
    case 3:
      return replaced(bytes, at, span, []);
    case 4:
      return replaced(
        bytes,
        at,
        0,
        random.times(span, () => random.below(256)),
      );
    case 5:
      return bytes.slice(0, at);
    case 6: {
      const part = bytes.subarray(at, at + span);
      return replaced(bytes, from + random.below(below - from), 0, part);
    }
    case 7:
      // A number that goes on and on.
      return replaced(bytes, at, 1, [...random.times(1 + random.below(8), () => 0xff), 0x7f]);
    default:
      return replaced(
        bytes,
        at,
        span,
        random.times(span, () => random.pick(EDGES)),
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
