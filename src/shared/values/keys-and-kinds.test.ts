// Tests which keys are written as numbers, which elements as holes, and the kinds of objects that imitate others.

import { serialize as v8Serialize } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { deserialize } from './decode.ts';
import { serialize } from './encode.ts';
import { NESTING_DEPTH_MAX } from './wire.ts';

const roundTrip = <Value>(value: Value) => deserialize(serialize(value)) as Value;
const hexOf = (value: unknown) => Buffer.from(serialize(value)).toString('hex');
const v8Hex = (value: unknown) => v8Serialize(value).toString('hex');

function refusalOf(value: unknown): Error {
  try {
    serialize(value);
  } catch (error) {
    return error as Error;
  }
  throw new Error('nothing was thrown');
}

describe('[VAL4] a key is written as V8 writes it', () => {
  const keys = ['0', '5', '9', '10', '4294967294', '4294967295', '4294967296', '99999999999'];
  const texts = [
    '0.5',
    '1.5',
    '01',
    '-0',
    '-1',
    '1e3',
    '9a',
    'a9',
    ' 1',
    ':',
    '/',
    '',
    'undefined',
    '__proto',
  ];
  for (const key of [...keys, ...texts]) {
    test(JSON.stringify(key), () => {
      expect(hexOf({ [key]: 1 })).toBe(v8Hex({ [key]: 1 }));
      expect(hexOf({ 3: 0, [key]: 1, z: 2 })).toBe(v8Hex({ 3: 0, [key]: 1, z: 2 }));
    });
  }
});

describe('[VAL1] the elements of an array', () => {
  test('that are undefined are no holes, and holes are not undefined', () => {
    expect(roundTrip([undefined, null])).toStrictEqual([undefined, null]);
    expect(roundTrip([1, undefined])).toStrictEqual([1, undefined]);
    expect(roundTrip(new Array(3))).toStrictEqual(new Array(3));
    expect(hexOf([undefined])).toBe(v8Hex([undefined]));
  });

  test('that a getter removed are holes', () => {
    const array: unknown[] = [0, 'b', 'c'];
    Object.defineProperty(array, 0, {
      enumerable: true,
      get: () => {
        array.length = 1;
        return 'a';
      },
    });
    const read = roundTrip(array);
    expect([read.length, read[0], Object.keys(read)]).toEqual([3, 'a', ['0']]);
  });

  test('are null, objects and everything else, in one array', () => {
    const value = [null, {}, [], 1, 'x', undefined, new Map([[null, null]]), new Set([null, {}])];
    expect(roundTrip(value)).toStrictEqual(value);
  });
});

describe('[VAL1] a getter runs once', () => {
  test.each([
    ['of an index', (get: () => number) => Object.defineProperty({}, 0, { get, enumerable: true })],
    ['of an empty array', (get) => Object.defineProperty([], 'a', { get, enumerable: true })],
    ['of an array', (get) => Object.defineProperty([1], 'a', { get, enumerable: true })],
  ] as [string, (get: () => number) => object][])('%s', (_, make) => {
    let runs = 0;
    const value = make(() => ++runs);
    serialize(value);
    expect(runs).toBe(1);
  });
});

describe('[VAL1] siblings count for nothing in the depth of nesting', () => {
  test.each([
    ['objects', () => ({ a: 1 })],
    ['arrays', () => [1]],
    ['maps', () => new Map()],
    ['dates', () => new Date(0)],
    ['errors', () => new Error('m')],
    ['views', () => new Uint8Array(1)],
  ] as [string, () => object][])('%s', (_, make) => {
    const value = Array.from({ length: NESTING_DEPTH_MAX + 10 }, make);
    expect(roundTrip(value)).toHaveLength(value.length);
  });
});

/** Makers of built-ins that have internal slots. */
const BUILT_INS: readonly (readonly [string, () => object])[] = [
  ['a date', () => new Date(5)],
  ['a regular expression', () => /x/g],
  ['a boxed number', () => Object(-1.5)],
  ['a boxed string', () => Object('')],
  ['a boxed boolean', () => Object(true)],
  ['a boxed bigint', () => Object(3n)],
  ['a map', () => new Map([[1, 2]])],
  ['a set', () => new Set([1])],
  ['a buffer', () => new ArrayBuffer(2)],
];

describe('[VAL1] a built-in is stored as its own kind', () => {
  test.each(BUILT_INS)('%s with properties of its own, without them', (_, make) => {
    expect(roundTrip(Object.assign(make(), { own: 1 }))).toStrictEqual(make());
  });

  test.each(BUILT_INS.slice(0, 5))('%s whose prototype was replaced', (_, make) => {
    for (const prototype of [null, Object.prototype]) {
      expect(roundTrip(Object.setPrototypeOf(make(), prototype))).toStrictEqual(make());
    }
  });

  test('one whose prototype was replaced, and that shows properties, as these', () => {
    for (const name of ['a', '$', 'z']) {
      const date = Object.assign(Object.setPrototypeOf(new Date(5), null), { [name]: 1 });
      expect(roundTrip(date)).toStrictEqual({ [name]: 1 });
    }
  });

  test('a fraction as a key is the same key again', () => {
    expect(roundTrip({ '1.5': 1, 2: 2 })).toStrictEqual({ '1.5': 1, 2: 2 });
  });

  test('errors of every class, native and own', () => {
    class Mine extends RangeError {}
    const errors = [new TypeError('m'), new AggregateError([], 'm'), new Mine('m')];
    const classes = roundTrip(errors).map((error) => error.constructor);
    expect(classes).toEqual([TypeError, AggregateError, RangeError]);
    const exception = roundTrip(new DOMException('m', 'AbortError'));
    expect([exception.constructor, exception.name]).toEqual([DOMException, 'AbortError']);
    class Aborted extends DOMException {}
    expect(roundTrip(new Aborted('m', 'AbortError'))).toBeInstanceOf(DOMException);
  });
});

test('[VAL1] an object that only inherits from a built-in is a plain object', () => {
  const classes = [
    Date,
    RegExp,
    Number,
    String,
    Boolean,
    BigInt,
    Map,
    Set,
    ArrayBuffer,
    SharedArrayBuffer,
    DOMException,
    Headers,
    Request,
    Response,
    Blob,
  ];
  for (const { prototype } of classes) {
    expect(roundTrip(Object.create(prototype, { a: { value: 1, enumerable: true } }))).toEqual({
      a: 1,
    });
  }
});

describe('[VAL3] the message of a refusal names', () => {
  test.each([
    ['a function', function named() {}, 'function named could not be cloned.'],
    ['a symbol', Symbol('x'), 'Symbol(x) could not be cloned.'],
    ['a promise', Promise.resolve(), '#<Promise> could not be cloned.'],
    [
      'a class of the platform',
      new (class Mine extends WeakMap {})(),
      '#<Mine> could not be cloned.',
    ],
    [
      'empty arguments',
      (function () {
        // biome-ignore lint/complexity/noArguments: the object itself is tested
        return arguments;
      })(),
      '#<Object> could not be cloned.',
    ],
  ] as [string, unknown, string][])('%s', (_, value, message) => {
    expect(refusalOf(value)).toMatchObject({ name: 'DataCloneError', message });
  });

  test('a detached buffer, and a view that lies outside of its buffer', () => {
    const buffer = new ArrayBuffer(8, { maxByteLength: 8 });
    const view = new Uint8Array(buffer, 4, 4);
    buffer.resize(2);
    expect(refusalOf(view).message).toBe('#<Uint8Array> lies outside its buffer.');
    structuredClone(buffer, { transfer: [buffer] });
    expect(refusalOf(buffer).message).toBe('#<ArrayBuffer> is detached and could not be cloned.');
  });

  test('an object of the platform without a name of its own', () => {
    const nameless = Object.setPrototypeOf(new WeakMap(), Object.create(WeakMap.prototype));
    expect(refusalOf(nameless).message).toBe('#<Object> could not be cloned.');
  });

  test('a view whose prototype was replaced by that of a plain object', () => {
    for (const length of [0, 2]) {
      const view = Object.setPrototypeOf(new Uint8Array(length), Object.prototype);
      expect(refusalOf(view).message).toBe('#<Object> could not be cloned.');
    }
  });

  test('nothing of the object’s own making', () => {
    class Liar extends WeakMap {}
    Object.defineProperty(Liar, 'name', { get: () => expect.unreachable() });
    expect(refusalOf(new Liar()).name).toBe('DataCloneError');
  });
});

describe('[VAL1] an object of another realm is stored as the same of this one', () => {
  test.each([
    ['({ a: 1 })', { a: 1 }],
    ['[1, 2]', [1, 2]],
    ['new Map([[1, 2]])', new Map([[1, 2]])],
    ['new Set([1])', new Set([1])],
    ['new Date(5)', new Date(5)],
    ['/x/g', /x/g],
    ['Object(1)', Object(1)],
    ['new Uint8Array([1])', new Uint8Array([1])],
    ['new (class Mine { b = 2 })()', { b: 2 }],
  ] as [string, unknown][])('%s', (code, value) => {
    expect(roundTrip(runInNewContext(code))).toStrictEqual(value);
  });

  test('errors, and values that cannot be stored', () => {
    const stored = roundTrip(runInNewContext("new TypeError('m')"));
    expect(stored).toBeInstanceOf(TypeError);
    expect(stored).toMatchObject({ name: 'TypeError', message: 'm' });
    for (const code of ['new WeakMap()', 'Promise.resolve()', "new Intl.NumberFormat('en')"]) {
      expect(refusalOf(runInNewContext(code)).name).toBe('DataCloneError');
    }
  });
});

test('[VAL3] after a refusal, the next value is stored', () => {
  expect(refusalOf([{}, new Proxy({}, {})]).name).toBe('DataCloneError');
  expect(roundTrip([{}, []])).toStrictEqual([{}, []]);
});
