// The equality of buffers in unit tests.

import { expect, test } from 'vitest';

test('buffers and views of them are equal only if their bytes are', () => {
  const buffer = (...bytes: number[]) => Uint8Array.from(bytes).buffer;
  const view = (...bytes: number[]) => new DataView(buffer(9, ...bytes), 1);
  const shared = (...bytes: number[]) => {
    const made = new SharedArrayBuffer(bytes.length);
    new Uint8Array(made).set(bytes);
    return made;
  };
  const array = (...bytes: number[]) => Uint8Array.from(bytes);
  for (const make of [buffer, view, shared, array]) {
    expect([{ a: make(1, 2) }]).toEqual([{ a: make(1, 2) }]);
    expect([make(), make(1, 2)]).toMatchObject([make(), make(1, 2)]);
    for (const other of [make(1, 3), make(1), make(1, 2, 0)]) {
      expect([{ a: make(1, 2) }]).not.toEqual([{ a: other }]);
      expect({ a: make(1, 2) }).not.toMatchObject({ a: other });
    }
  }
  expect(buffer(1)).not.toEqual(shared(1));
  expect(buffer(1)).not.toEqual(array(1));
  expect(Buffer.of(1)).toEqual(array(1));
});
