import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fingerprintOf, lineOf, literalOf, membersOf, parseLiteral } from './stored-value.ts';

test('[INSP2] an edit of one member does not change the value, and copies its other members', () => {
  const date = new Date(7);
  const values: unknown[] = [
    { a: 1, b: date },
    [1, date],
    new Map<string, unknown>([
      ['a', 1],
      ['b', date],
    ]),
    new Set<unknown>([1, date]),
  ];
  for (const value of values) {
    const before = fingerprintOf(value);
    const [first] = membersOf(value);
    const edited = first!.replaced!('new');
    expect(fingerprintOf(value)).toBe(before);
    expect(Object.getPrototypeOf(edited)).toBe(Object.getPrototypeOf(value));
    expect(membersOf(edited).map((member) => member.value)).toEqual(['new', date]);
    expect(membersOf(edited).map(({ name }) => name)).toEqual(
      membersOf(value).map(({ name }) => name),
    );
  }
  for (const leaf of [null, 1, 'a', date, /x/, new Uint8Array(2), new Error('x')]) {
    expect(membersOf(leaf)).toEqual([]);
  }
});

test('[INSP2] an edit of an array keeps its holes and its named properties', () => {
  const items = Object.assign(['a', 'b'], { index: 7 });
  items.length = 4_294_967_295;
  const [first, ...others] = membersOf(items);
  expect(others.map(({ name, value }) => [name, value])).toEqual([
    ['1', 'b'],
    ['index', 7],
  ]);
  const edited = first!.replaced!('new') as typeof items;
  expect(Object.entries(edited)).toEqual([
    ['0', 'new'],
    ['1', 'b'],
    ['index', 7],
  ]);
  expect(edited.length).toBe(items.length);
  expect(lineOf(items)).toBe('["a", "b", index: 7]');
  expect(fingerprintOf(['a', 'b'])).not.toBe(fingerprintOf(items));
});

test('[INSP2] each object of a value is read once, although many members refer to it', () => {
  let reads = 0;
  let value: object = { end: true };
  for (let i = 0; i < 16; i++) {
    const next = value;
    const read = () => {
      reads++;
      return next;
    };
    value = Object.defineProperties(
      {},
      { one: { get: read, enumerable: true }, other: { get: read, enumerable: true } },
    );
  }
  fingerprintOf(value);
  expect(reads).toBe(32);
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  expect(fingerprintOf(cyclic)).not.toBe(fingerprintOf({ self: {} }));
  expect(fingerprintOf(cyclic)).toBe(fingerprintOf(structuredClone(cyclic)));
});

test('[INSP2] a value written as text to edit reads as the same value', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.jsonValue(), fc.bigInt(), fc.date({ noInvalidDate: true })),
      (value) => {
        const literal = literalOf(value);
        if (literal === null) expect(fingerprintOf(value)).toContain('-0');
        else expect(fingerprintOf(parseLiteral(literal))).toBe(fingerprintOf(value));
      },
    ),
  );
  for (const value of [Number.NaN, -0, undefined, new Uint8Array(1), new Map(), { a: 1n }, /x/]) {
    expect(literalOf(value)).toBe(null);
  }
  for (const text of ['', '{', 'new Date("never")', 'alert(1)', '12m']) {
    expect(() => parseLiteral(text)).toThrow(SyntaxError);
  }
});

test('[INSP5] values are told apart by content and type, not by identity', () => {
  const different: unknown[] = [
    1,
    1n,
    '1',
    0,
    -0,
    null,
    undefined,
    [1],
    [[1]],
    { 0: 1 },
    new Set([1]),
    new Map([[0, 1]]),
    new Date(1),
    new Uint8Array([1]),
    new Int8Array([1]),
    new Uint8Array([1]).buffer,
    new Error('1'),
  ];
  const texts = different.map((value) => fingerprintOf(value));
  expect(new Set(texts).size).toBe(different.length);
  expect(different.map((value) => fingerprintOf(structuredClone(value)))).toEqual(texts);
});

test('[INSP5] a value is written on one line, with its types', () => {
  const value = {
    name: 'Ada',
    tags: new Set(['a']),
    by: new Map([['x', [1, 2n]]]),
    at: new Date(0),
  };
  expect(lineOf(value)).toBe(
    '{name: "Ada", tags: Set(1) ["a"], by: Map(1) {x: [1, 2n]}, at: 1970-01-01T00:00:00.000Z}',
  );
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  expect(lineOf(cyclic)).toContain('Object');
  expect(lineOf('x'.repeat(9999)).length).toBeLessThan(300);
});
