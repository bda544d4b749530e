// Tests which values can be stored, in which form, and which are refused.

import { openAsBlob } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { deserialize } from './decode.ts';
import { serialize } from './encode.ts';
import { refuseToClone } from './object-kind.ts';
import { NESTING_DEPTH_MAX } from './wire.ts';

const roundTrip = <Value>(value: Value) => deserialize(serialize(value)) as Value;
const hexOf = (value: unknown) => Buffer.from(serialize(value)).toString('hex');

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

class Point {
  x = 1;
  #secret = 2;
  get secret() {
    return this.#secret;
  }
}

const argumentsOf = (...list: unknown[]) =>
  function () {
    // biome-ignore lint/complexity/noArguments: the object itself is tested
    return arguments;
  }.apply(undefined, list as []);

const detached = () => {
  const buffer = new ArrayBuffer(4);
  structuredClone(buffer, { transfer: [buffer] });
  return buffer;
};

const outside = () => {
  const buffer = new ArrayBuffer(8, { maxByteLength: 8 });
  const view = new Uint8Array(buffer, 4, 4);
  buffer.resize(6);
  return view;
};

const wrapped = <Value extends object>(value: Value) => new Proxy(value, {});
const revoked = (value: object) => {
  const { proxy, revoke } = Proxy.revocable(value, {});
  revoke();
  return proxy;
};

describe('[VAL1] a value comes back equal', () => {
  const values: Record<string, unknown> = {
    'negative zero': -0,
    'not a number': Number.NaN,
    'a huge bigint': -(3n ** 500n),
    'a lone surrogate': 'a\udc00b',
    'a long string of one lone surrogate': `${'x'.repeat(100)}\ud800`,
    'a long ASCII string': 'abc'.repeat(1000),
    'a long Latin-1 string with controls': '\u0080\u0081\u009fé'.repeat(100),
    'a string that holds U+FFFD': '\ufffd'.repeat(100),
    'a string that begins with a byte order mark': `\ufeff${'ж'.repeat(100)}`,
    'an invalid date': new Date(Number.NaN),
    'a date': new Date(8.64e15),
    'a regular expression': /a\/[b\]]+/dgimsuy,
    'boxed primitives': [Object(-0), Object(''), Object(false), Object(0n)],
    'a map with objects as keys': new Map<unknown, unknown>([
      [{ a: 1 }, new Set([Number.NaN])],
      [-0, 1],
    ]),
    'an array with holes and properties': Object.assign(new Array(5), { 1: 'one', foo: 'bar' }),
    'a member that is undefined': { a: undefined },
    'index keys in order': { 2: 'b', 1: 'a', z: 1, '01': 2 },
    'an own property called __proto__': JSON.parse('{"__proto__":{"x":1}}'),
    'typed arrays': [
      new Int8Array(3),
      new Float64Array([0.1]),
      new BigUint64Array([2n ** 64n - 1n]),
    ],
  };
  for (const [name, value] of Object.entries(values)) {
    test(name, () => {
      expect(roundTrip(value)).toStrictEqual(value);
    });
  }

  test('a sparse array of the greatest length', () => {
    const array: unknown[] = [];
    array[2 ** 32 - 2] = 'last';
    const read = roundTrip(array);
    expect([read.length, read[2 ** 32 - 2], Object.keys(read).length]).toEqual([
      2 ** 32 - 1,
      'last',
      1,
    ]);
  });

  test('shared and circular references', () => {
    const shared = { x: 1 };
    const value: Record<string, unknown> = { first: shared, second: [shared] };
    value.self = value;
    const read = roundTrip(value) as { first: object; second: object[]; self: object };
    expect(read.second[0]).toBe(read.first);
    expect(read.self).toBe(read);
  });

  test('views of one buffer, in any order with it', () => {
    const { buffer } = new Uint8Array([1, 2, 3, 4]);
    const [view, whole, other, again] = roundTrip([
      new Uint8Array(buffer, 1, 2),
      buffer,
      new DataView(buffer, 2),
      buffer,
    ] as const);
    expect(view.buffer).toBe(whole);
    expect(other.buffer).toBe(whole);
    expect(again).toBe(whole);
    expect([view.byteOffset, view.length, other.byteOffset]).toEqual([1, 2, 2]);
  });

  test('one view twice', () => {
    const view = new Uint8Array(2);
    const [first, second] = roundTrip([view, view] as const);
    expect(first).toBe(second);
  });

  test('a subclass of an array or a map as the built-in itself', () => {
    class List extends Array<number> {}
    class Index extends Map<string, number> {}
    const [list, index] = roundTrip([List.from([1, 2]), new Index([['a', 1]])]);
    expect(list).toStrictEqual([1, 2]);
    expect(index).toStrictEqual(new Map([['a', 1]]));
  });
});

describe('[VAL1] views of a resizable buffer', () => {
  const resizable = (length: number) => new ArrayBuffer(length, { maxByteLength: 16 });

  test('follow the end of the buffer if they did', () => {
    const follows = [8, 7, 2, 1, 0].map((length) => {
      const original = new Uint16Array(new ArrayBuffer(16, { maxByteLength: 16 }));
      original.fill(0x0101);
      original.buffer.resize(length);
      const view = roundTrip(original);
      expect(new Uint8Array(view.buffer)).toEqual(new Uint8Array(length).fill(1));
      (view.buffer as ArrayBuffer).resize(16);
      return view.length;
    });
    expect(follows).toEqual([8, 8, 8, 8, 8]);
  });

  test('keep their length if they had one', () => {
    const views = [
      new Uint8Array(resizable(8), 4, 4),
      new Uint8Array(resizable(8), 0, 4),
      new Uint16Array(resizable(7), 0, 3),
      new Uint8Array(resizable(0), 0, 0),
      new DataView(resizable(8), 2, 6),
    ];
    const lengths = views.map((view) => {
      const read = roundTrip(view);
      (read.buffer as ArrayBuffer).resize(16);
      return read.byteLength;
    });
    expect(lengths).toEqual([4, 4, 6, 0, 6]);
  });

  test('and the buffer are the same after they were written', () => {
    const buffer = resizable(4);
    const view = new Uint8Array(buffer);
    view.set([1, 2, 3, 4]);
    serialize([view, new DataView(buffer)]);
    expect([...view]).toEqual([1, 2, 3, 4]);
  });

  test('keep the length the buffer may grow to', () => {
    const read = roundTrip(resizable(4));
    expect([read.resizable, read.byteLength, read.maxByteLength]).toEqual([true, 4, 16]);
  });
});

describe('[VAL1] an object', () => {
  test('of a class becomes a plain object of its own enumerable properties', () => {
    const read = roundTrip(new Point());
    expect(read).toStrictEqual({ x: 1 });
  });

  test('of a class without properties becomes an empty object', () => {
    class Empty {
      #x = 1;
      get x() {
        return this.#x;
      }
    }
    expect(roundTrip(new Empty())).toStrictEqual({});
  });

  test('runs each getter once', () => {
    let runs = 0;
    const value = {
      get a() {
        return ++runs;
      },
      list: Object.defineProperty([0], 0, { get: () => ++runs, enumerable: true }),
    };
    expect(roundTrip(value)).toStrictEqual({ a: 1, list: [2] });
    expect(runs).toBe(2);
  });

  test('is stored without members that a getter deleted or added', () => {
    const value = {
      get a() {
        delete (value as { b?: number }).b;
        (value as { z?: number }).z = 9;
        return 1;
      },
      b: 2,
      c: 3,
    };
    expect(roundTrip(value)).toStrictEqual({ a: 1, c: 3 });
  });

  test("throws its getter's error, and the next value is written as usual", () => {
    const before = hexOf({ a: [1] });
    const mistake = new Error('mine');
    const value = {
      a: {},
      get b() {
        throw mistake;
      },
    };
    expect(thrownBy(() => serialize(value))).toBe(mistake);
    expect(hexOf({ a: [1] })).toBe(before);
  });

  test('may serialize another inside a getter', () => {
    const inner = { deep: [1, 2, 3] };
    const value = {
      before: 'b',
      get nested() {
        return serialize(inner);
      },
      after: 'a',
    };
    const read = roundTrip(value);
    expect(deserialize(read.nested)).toStrictEqual(inner);
    expect([read.before, read.after]).toEqual(['b', 'a']);
  });

  test('that only inherits from a built-in is a plain object', () => {
    const values = [Map, Error, Date, RegExp].map((type) => Object.create(type.prototype));
    expect(roundTrip(values)).toStrictEqual([{}, {}, {}, {}]);
    expect(roundTrip(RegExp.prototype)).toStrictEqual({});
  });

  test('keeps its kind, whatever its prototype was replaced by', () => {
    const error = Object.setPrototypeOf(new TypeError('m'), null);
    const date = Object.setPrototypeOf(new Date(5), Object.prototype);
    const bytes = Object.setPrototypeOf(new Uint8Array([7]), null);
    expect(roundTrip(error)).toBeInstanceOf(Error);
    expect(roundTrip(date)).toStrictEqual(new Date(5));
    expect(roundTrip(bytes)).toStrictEqual(new Uint8Array([7]));
  });

  test('may have any name', () => {
    expect(roundTrip({ [Symbol.toStringTag]: 'Map', a: 1 })).toStrictEqual({ a: 1 });
  });

  test('nested too deeply is a RangeError; a flatter value can be read again', () => {
    const wraps: readonly ((value: unknown) => unknown)[] = [
      (value) => ({ value }),
      (value) => [value],
      (value) => new Map([[1, value]]),
      (value) => new Set([value]),
    ];
    for (const wrap of wraps) {
      let value: unknown = 'leaf';
      for (let i = 0; i < NESTING_DEPTH_MAX; i++) value = wrap(value);
      expect(hexOf(roundTrip(value))).toBe(hexOf(value));
      const refused = new RangeError(
        `Maximum call stack size exceeded: the objects of the value are nested more than ${NESTING_DEPTH_MAX} levels deep.`,
      );
      expect(() => serialize(wrap(value))).toThrow(refused);
      for (let i = 0; i < 200_000; i++) value = wrap(value);
      expect(() => serialize(value)).toThrow(refused);
    }
  });
});

describe('[VAL2] an error', () => {
  test('keeps class, message, stack, cause and own properties', () => {
    const error = Object.assign(new RangeError('m', { cause: { why: 1 } }), { code: 'X' });
    const read = roundTrip(error) as RangeError & { code: string };
    expect(Object.getPrototypeOf(read)).toBe(RangeError.prototype);
    expect([read.message, read.stack, read.cause, read.code]).toEqual([
      'm',
      error.stack,
      { why: 1 },
      'X',
    ]);
  });

  test('of a class of its own is an Error with that name', () => {
    class Custom extends Error {
      override name = 'Custom';
    }
    const read = roundTrip(new Custom('m'));
    expect([read.name, Object.getPrototypeOf(read)]).toEqual(['Custom', Error.prototype]);
  });

  test('may refer to itself', () => {
    const error: Error & { self?: unknown } = new Error('m');
    error.self = error;
    const read = roundTrip(error);
    expect(read.self).toBe(read);
  });

  test('counts twice, with its properties, in the depth of nesting', () => {
    const chain = (length: number) => {
      let error = new Error('last');
      for (let i = 1; i < length; i++) error = new Error('m', { cause: error });
      return error;
    };
    expect(() => roundTrip(chain(NESTING_DEPTH_MAX / 2))).not.toThrow();
    expect(() => serialize(chain(NESTING_DEPTH_MAX / 2 + 1))).toThrow(RangeError);
  });

  test('with a message that is not a string stays readable', () => {
    const error = Object.assign(new Error(), { message: 5 });
    expect((roundTrip(error) as { message: unknown }).message).toBe('5');
  });

  test('with a function as a property is refused', () => {
    const error = Object.assign(new Error('m'), { run: () => 1 });
    expect(thrownBy(() => serialize(error))).toMatchObject({ name: 'DataCloneError' });
  });
});

describe('[VAL3] DataCloneError is thrown for', () => {
  const refused: Record<string, () => unknown> = {
    'a function': () => () => 1,
    'a class': () => Point,
    'a symbol': () => Symbol('x'),
    'a boxed symbol': () => Object(Symbol('x')),
    'a promise': () => Promise.resolve(),
    'a weak map': () => new WeakMap(),
    'a weak set': () => new WeakSet(),
    'a weak reference': () => new WeakRef({}),
    'a finalization registry': () => new FinalizationRegistry(() => {}),
    'a generator': () =>
      (function* () {
        yield 1;
      })(),
    'an array iterator': () => [].values(),
    'a map iterator': () => new Map().entries(),
    'an arguments object': () => argumentsOf(1, 2),
    'an empty arguments object': () => argumentsOf(),
    'a proxy of an empty object': () => wrapped({}),
    'a proxy of an empty array': () => wrapped([]),
    'a proxy of a map': () => wrapped(new Map()),
    'a proxy of a date': () => wrapped(new Date()),
    'a revoked proxy of an object': () => revoked({}),
    'a revoked proxy of an array': () => revoked([]),
    'a revoked proxy of a function': () => revoked(() => {}),
    'a detached buffer': detached,
    'a view of a detached buffer': () => {
      const view = new Uint8Array(4);
      structuredClone(view.buffer, { transfer: [view.buffer] });
      return view;
    },
    'a view outside its buffer': outside,
    'a shared buffer': () => new SharedArrayBuffer(4),
    'a view of a shared buffer': () => new Uint8Array(new SharedArrayBuffer(4)),
    'a map without its prototype': () => Object.setPrototypeOf(new Map([[1, 2]]), null),
    'a number format': () => new Intl.NumberFormat('en'),
    'memory of WebAssembly': () => new WebAssembly.Memory({ initial: 1 }),
    'a message port': () => {
      const { port1, port2 } = new MessageChannel();
      port1.close();
      port2.close();
      return port1;
    },
    'a response with a body': () => new Response('body'),
    'a request with a body': () => new Request('http://x/', { method: 'POST', body: 'body' }),
    'an aborted request': () => new Request('http://x/', { signal: AbortSignal.abort() }),
    'a file': () => new File(['x'], 'name'),
    'the global object': () => globalThis,
  };
  for (const [name, make] of Object.entries(refused)) {
    test(name, () => {
      for (const value of [make(), [make()], { deep: new Map([[1, make()]]) }]) {
        expect(thrownBy(() => serialize(value))).toMatchObject({ name: 'DataCloneError' });
      }
    });
  }

  test('an instance of a class that was declared not to be stored', () => {
    class Handle {
      open = true;
    }
    class Special extends Handle {}
    refuseToClone(Handle);
    expect(thrownBy(() => serialize(new Handle()))).toMatchObject({ name: 'DataCloneError' });
    expect(thrownBy(() => serialize(new Special()))).toMatchObject({ name: 'DataCloneError' });
  });
});

describe('[VAL3] a blob', () => {
  afterEach(() => vi.unstubAllGlobals());

  test('is refused on a page, with the way out', () => {
    vi.stubGlobal('process', undefined);
    const error = thrownBy(() => serialize(new Blob(['x']))) as Error;
    expect([error.name, error.message]).toEqual([
      'DataCloneError',
      '#<Blob> cannot be read here without waiting; store `await blob.arrayBuffer()`.',
    ]);
  });

  test('is stored with its type in Node, one after the other', async () => {
    const bytes = new Uint8Array(100_000).map((_, index) => index);
    const written = ['hé', '', bytes].map((part) => new Blob([part], { type: 'text/plain' }));
    const read = written.map((blob) => roundTrip(blob));
    expect(read.map(({ type }) => type)).toEqual(['text/plain', 'text/plain', 'text/plain']);
    expect([await read[0]!.text(), read[1]!.size]).toEqual(['hé', 0]);
    expect(new Uint8Array(await read[2]!.arrayBuffer())).toEqual(bytes);
    expect(await roundTrip(written[0]!.slice(1)).text()).toBe(await written[0]!.slice(1).text());
  });

  test('is refused where Node has no threads to ask for, too', () => {
    vi.stubGlobal('process', {});
    expect(thrownBy(() => serialize(new Blob(['x'])))).toMatchObject({ name: 'DataCloneError' });
  });

  test('of a file is refused in Node, at once', async () => {
    const file = await openAsBlob(fileURLToPath(import.meta.url));
    const wait = vi.spyOn(Atomics, 'wait');
    const error = thrownBy(() => serialize(file)) as Error;
    expect(error.name).toBe('DataCloneError');
    expect(wait).not.toHaveBeenCalled();
    wait.mockRestore();
  });

  test('is stored with its type in a worker', async () => {
    vi.stubGlobal(
      'FileReaderSync',
      class {
        readAsArrayBuffer({ size }: Blob) {
          return new TextEncoder().encode(`${size} bytes`).buffer;
        }
      },
    );
    const blob = roundTrip(new Blob(['hé'], { type: 'text/plain' }));
    expect([blob.type, await blob.text()]).toEqual(['text/plain', '3 bytes']);
  });
});
