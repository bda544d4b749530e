import { expect, test } from 'vitest';
import { entriesIn, entryChunks, RowPacker, rowChunks, rowsIn } from './bulk.ts';

const json = (text: string) => new TextEncoder().encode(text);
const malformed = expect.objectContaining({
  code: 'INVALID_ARGUMENT',
  message: expect.stringMatching(/^Malformed message: /),
});

test.for<[string, string, number, number, unknown[]]>([
  ['no JSON', '[1', 1, 1, []],
  ['no array', '{"length":1}', 1, 1, []],
  ['too few values', '[1]', 2, 1, []],
  ['a value beyond the rows', '[1]', 1, 1, [[1, 2]]],
  ['a list', '[[1]]', 1, 1, []],
  ['an object', '[{}]', 1, 1, []],
  ['true', '[true]', 1, 1, []],
  ['text in the place of an odd value', '[null]', 1, 1, [[0, 'text']]],
])('[BULK9] a chunk of rows with %s is refused', ([, text, count, width, odd]) => {
  const read = () => [
    ...rowsIn(rowChunks('chunks', [{ count, json: json(text), odd }], 'execMany'), width),
  ];
  expect(read).toThrow(malformed);
});

test.for<[string, string[], number[], number]>([
  ['fewer ends than keys', ['a', 'b'], [1], 1],
  ['ends that go back', ['a', 'b'], [2, 1], 2],
  ['an end beyond the bytes', ['a'], [2], 1],
  ['a value that is too large', ['a'], [131_072 + 33], 131_072 + 33],
])('[BULK9] a chunk of entries with %s is refused', ([, keys, ends, size]) => {
  const chunk = { keys, ends, bytes: new Uint8Array(size) };
  expect(() => entryChunks('chunks', [chunk], 'putMany')).toThrow(malformed);
});

test('[BULK9] entries lie in their bytes, one after the other', () => {
  const chunk = { keys: ['a', 'b', 'c'], ends: [1, 1, 3], bytes: new Uint8Array([1, 2, 3]) };
  const entries = entriesIn(entryChunks('chunks', [chunk], 'putMany'));
  expect(entries.map(([key, value]) => [key, ...value])).toEqual([['a', 1], ['b'], ['c', 2, 3]]);
});

test('[BULK9] more than 128 MiB in one call is MESSAGE_TOO_LARGE', () => {
  const packer = new RowPacker();
  const add = (sizeBytes: number) => {
    packer.add([new Uint8Array(sizeBytes)]);
    packer.take();
  };
  // A chunk also has some bytes of JSON, so four of these nearly fill the 128 MiB of a call.
  for (let i = 0; i < 4; i++) add(2 ** 25 - 64);
  expect(() => add(256)).toThrow(expect.objectContaining({ code: 'MESSAGE_TOO_LARGE' }));
});
