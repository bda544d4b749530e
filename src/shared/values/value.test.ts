import { describe, expect, test } from 'vitest';
import { READ_VALUE_BYTES_MAX, VALUE_BYTES_MAX } from '../contract/limits.ts';
import { serialize } from './encode.ts';
import { decodeValue, encodeValue } from './value.ts';

describe('a value of the largest size', () => {
  const numbered = (size: number) => Uint8Array.from({ length: size }, (_, i) => i % 251);

  test.for<[string, number, (size: number) => unknown]>([
    ['Latin-1 text', 131_073, (size) => 'é'.repeat(size)],
    ['other text', 131_074, (size) => '☃'.repeat(size / 2)],
    ['an ArrayBuffer', 131_073, (size) => numbered(size).buffer],
    ['a view', 131_073, numbered],
  ])('[KV4] is taken when it is %s, and refused with %i bytes', ([, tooMany, make]) => {
    const largest = make(131_072);
    expect(decodeValue(encodeValue('put', 'key', largest))).toEqual(largest);
    expect(() => encodeValue('put', 'key', make(tooMany))).toThrowError(
      expect.objectContaining({
        code: 'VALUE_TOO_LARGE',
        message: expect.stringContaining(`put("key"): the value is ${tooMany} bytes`),
      }),
    );
  });

  test('[KV4] a small view counts with the whole buffer it keeps', () => {
    const view = new Uint8Array(new ArrayBuffer(VALUE_BYTES_MAX + 1), 0, 1);
    expect(() => encodeValue('put', 'key', view)).toThrowError(/131073 bytes/);
  });

  test.for([{}, [], () => {}])('[VAL3] a revoked proxy is a DataCloneError (%#)', (target) => {
    const { proxy, revoke } = Proxy.revocable(target, {});
    revoke();
    expect(() => encodeValue('put', 'key', proxy)).toThrow(
      expect.objectContaining({
        name: 'DataCloneError',
        message: expect.stringMatching(/^A revoked proxy/),
      }),
    );
  });

  test('[KV4] anything else counts as it is serialized', () => {
    const around = serialize({ text: 'x'.repeat(100_000) }).length - 100_000;
    const text = 'x'.repeat(131_072 - around);
    expect(encodeValue('put', 'key', { text })).toHaveLength(131_072);
    expect(() => encodeValue('put', 'key', { text: `${text}x` })).toThrowError(
      expect.objectContaining({
        code: 'VALUE_TOO_LARGE',
        message: expect.stringContaining('131073 bytes'),
      }),
    );
  });
});

describe('[VAL9] stored bytes of more than a value may have', () => {
  test('are read up to the size that workerd stores, and CORRUPT beyond', () => {
    const text = 'x'.repeat(READ_VALUE_BYTES_MAX - 20);
    expect(decodeValue(serialize(text))).toBe(text);
    expect(() => decodeValue(serialize(`${text}${'x'.repeat(21)}`))).toThrowError(
      expect.objectContaining({ code: 'CORRUPT', message: expect.stringContaining('2097152') }),
    );
  });

  test.each([
    ['a Set', (keys: bigint[]) => new Set(keys)],
    ['a Map', (keys: bigint[]) => new Map(keys.map((key) => [key, 0]))],
    ['several', (keys: bigint[]) => [new Set(keys.slice(0, 8000)), new Set(keys.slice(8000))]],
  ])('have 8,192 elements at most, in %s', { tags: 'long' }, (_, collect) => {
    // Equal low digits are equal hashes in V8: reading them compares each with all others.
    const colliding = Array.from({ length: 8193 }, (_, i) => BigInt(i) << 128n);
    const value = [collect(colliding), 'x'.repeat(VALUE_BYTES_MAX)];
    expect(() => decodeValue(serialize(value))).toThrowError(
      expect.objectContaining({ code: 'CORRUPT', message: expect.stringContaining('elements') }),
    );
    expect(decodeValue(serialize([collect(colliding.slice(1)), value[1]]))).toHaveLength(2);
  });

  test('are read when the content is within the bound, whatever is around it', () => {
    const resizable = new ArrayBuffer(VALUE_BYTES_MAX, { maxByteLength: 2 ** 31 });
    const view = new DataView(resizable, 100_000, 20_000);
    expect(decodeValue(encodeValue('put', 'key', view))).toEqual(view);
  });
});

test('[KV6] a value that cannot be cloned is a DataCloneError', () => {
  expect(() => encodeValue('put', 'key', { method() {} })).toThrowError(
    expect.objectContaining({ name: 'DataCloneError' }),
  );
});

test('[PAGE2] the bytes have a buffer of their own, or more than them would be posted', () => {
  for (const value of [1, 'text', { a: [1, 2, 3] }, new Uint8Array(1000)]) {
    const bytes = encodeValue('put', 'key', value);
    expect(bytes.buffer.byteLength).toBe(bytes.byteLength);
  }
});
