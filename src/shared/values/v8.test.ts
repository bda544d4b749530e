// Compares with V8's own serializer: the bytes, where V8 leaves no choice, and random values that one writes and the other
// reads.

import { isDeepStrictEqual } from 'node:util';
import { Deserializer, Serializer } from 'node:v8';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deserialize } from './decode.ts';
import { serialize } from './encode.ts';

function nativeSerialize(value: unknown): Buffer {
  const serializer = new Serializer();
  serializer.writeHeader();
  serializer.writeValue(value);
  return serializer.releaseBuffer();
}

function nativeDeserialize(bytes: Uint8Array): unknown {
  const deserializer = new Deserializer(bytes);
  deserializer.readHeader();
  return deserializer.readValue();
}

const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

describe('[VAL4] V8 writes the same bytes for', () => {
  const shared = { x: 1 };
  const circular: Record<string, unknown> = { n: 1 };
  circular.self = circular;
  const values: Record<string, unknown> = {
    null: null,
    undefined: undefined,
    booleans: [true, false],
    integers: [0, 1, -1, 63, 64, -64, -65, 8191, 8192, 2 ** 30 - 1, -(2 ** 30)],
    doubles: [-0, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 40, 5e-324],
    bigints: [0n, -1n, 2n ** 63n, 2n ** 64n, -(2n ** 640n)],
    strings: ['', 'a', 'é', '€', '😀', '\ud800', 'x'.repeat(127), 'x'.repeat(128), 'ж'.repeat(64)],
    dates: [new Date(0), new Date(Number.NaN)],
    'regular expressions': [/x/, /a\/b/dgimsuy, /(?:)/],
    'boxed primitives': [Object(1), Object('s'), Object(true), Object(false), Object(1n)],
    objects: { a: 1, 2: 3, b: { c: undefined }, 4294967294: 1, 4294967295: 2, 'not ascii é': 1 },
    'an own __proto__': JSON.parse('{"__proto__":1}'),
    arrays: [[], [1, 'a', null], [1.5, 2.5], [[], [{}]]],
    'arrays with properties': Object.assign([1], { foo: 1 }),
    'arrays with holes': Object.assign(new Array(5), { 1: 1, foo: 2 }),
    maps: new Map<unknown, unknown>([
      ['a', 1],
      [{}, new Map()],
    ]),
    sets: new Set([1, new Set(['x'])]),
    'shared references': [shared, shared, [shared]],
    'circular references': circular,
    buffers: [new ArrayBuffer(3), new Uint8Array([1, 2]), new Float64Array([0.5, 1])],
    'parts of one buffer': [
      new Uint8Array(new ArrayBuffer(8), 2, 3),
      new DataView(new ArrayBuffer(4), 1),
    ],
    'resizable buffers': [
      new ArrayBuffer(2, { maxByteLength: 8 }),
      new Uint8Array(new ArrayBuffer(2, { maxByteLength: 8 })),
      new Uint8Array(new ArrayBuffer(2, { maxByteLength: 8 }), 1, 1),
    ],
  };
  for (const [name, value] of Object.entries(values)) {
    // V8 serializes now, before the tests run: it may later change the internal kind of an array to a holey one, which it
    // writes as a sparse array.
    const native = hexOf(nativeSerialize(value));
    test(name, () => {
      expect(hexOf(serialize(value))).toBe(native);
    });
  }
});

const key = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 5 }),
  fc.nat(20).map(String),
  fc.constantFrom('4294967294', '4294967295', '01', '-1', 'constructor', '__proto__', ''),
);

const leaf = fc.oneof(
  fc.constantFrom<unknown>(null, undefined, true, false, -0, Number.NaN, Number.NEGATIVE_INFINITY),
  fc.integer(),
  fc.double(),
  fc.bigInt({ min: -(2n ** 130n), max: 2n ** 130n }),
  fc.string({ maxLength: 100 }),
  fc.string({ unit: 'binary', maxLength: 100 }),
  // Code units of every kind, lone surrogates too.
  fc.array(fc.nat(0xffff), { maxLength: 80 }).map((units) => String.fromCharCode(...units)),
  fc.array(fc.nat(0xff), { maxLength: 80 }).map((units) => String.fromCharCode(...units)),
  fc.date({ noInvalidDate: true }),
  fc.constantFrom(/a/g, /[\]/]/imsuy, /€/d),
  fc.oneof(fc.double(), fc.string(), fc.boolean(), fc.bigInt()).map((value) => Object(value)),
  fc.uint8Array({ maxLength: 20 }),
  fc.int16Array({ maxLength: 20 }),
  fc.float64Array({ maxLength: 5 }),
  fc.bigInt64Array({ maxLength: 3 }),
  fc.uint8Array({ minLength: 8, maxLength: 8 }).map(({ buffer }) => new DataView(buffer, 3, 4)),
);

const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof({ depthSize: 'small', withCrossShrink: true }, leaf, tie('container')),
  container: fc.oneof(
    fc.array(tie('tree'), { maxLength: 6 }),
    fc.dictionary(key, tie('tree'), { maxKeys: 6, noNullPrototype: true }),
    fc.array(fc.tuple(tie('tree'), tie('tree')), { maxLength: 4 }).map((list) => new Map(list)),
    fc.array(tie('tree'), { maxLength: 4 }).map((list) => new Set(list)),
    fc
      .tuple(fc.array(tie('tree'), { maxLength: 4 }), fc.array(fc.nat(12), { maxLength: 3 }), key)
      .map(([list, holes, name]) => {
        for (const hole of holes) list[hole + 1] ??= hole;
        return Object.assign(list, { [`.${name}`]: 1 });
      }),
  ),
}));

/** Makes random values in which some containers refer to others, so that objects are shared and circular. */
const graph = fc
  .tuple(tree, fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 4 }))
  .map(([value, links]) => {
    const containers = containersOf(value);
    if (containers.length > 0) {
      links.forEach(([from, to], i) => {
        const source = containers[from % containers.length];
        const target = containers[to % containers.length];
        if (Array.isArray(source)) source.push(target);
        else if (source instanceof Map) source.set(`link ${i}`, target);
        else if (source instanceof Set) source.add(target);
        else (source as Record<string, unknown>)[`link ${i}`] = target;
      });
    }
    return value;
  });

function containersOf(value: unknown, found: unknown[] = []): unknown[] {
  if (value instanceof Map) {
    found.push(value);
    for (const [name, member] of value) {
      containersOf(name, found);
      containersOf(member, found);
    }
  } else if (value instanceof Set || Array.isArray(value)) {
    found.push(value);
    for (const member of value) containersOf(member, found);
  } else if (
    typeof value === 'object' &&
    value &&
    Object.getPrototypeOf(value) === Object.prototype
  ) {
    found.push(value);
    for (const member of Object.values(value)) containersOf(member, found);
  }
  return found;
}

const RUNS = { seed: 20261120, numRuns: 2000 };

describe('[VAL4] random values', () => {
  test('written here are read by V8', () => {
    fc.assert(
      fc.property(graph, (value) => {
        const bytes = serialize(value);
        const read = nativeDeserialize(bytes);
        // Writing once more shows differences that equality overlooks: references, zeros, holes,
        // offsets.
        expect(hexOf(serialize(read))).toBe(hexOf(bytes));
        expect(isDeepStrictEqual(read, value)).toBe(true);
      }),
      RUNS,
    );
  });

  test('written by V8 are read here', { tags: 'long' }, () => {
    fc.assert(
      fc.property(graph, (value) => {
        const read = deserialize(nativeSerialize(value));
        expect(hexOf(serialize(read))).toBe(hexOf(serialize(value)));
        expect(isDeepStrictEqual(read, value)).toBe(true);
      }),
      RUNS,
    );
  });
});
