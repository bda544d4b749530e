import { expect, test } from 'vitest';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type { FileDirectory } from './file.ts';
import { MemoryDirectory } from './memory-file.ts';
import { ScratchDirectory } from './scratch-directory.ts';

const BOUNDS = { moved: 1000, most: 3000 };

/** A directory whose real files are opened when `open` is called. */
function scratch() {
  const real = new MemoryDirectory();
  let open = (_: FileDirectory) => {};
  let fail = (_: Error) => {};
  let removed = 0;
  const opened = () =>
    new Promise<FileDirectory>((resolve, reject) => {
      open = resolve;
      fail = reject;
    });
  const directory = new ScratchDirectory(opened, async () => void (removed += 1), BOUNDS);
  return {
    directory,
    real,
    open: () => open(real),
    fail: (e: Error) => fail(e),
    removed: () => removed,
  };
}

async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await undefined;
}

test('[BRANCH8] small files are in memory, and leave nothing', async () => {
  const { directory, removed } = scratch();
  const file = await directory.open('a');
  file.write(new Uint8Array(900).fill(1), 0);
  expect(directory.heldBytes).toBe(900);
  file.close();
  const again = await directory.open('a');
  expect(again.sizeBytes()).toBe(900);
  again.close();
  await directory.end();
  expect(removed()).toBe(0);
});

test('[BRANCH8] large files move to the disk with all that was written meanwhile', async () => {
  const { directory, open, removed } = scratch();
  const files = [await directory.open('a'), await directory.open('b')];
  files[0]!.write(new Uint8Array(900).fill(1), 0);
  files[1]!.write(new Uint8Array(500).fill(2), 0);
  files[0]!.write(new Uint8Array(10).fill(3), 890);
  expect(directory.heldBytes).toBe(1400);
  open();
  await turns();
  expect(directory.heldBytes).toBe(0);
  files[1]!.write(new Uint8Array(9000).fill(4), 500);
  const bytes = new Uint8Array(20);
  files[0]!.read(bytes, 880);
  expect([...bytes]).toEqual([...Array(10).fill(1), ...Array(10).fill(3)]);
  const late = await directory.open('c');
  late.write(new Uint8Array(9000), 0);
  expect(directory.heldBytes).toBe(0);
  for (const file of [...files, late]) file.close();
  expect((await directory.names()).sort()).toEqual(['a', 'b', 'c']);
  const again = await directory.open('b');
  expect(again.sizeBytes()).toBe(9500);
  again.close();
  await directory.end();
  expect(removed()).toBe(1);
});

test('[BRANCH8] what is too much before the files have moved is refused, and can be written later', async () => {
  const { directory, open, fail } = scratch();
  const file = await directory.open('a');
  const large = new Uint8Array(4000);
  expect(() => file.write(large, 0)).toThrow(expect.objectContaining({ code: 'MEMORY_FULL' }));
  expect(file.sizeBytes()).toBe(0);
  fail(storageError('DISK_FULL', 'full'));
  await turns();
  expect(() => file.truncate(4000)).toThrow(expect.objectContaining({ code: 'MEMORY_FULL' }));
  open();
  await turns();
  file.write(large, 0);
  expect(file.sizeBytes()).toBe(4000);
});
