// Tests reading: bytes of every version, at every address, and bytes that are not a value.

import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { isStorageError } from '../contract/errors.ts';
import { VALUE_BYTES_MAX } from '../contract/limits.ts';
import { deserialize } from './decode.ts';
import { serialize } from './encode.ts';
import { NESTING_DEPTH_MAX, UNICODE_SOURCE_LENGTH_MAX } from './wire.ts';

const bytesOf = (hex: string) => Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'));
const read = (hex: string) => deserialize(bytesOf(hex));

/** Returns the error of reading these bytes; undefined if they are a value. */
function errorOf(bytes: Uint8Array): Error | undefined {
  try {
    deserialize(bytes);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

function codeOf(bytes: Uint8Array): unknown {
  const error = errorOf(bytes);
  return isStorageError(error) ? error.code : error;
}

const SAMPLE = {
  // biome-ignore lint/suspicious/noSparseArray: a hole is one of the things that are stored
  list: [1, -0, 'é', '€', 2n ** 70n, , undefined, null, true],
  map: new Map<unknown, unknown>([[new Date(1), /x/gi]]),
  set: new Set([Object('s'), Object(1n)]),
  error: Object.assign(new TypeError('m', { cause: new Error('c') }), { code: 1 }),
  view: new Float64Array([0.5]),
  parts: new Uint16Array(new ArrayBuffer(8, { maxByteLength: 16 }), 2),
  headers: new Headers({ 'x-a': 'b', accept: 'c' }),
  exception: new DOMException('m', 'AbortError'),
  request: new Request('http://x/'),
};

describe('[VAL6] a version', () => {
  test('13, 14 and 15 are read', () => {
    const views = [
      'ff 0d 42 02 07 08 56 42 01 01',
      'ff 0e 42 02 07 08 56 42 01 01 00',
      'ff 0f 42 02 07 08 56 42 01 01 00',
    ];
    expect(views.map(read)).toEqual([1, 2, 3].map(() => new Uint8Array([8])));
  });

  test('13 may come without a header', () => {
    expect(read('22 01 61')).toBe('a');
    expect(read('42 01 07 56 42 00 01')).toEqual(new Uint8Array([7]));
  });

  test('older or newer is CORRUPT', () => {
    expect(['ff0c220161', 'ff10220161', 'ff00', 'ff'].map((hex) => codeOf(bytesOf(hex)))).toEqual(
      new Array(4).fill('CORRUPT'),
    );
  });
});

describe('[VAL6] a form V8 once wrote, or may write,', () => {
  test('is read: unsigned integers, UTF-8 strings, object counts, holes in dense arrays', () => {
    expect(read('ff0f 55 ffffffff0f')).toBe(2 ** 32 - 1);
    expect(read('ff0f 53 02 c3a9')).toBe('é');
    expect(read('ff0f 3f 01 49 02')).toBe(1);
    expect(read('ff0f 41 03 49 02 2d 49 06 24 00 03')).toStrictEqual(
      Object.assign(new Array(3), { 0: 1, 2: 3 }),
    );
  });

  test('is read: V8’s own errors, in both orders of cause and stack', () => {
    const older = read('ff0f 72 54 6d 22016d 63 4902 73 22025354 2e') as Error;
    const newer = read('ff0f 72 54 6d 22016d 73 22025354 63 4902 2e') as Error;
    for (const error of [older, newer]) {
      expect(Object.getPrototypeOf(error)).toBe(TypeError.prototype);
      expect([error.message, error.cause, error.stack]).toEqual(['m', 1, 'ST']);
      expect(Object.keys(error)).toEqual([]);
    }
  });

  test('is read: an error that is its own cause', () => {
    const error = read('ff0f 72 6d 220163 73 22025354 63 5e00 2e') as Error;
    expect(error.cause).toBe(error);
  });

  test('is read: an error without a message', () => {
    expect(Object.hasOwn(read('ff0f 72 73 22025354 2e') as Error, 'message')).toBe(false);
  });
});

describe('[VAL6] the bytes', () => {
  test('may be a window on larger memory, at any address', () => {
    const bytes = serialize(SAMPLE);
    const memory = new Uint8Array(bytes.length + 32).fill(0xff);
    for (let offset = 0; offset < 16; offset++) {
      memory.set(bytes, offset);
      const value = deserialize(memory.subarray(offset, offset + bytes.length));
      expect(Buffer.from(serialize(value)).equals(bytes)).toBe(true);
    }
  });

  test('of version 14 say whether a view follows the end of its buffer', () => {
    const view = read('ff0e 7e 02 04 0708 56 42 00 00 01') as Uint8Array;
    expect(view).toEqual(new Uint8Array([7, 8]));
    (view.buffer as ArrayBuffer).resize(3);
    expect(view.length).toBe(3);
  });

  test('may hold buffers that may grow to all that is allowed, or not at all', () => {
    const quarter =
      'ff0f 41 04 7e 00 80808080 04 7e 00 80808080 04 7e 00 80808080 04 7e 00 80808080 04';
    const buffers = read(`${quarter} 24 00 04`) as ArrayBuffer[];
    expect(buffers.map(({ maxByteLength }) => maxByteLength)).toEqual(new Array(4).fill(2 ** 30));
    const full = deserialize(serialize(new ArrayBuffer(4, { maxByteLength: 4 }))) as ArrayBuffer;
    expect([full.byteLength, full.maxByteLength, full.resizable]).toEqual([4, 4, true]);
  });

  test('are not shared with the value', () => {
    const bytes = Buffer.from(serialize([new Uint8Array([1, 2, 3]), 'text']));
    const [view] = deserialize(bytes) as [Uint8Array];
    bytes.fill(0);
    expect([...view]).toEqual([1, 2, 3]);
    expect(view.buffer.byteLength).toBe(3);
  });

  test('behind the value are ignored, as in workerd', () => {
    expect(read('ff0f 22 01 61 99')).toBe('a');
  });

  test('may set no prototype', () => {
    const value = read('ff0f 6f 22 09 5f5f70726f746f5f5f 6f 22 01 78 49 02 7b01 7b01') as object;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect((value as { x?: number }).x).toBeUndefined();
    expect(Object.getOwnPropertyDescriptor(value, '__proto__')).toEqual({
      value: { x: 1 },
      writable: true,
      enumerable: true,
      configurable: true,
    });
  });

  test('may name a property "length", of an object', () => {
    expect(read('ff0f 6f 22 06 6c656e677468 49 02 7b 01')).toEqual({ length: 1 });
  });
});

describe('[VAL7] CORRUPT is thrown for', () => {
  /** The fault, the bytes, and the expected message. Without a message, the error of the engine is the cause. */
  const wrong: readonly (readonly [name: string, hex: string, fact?: string])[] = [
    ['no bytes', '', 'it ends too early'],
    ['a header alone', 'ff0f', 'it ends too early'],
    ['an unknown tag', 'ff0f 23', 'byte 35 in place of a value'],
    ['a string longer than the bytes', 'ff0f 22 05 61', 'it ends too early'],
    ['half a UTF-16 character', 'ff0f 63 03 610061', 'half a character'],
    ['a buffer longer than the bytes', 'ff0f 42 ffffffff0f 00', 'it ends too early'],
    [
      'a buffer that may grow to less than it has',
      'ff0f 7e 02 01 0000',
      'a buffer that may grow to 1 bytes',
    ],
    [
      'a buffer that may grow beyond measure',
      'ff0f 7e 00 ffffffffff7f',
      'a buffer that may grow to 4398046511103 bytes',
    ],
    [
      'a bigint longer than the bytes',
      'ff0f 5a feffffff0f 00',
      'a bigint of 2147483647 bytes, at most 131072',
    ],
    ['a dense array longer than the bytes', 'ff0f 41 ffffffff0f 49 02', 'it ends too early'],
    [
      'an array beyond the greatest length',
      'ff0f 61 8080808010 40 00 8080808010',
      'an array of length 4294967296',
    ],
    [
      'an array with two lengths',
      'ff0f 41 01 49 02 24 00 02',
      'the two lengths of an array differ',
    ],
    [
      'an array with an element behind its end',
      'ff0f 61 01 49 04 49 02 40 01 01',
      'an element behind the end of its array',
    ],
    [
      'an array with a property "length"',
      'ff0f 61 01 22 06 6c656e677468 49 02 40 01 01',
      'an array with a property "length"',
    ],
    [
      'an object with a wrong count',
      'ff0f 6f 22 01 61 49 02 7b 02',
      'the number of properties is wrong',
    ],
    ['an object without an end', 'ff0f 6f 22 01 61 49 02', 'it ends too early'],
    ['an object as a key', 'ff0f 6f 6f7b00 49 02 7b 01', 'a key that is neither string nor number'],
    ['a map with a wrong count', 'ff0f 3b 49 02 49 02 3a 01', 'the number of items is wrong'],
    ['a set with a wrong count', 'ff0f 27 49 02 2c 02', 'the number of items is wrong'],
    ['a reference to nothing', 'ff0f 5e 00', 'object 0 is not there'],
    ['a malformed regular expression', 'ff0f 52 22 01 28 00'],
    ['regular expression flags that exclude each other', 'ff0f 52 22 01 61 9002'],
    ['a view beyond its buffer', 'ff0f 42 01 00 56 42 00 02 00'],
    [
      'a view of an unknown class',
      'ff0f 42 01 00 56 7a 00 01 00',
      'a view of class 122, unknown to this engine',
    ],
    ['half an element', 'ff0f 42 04 00000000 56 57 00 03 00', 'half an element in a view'],
    [
      'a view that follows the end of a fixed buffer',
      'ff0f 42 01 00 56 42 00 00 01',
      'a view that follows the end of a fixed buffer',
    ],
    ['a view at an odd offset', 'ff0f 42 04 00000000 56 57 01 02 00'],
    ['a shared buffer', 'ff0f 75 00', 'a SharedArrayBuffer, whose content was never stored'],
    [
      'an object only workerd can read',
      'ff0f 5c 0d 01',
      'an object of workerd (number 13) that only workerd can read',
    ],
    ['headers with a guard out of range', 'ff0f 5c 04 04 00', 'headers with guard 4'],
    ['a header with a number out of range', 'ff0f 5c 04 03 01 30 01 76', 'a header with number 48'],
    ['a header with an impossible name', 'ff0f 5c 04 03 01 00 01 20 01 76'],
    ['more headers than bytes', 'ff0f 5c 04 03 ffffffff0f 05 01 76', 'it ends too early'],
    ['a request with an impossible address', 'ff0f 5c 05 01 78 6f7b00'],
    ['a response with an impossible status', 'ff0f 5c 06 30 6f 22 06 737461747573 49 02 7b01'],
    [
      'an error with malformed properties',
      'ff0f 5c 0a 01 22 01 6d 49 02',
      'the properties of an error are not an object',
    ],
    [
      'an error whose message is not a string',
      'ff0f 5c 0a 01 49 02 6f7b00',
      'byte 73 in place of a string',
    ],
    ['an endless number', 'ff0f 55 ffffffffffffffffffffffff', 'a number of more than 49 bits'],
    [
      'a dense array with an element behind its end',
      'ff0f 41 01 49 02 22 01 35 49 04 24 01 01',
      'the two lengths of an array differ',
    ],
    ['a reference to an object not yet read', 'ff0f 5c 0a 00 5e 00', 'object 0 is not there'],
    ["a byte that is none of an error's", 'ff0f 72 99', 'byte 153 in an error'],
    ['a response with a body', 'ff0f 5c 06 5f 6f7b00', 'a response with a body'],
    [
      'a request whose members are a number',
      'ff0f 5c 05 01 78 49 02',
      'the members of a host object are not an object',
    ],
    [
      'a request whose members are null',
      'ff0f 5c 05 01 78 30',
      'the members of a host object are not an object',
    ],
    [
      'an error whose properties are null',
      'ff0f 5c 0a 01 22 01 6d 30',
      'the properties of an error are not an object',
    ],
    ['a version that is too new', 'ff10 30', 'version 16 of the format; 13 to 15 are known'],
    ['a version that is too old', 'ff0c 30', 'version 12 of the format; 13 to 15 are known'],
    [
      'buffers that may grow beyond measure together',
      'ff0f 41 02 7e 00 80808080 0c 7e 00 80808080 0c 24 00 02',
      'a buffer that may grow to 3221225472 bytes',
    ],
    ['a boolean as a key', 'ff0f 6f 54 49 02 7b 01', 'a key that is neither string nor number'],
  ];
  for (const [name, hex, fact] of wrong) {
    test(name, () => {
      const error = errorOf(bytesOf(hex));
      expect(error).toMatchObject({ code: 'CORRUPT' });
      if (fact === undefined) expect(error?.cause).toBeInstanceOf(Error);
      else expect(error?.message).toBe(`The stored value cannot be read: ${fact}.`);
    });
  }

  test('one level more than may be nested, and one element more than is allowed', () => {
    const nested = (levels: number) =>
      bytesOf(`ff0f${'4101'.repeat(levels)}30${'240001'.repeat(levels)}`);
    expect(codeOf(nested(NESTING_DEPTH_MAX))).toBeUndefined();
    expect(errorOf(nested(NESTING_DEPTH_MAX + 1))?.message).toMatch(/more than 1000 levels/);
    const elements = serialize([new Map([[1, 2]]), new Set([1, 2])]);
    expect(deserialize(elements, 3)).toEqual(deserialize(elements));
    expect(() => deserialize(elements, 2)).toThrow(/too many .*elements of Maps and Sets/);
  });

  test('objects nested too deeply', () => {
    const nested = (open: string, levels: number) => bytesOf(`ff0f${open.repeat(levels)}`);
    for (const open of ['4101', '6f220161', '3b', '27', '5c0a0122016d']) {
      expect(codeOf(nested(open, NESTING_DEPTH_MAX + 1))).toBe('CORRUPT');
      expect(codeOf(nested(open, 40_000))).toBe('CORRUPT');
    }
  });

  test('every beginning of a value', { tags: 'long' }, () => {
    const bytes = serialize(SAMPLE);
    const codes = Array.from(bytes, (_, length) => codeOf(bytes.subarray(0, length)));
    expect(codes.findIndex((code) => code !== 'CORRUPT')).toBe(-1);
  });
});

describe('[VAL7] a lying length', () => {
  test('allocates nothing', () => {
    const before = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed;
    const keep: unknown[] = [];
    for (let i = 0; i < 200; i++) {
      // An array of 30 million elements, none of which is there.
      keep.push(read('ff0f 61 80 87 a7 0e 40 00 80 87 a7 0e'));
      codeOf(bytesOf(`ff0f ${'41 ffff07'.repeat(500)}`));
    }
    const after = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed;
    expect((keep[0] as unknown[]).length).toBe(30_000_000);
    expect(after - before).toBeLessThan(200 * 1024 * 1024);
  });
});

describe('[VAL8] values that are expensive to construct', () => {
  const varint = (value: number): number[] =>
    value < 128 ? [value] : [(value & 127) | 128, ...varint(Math.floor(value / 128))];
  const pattern = (source: string, flagBits: number) => [
    ...[0x52, 0x22, ...varint(source.length)],
    ...Buffer.from(source, 'latin1'),
    ...varint(flagBits),
  ];
  const V = 256;
  const emoji = (count: number) => '[\\p{RGI_Emoji}]'.repeat(count);

  /** Counts the regular expressions that are constructed during the run. */
  function countRegExps(run: () => void): number {
    let count = 0;
    vi.stubGlobal(
      'RegExp',
      new Proxy(RegExp, {
        construct(target, parameters) {
          count += 1;
          return Reflect.construct(target, parameters);
        },
      }),
    );
    run();
    vi.unstubAllGlobals();
    return count;
  }

  test('is CORRUPT: one regular expression that takes seconds', () => {
    const bytes = Uint8Array.from([0xff, 15, ...pattern(emoji(8180), V)]);
    expect(countRegExps(() => expect(codeOf(bytes)).toBe('CORRUPT'))).toBe(0);
  });

  test('is CORRUPT: many that take as long together', () => {
    const many = Array.from({ length: 40 }, (_, i) => pattern(`${emoji(25)}${i}`, V));
    const list = [0x41, ...varint(many.length), ...many.flat(), 0x24, 0, ...varint(many.length)];
    const read = () => expect(codeOf(Uint8Array.from([0xff, 15, ...list]))).toBe('CORRUPT');
    expect(countRegExps(read)).toBeLessThan(10);
  });

  test('is refused in writing, and the bound itself goes both ways', () => {
    const largest = new RegExp('a'.repeat(UNICODE_SOURCE_LENGTH_MAX), 'u');
    expect(deserialize(serialize([largest, largest]))).toEqual([largest, largest]);
    expect(() => serialize([largest, /b/v])).toThrowError(
      expect.objectContaining({
        name: 'RangeError',
        code: 'VALUE_TOO_LARGE',
        message: expect.stringContaining('2049 characters, at most 2048'),
      }),
    );
    // Without these flags construction is linear and fast.
    const plain = new RegExp('a'.repeat(100_000), 'i');
    expect(deserialize(serialize(plain))).toEqual(plain);
  });

  test('is a bigint of more bytes than a value may have', () => {
    const largest = -(2n ** BigInt(8 * VALUE_BYTES_MAX)) + 1n;
    expect(deserialize(serialize(largest))).toBe(largest);
    expect(() => serialize(largest - 1n)).toThrowError(
      expect.objectContaining({ name: 'RangeError', code: 'VALUE_TOO_LARGE' }),
    );
    const bytes = new Uint8Array(8_000_012).fill(0xab);
    bytes.set([0xff, 15, 0x5a, ...varint(16_000_000)]);
    expect(codeOf(bytes)).toBe('CORRUPT');
  });
});

test('[VAL7] bytes changed anywhere are a value or CORRUPT, in bounded time', {
  tags: 'long',
}, () => {
  const original = serialize(SAMPLE);
  const change = fc.record({
    at: fc.nat(original.length - 1),
    by: fc.oneof(
      fc.record({ bit: fc.nat(7) }),
      fc.record({ byte: fc.nat(255) }),
      fc.record({ cut: fc.nat(9) }),
    ),
  });
  let slowestMs = 0;
  /** Returns the processor time, which a busy machine does not increase. */
  const usedMs = () => process.cpuUsage().user / 1000;
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 6 }), (changes) => {
      let bytes = original.slice();
      for (const { at, by } of changes) {
        if ('bit' in by) bytes[at % bytes.length]! ^= 1 << by.bit;
        else if ('byte' in by) bytes[at % bytes.length] = by.byte;
        else bytes = bytes.filter((_, i) => i < at || i >= at + by.cut || bytes.length < 16);
      }
      const start = usedMs();
      const code = codeOf(bytes);
      slowestMs = Math.max(slowestMs, usedMs() - start);
      expect([undefined, 'CORRUPT']).toContain(code);
    }),
    { seed: 20261120, numRuns: 1000 },
  );
  expect(slowestMs).toBeLessThan(2000);
});
