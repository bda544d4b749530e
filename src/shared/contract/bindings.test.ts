import { expect, test } from 'vitest';
import { convertBinding } from './bindings.ts';

test('[SQL4] strings and numbers stay, null and undefined are null', () => {
  expect(['x', 1.5, Number.NaN, null, undefined].map(convertBinding)).toEqual([
    'x',
    1.5,
    Number.NaN,
    null,
    null,
  ]);
});

test('[SQL4] bytes stay the same bytes', () => {
  const buffer = new ArrayBuffer(2);
  const view = new Uint16Array(buffer);
  expect(convertBinding(buffer)).toBe(buffer);
  expect(convertBinding(view)).toBe(view);
  expect(convertBinding(new SharedArrayBuffer(3))).toMatchObject({ byteLength: 3 });
});

test('[SQL4] everything else is its string; valueOf is not asked', () => {
  const object = { valueOf: () => 5, toString: () => 'five' };
  expect([true, object, [1, 2], new Date(Number.NaN)].map(convertBinding)).toEqual([
    'true',
    'five',
    '1,2',
    'Invalid Date',
  ]);
});

test("[SQL4] a value that cannot be bound is a TypeError, the program's own error is thrown", () => {
  for (const value of [1n, Symbol('x')]) {
    expect(() => convertBinding(value)).toThrow(
      expect.objectContaining({ name: 'TypeError', code: 'INVALID_ARGUMENT' }),
    );
  }
  expect(() => convertBinding(Object.create(null))).toThrow(TypeError);
  const throwing = {
    toString() {
      throw new RangeError('mine');
    },
  };
  expect(() => convertBinding(throwing)).toThrow(RangeError);
});
