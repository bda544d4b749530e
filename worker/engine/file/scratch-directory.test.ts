import { expect, test } from 'vitest';
import { bytesOf, noise } from '../../../packages/testing/worker/test-log.ts';
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
  const { directory, real, open, removed } = scratch();
  const file = await directory.open('a');
  file.write(noise(1, 900), 0);
  open();
  await turns();
  expect(directory.heldBytes).toBe(900);
  file.close();
  expect(await bytesOf(directory, 'a')).toEqual(noise(1, 900));
  await directory.end();
  expect([[...real.sizes()], removed()]).toEqual([[], 0]);
});

test('[BRANCH8] large files move to the disk with all that was written meanwhile', async () => {
  const { directory, real, open, removed } = scratch();
  const files = [await directory.open('a'), await directory.open('b')];
  files[0]!.write(noise(1, 900), 0);
  files[1]!.write(noise(2, 500), 0);
  files[0]!.write(noise(3, 10), 890);
  expect(directory.heldBytes).toBe(1400);
  open();
  await turns();
  expect(directory.heldBytes).toBe(0);
  files[1]!.write(noise(4, 9000), 500);
  const late = await directory.open('c');
  late.write(new Uint8Array(9000), 0);
  expect(directory.heldBytes).toBe(0);
  for (const file of [...files, late]) file.close();
  expect((await directory.names()).sort()).toEqual(['a', 'b', 'c']);
  const a = Buffer.concat([noise(1, 890), noise(3, 10)]);
  const b = Buffer.concat([noise(2, 500), noise(4, 9000)]);
  expect(real.sizes()).toEqual(new Map([...Object.entries({ a: 900, b: 9500, c: 9000 })]));
  expect((await bytesOf(directory, 'a')).every((byte, at) => byte === a[at])).toBe(true);
  expect((await bytesOf(directory, 'b')).every((byte, at) => byte === b[at])).toBe(true);
  await directory.remove('c');
  expect([...real.sizes().keys()]).toEqual(['a', 'b']);
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
