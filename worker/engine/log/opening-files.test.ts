// Which files opening holds, and which of them are closed again.

import { beforeEach, expect, test } from 'vitest';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type { FileDirectory } from '../file/file.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { OpeningFiles } from './opening-files.ts';
import { segmentName } from './segment.ts';

let inner: MemoryDirectory;
/** Names of the files that are open now, and of all that were opened. */
let held: Set<string>;
let opened: string[];
let failing: string | undefined;
let files: OpeningFiles;

// A directory may list its files in any order.
const ORDER = [7, 3, 16, 5, 4, 6, 8];

beforeEach(async () => {
  inner = new MemoryDirectory();
  held = new Set();
  opened = [];
  failing = undefined;
  for (const name of ['main', 'other', ...ORDER.map(segmentName), 'checkpoint']) {
    (await inner.open(name)).close();
  }
  const directory: FileDirectory = {
    async open(name) {
      if (name === failing) throw storageError('IO', 'failed by the test');
      opened.push(name);
      const file = await inner.open(name);
      held.add(name);
      const close = () => {
        held.delete(name);
        file.close();
      };
      return { ...file, close };
    },
    names: () => inner.names(),
    remove: (name) => inner.remove(name),
  };
  files = new OpeningFiles(directory);
});

const names = (...numbers: number[]) => numbers.map(segmentName);
const heldNames = () => [...held].sort();

test('[LOG14] of any number of segments the first and the last two are opened, each once', async () => {
  expect(files.numbers).toEqual([]);
  await files.openFirst();
  expect(files.numbers).toEqual([3, 4, 5, 6, 7, 8, 16]);
  expect(heldNames()).toEqual(['checkpoint', ...names(3, 8, 16), 'main']);
  await files.openFrom(7);
  expect(heldNames()).toEqual(['checkpoint', ...names(3, 7, 8, 16), 'main']);
  await files.openSegments([3, 4]);
  expect(new Set(opened).size).toBe(opened.length);
  expect([files.find(4) !== null, files.find(5)]).toEqual([true, null]);
  expect(() => files.segment(5)).toThrow(
    expect.objectContaining({ code: 'INTERNAL', message: '"log-00000005" is not open.' }),
  );
  files.closeRest();
  expect(heldNames()).toEqual([]);
});

test('[LOG14] segments before the oldest are closed and removed', async () => {
  await files.openFirst();
  await files.removeBefore(5);
  expect(files.numbers).toEqual([5, 6, 7, 8, 16]);
  expect((await inner.names()).sort()).toEqual(
    ['checkpoint', ...names(5, 6, 7, 8, 16), 'main', 'other'].sort(),
  );
  expect(held.has(segmentName(3))).toBe(false);
  await files.removeBefore(5);
  expect(files.numbers).toEqual([5, 6, 7, 8, 16]);
  files.closeRest();
});

test('[LOG20] files that were handed over stay open, the others are closed', async () => {
  await files.openFirst();
  files.keep([files.main, files.segment(16)]);
  files.closeRest();
  expect(heldNames()).toEqual([...names(16), 'main']);
});

test('[LOG1] a segment that was lost is created when it is opened', async () => {
  await files.openFirst();
  files.addFirst(2);
  expect(files.numbers[0]).toBe(2);
  await files.openFrom(2);
  expect((await inner.names()).includes(segmentName(2))).toBe(true);
  files.closeRest();
});

test('[LOG20] if one file cannot be opened, opening fails, and the others are closed', async () => {
  failing = segmentName(8);
  await expect(files.openFirst()).rejects.toMatchObject({ code: 'IO' });
  expect(held.size).toBeGreaterThan(0);
  files.closeRest();
  expect(heldNames()).toEqual([]);
});
