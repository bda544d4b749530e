// Tests the buffer: a value is written with the same bytes, whatever the buffer already contains.

import { expect, test } from 'vitest';
import { ByteWriter } from './byte-writer.ts';
import { deserialize } from './decode.ts';
import { serialize } from './encode.ts';

/** Makes a text of this length by repeating the letters. */
const cycled = (letters: string, length: number) =>
  letters.repeat(Math.ceil(length / letters.length)).slice(0, length);
/** Makes bytes of which neighbours differ, so that a shift is noticed. */
const numbered = (length: number) => Uint8Array.from({ length }, (_, i) => i % 251);

const WRITES: Readonly<Record<string, (writer: ByteWriter) => void>> = {
  'a byte': (writer) => writer.byte(7),
  'a small length': (writer) => writer.varint(5),
  'a large length': (writer) => writer.varint(2 ** 32 - 1),
  'a length at a border': (writer) => writer.varint(128),
  'a double': (writer) => writer.double(0.1),
  'a small integer': (writer) => writer.number(-3),
  'a large integer': (writer) => writer.number(2 ** 30 - 1),
  'a fraction': (writer) => writer.number(0.5),
  'a bigint': (writer) => writer.bigint(-5n),
  'a long bigint': (writer) => writer.bigint(3n ** 500n),
  'a short string': (writer) => writer.string('abc'),
  'an empty string': (writer) => writer.string(''),
  'a string of 63 letters': (writer) => writer.string(cycled('abcdefg', 63)),
  'a string of 64 letters': (writer) => writer.string(cycled('abcdefg', 64)),
  'a long string': (writer) => writer.string(cycled('abcdefg', 40_000)),
  'a long Latin-1 string': (writer) => writer.string(cycled('aéîöú', 20_000)),
  'a short wide string': (writer) => writer.string('€a'),
  'a long wide string': (writer) => writer.string(cycled('aжзий', 20_000)),
  'UTF-8': (writer) => writer.utf8('aé€'),
  'raw bytes': (writer) => writer.raw(numbered(50_000)),
  'bytes with their length': (writer) => writer.rawWithLength(new Uint8Array([1, 2])),
};

for (const [name, write] of Object.entries(WRITES)) {
  test(`[VAL1] ${name} is the same wherever the buffer ends`, () => {
    const alone = new ByteWriter();
    write(alone);
    const expected = alone.take();
    // Even offsets only: a string of two bytes a character is padded to one.
    for (let before = 16_384 - 40; before <= 16_384 + 2; before += 2) {
      const writer = new ByteWriter();
      writer.raw(new Uint8Array(before).fill(1));
      write(writer);
      const written = writer.take();
      // Not `toEqual`, which compares large arrays for seconds.
      expect(Buffer.compare(written.subarray(before), expected)).toBe(0);
      expect(written.subarray(0, before).every((byte) => byte === 1)).toBe(true);
    }
  });
}

test('[VAL1] a writer that was cleared begins again, after something large too', () => {
  for (const sizeBytes of [10, 3_000_000]) {
    const writer = new ByteWriter();
    writer.raw(new Uint8Array(sizeBytes).fill(1));
    writer.clear();
    writer.string('abc');
    writer.double(0.5);
    const fresh = new ByteWriter();
    fresh.string('abc');
    fresh.double(0.5);
    expect(writer.take()).toEqual(fresh.take());
  }
});

test('[VAL4] a string takes one byte a character whenever possible', () => {
  // Version, tag and length before them.
  expect(serialize('x'.repeat(200))).toHaveLength(2 + 1 + 2 + 200);
  expect(serialize('é'.repeat(200))).toHaveLength(2 + 1 + 2 + 200);
  expect(serialize('é'.repeat(20))).toHaveLength(2 + 1 + 1 + 20);
  expect(deserialize(serialize('é'.repeat(200)))).toBe('é'.repeat(200));
});

test('[VAL8] the message of a bigint that is too large names its size, the bound and the way out', () => {
  // 131,080 bytes: one 64-bit word too many.
  expect(() => serialize(1n << BigInt(131_072 * 8))).toThrow(
    expect.objectContaining({
      code: 'VALUE_TOO_LARGE',
      message:
        'A bigint of 131080 bytes cannot be stored, at most 131072; split it, or store its digits as ' +
        'a string.',
    }),
  );
});

test('[VAL1] a view at the end of its buffer follows it, however little the buffer may grow', () => {
  const buffer = new ArrayBuffer(15, { maxByteLength: 16 });
  const view = deserialize(serialize(new Uint8Array(buffer, 15))) as Uint8Array<ArrayBuffer>;
  expect(view).toHaveLength(0);
  view.buffer.resize(16);
  expect(view).toHaveLength(1);
});

test('[VAL1] the last bytes of a buffer that ends in part of an element are kept', () => {
  for (const offset of [0, 2, 4]) {
    const buffer = new ArrayBuffer(16, { maxByteLength: 16 });
    const view = new Uint32Array(buffer, offset & ~3);
    new Uint8Array(buffer).forEach((_, i, bytes) => void (bytes[i] = i + 1));
    buffer.resize(11);
    const read = deserialize(serialize(view)) as Uint32Array<ArrayBuffer>;
    const bytes = Array.from({ length: 11 }, (_, i) => i + 1);
    expect([...new Uint8Array(read.buffer)]).toEqual(bytes);
    expect([...new Uint8Array(buffer)]).toEqual(bytes);
    read.buffer.resize(16);
    expect(read.byteOffset + read.byteLength).toBe(16);
  }
});
