import { expect, test } from 'vitest';
import { convertBinding, ownBytes } from './bindings.ts';

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
});

test('[SQL4] shared memory is bound as its bytes', () => {
  const shared = new SharedArrayBuffer(3);
  new Uint8Array(shared).set([1, 2, 3]);
  expect(convertBinding(shared)).toEqual(new Uint8Array(shared));
  expect([...(convertBinding(shared) as Uint8Array)]).toEqual([1, 2, 3]);
});

test('[PAGE3] the copy of a binding has its bytes alone, and does not change with them', () => {
  const shared = new SharedArrayBuffer(4);
  const bytes = [new Uint8Array([0, 1, 2, 0]).subarray(1, 3), new Uint8Array(shared, 1, 2)];
  bytes[1]!.set([1, 2]);
  for (const given of [...bytes, new DataView(bytes[0]!.buffer, 1, 2), bytes[0]!.slice().buffer]) {
    const copy = ownBytes(convertBinding(given)) as Uint8Array<ArrayBuffer>;
    new Uint8Array(ArrayBuffer.isView(given) ? given.buffer : given).fill(9);
    expect([...copy]).toEqual([1, 2]);
    expect(copy.buffer).toBeInstanceOf(ArrayBuffer);
    expect(copy.buffer.byteLength).toBe(2);
    bytes[0]!.set([1, 2]);
  }
  expect([1.5, 'x', null].map(ownBytes)).toEqual([1.5, 'x', null]);
  expect(ownBytes(new ArrayBuffer(0))).toEqual(new Uint8Array());
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
