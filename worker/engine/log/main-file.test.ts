// The main file on its own: the checks of a read, and a write on a full disk.

import { beforeEach, expect, test } from 'vitest';
import { noise } from '../../../packages/testing/worker/test-log.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type { SyncFile } from '../file/file.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { CheckpointFile } from './checkpoint-file.ts';
import { MainFile } from './main-file.ts';
import { PAGE_BYTES } from './pages.ts';

const FIRST = {
  pageCount: 0,
  pendingRestore: null,
  segment: 1,
  position: { offset: 4096, sequence: 0, timeMs: 0, sum: 0 },
};

let file: SyncFile;
let checkpoints: CheckpointFile;
/** Calls of both files that make something durable, in order. */
let calls: string[];
let main: MainFile;

/** A file that notes its writes and flushes. */
function noting(name: string, inner: SyncFile): SyncFile {
  return {
    read: (target, offset) => inner.read(target, offset),
    write: (bytes, offset) => {
      calls.push(`write ${name}`);
      inner.write(bytes, offset);
    },
    truncate: (sizeBytes) => inner.truncate(sizeBytes),
    sizeBytes: () => inner.sizeBytes(),
    flush: () => void calls.push(`flush ${name}`),
    close: () => inner.close(),
  };
}

beforeEach(async () => {
  const directory = new MemoryDirectory();
  calls = [];
  file = noting('main', await directory.open('main'));
  const slots = noting('checkpoint', await directory.open('checkpoint'));
  checkpoints = CheckpointFile.create(slots, 5, FIRST);
  main = new MainFile(file, checkpoints, true, () => false);
});

function put(pageIndex: number, page: Uint8Array): void {
  main.write(pageIndex, page);
  main.setSum(pageIndex, page);
}

const corrupt = (message: unknown) => expect.objectContaining({ code: 'CORRUPT', message });

test('[LOG7] a page reads as it was written; otherwise the error names the page and its fault', () => {
  const target = new Uint8Array(PAGE_BYTES);
  for (const index of [0, 1, 2]) put(index, noise(index, PAGE_BYTES));
  main.read(1, target);
  expect(target).toEqual(noise(1, PAGE_BYTES));
  file.write(noise(2, 1), PAGE_BYTES + 100);
  expect(() => main.read(1, target)).toThrow(
    corrupt('page 2: its bytes in the main file differ from the bytes that were written.'),
  );
  file.truncate(3 * PAGE_BYTES - 1);
  expect(() => main.read(2, target)).toThrow(corrupt('page 3: the main file ends before it.'));
  // A page at another place is not that page.
  file.write(noise(0, PAGE_BYTES), 2 * PAGE_BYTES);
  expect(() => main.read(2, target)).toThrow(corrupt(expect.stringContaining('page 3')));
});

test('[LOG7] pages read together equal the written pages, near or far from each other', () => {
  const indexes = [0, 1, 3, 11, 12, 70, 71, 500];
  for (const index of indexes) put(index, noise(index, PAGE_BYTES));
  const lengths: number[] = [];
  const counting = { ...file };
  counting.read = (target, offset) => {
    lengths.push(target.length / PAGE_BYTES);
    return file.read(target, offset);
  };
  const counted = new MainFile(counting, checkpoints, true, () => false);
  const read: number[] = [];
  counted.readAll(indexes, (page, index) => {
    read.push(index);
    expect(Buffer.from(page).equals(noise(index, PAGE_BYTES))).toBe(true);
  });
  expect(read).toEqual(indexes);
  expect(lengths).toEqual([13, 2, 1]);

  file.write(noise(2, 1), 12 * PAGE_BYTES + 100);
  const readUntil: number[] = [];
  const readAll = () => counted.readAll(indexes, (_, index) => readUntil.push(index));
  expect(readAll).toThrow(corrupt(expect.stringContaining('page 13: its bytes')));
  expect(readUntil).toEqual([0, 1, 3, 11]);
  file.truncate(12 * PAGE_BYTES);
  expect(readAll).toThrow(corrupt('page 13: the main file ends before it.'));
});

test('[LOG13] on a full disk a write prunes until it fits', () => {
  let room = 0;
  const full = { ...file };
  full.write = (bytes, offset) => {
    if (room < 2) throw storageError('DISK_FULL', 'no room');
    file.write(bytes, offset);
  };
  const pruning = new MainFile(full, checkpoints, true, () => ++room <= 3);
  pruning.write(0, noise(1, PAGE_BYTES));
  expect([room, file.sizeBytes()]).toEqual([2, PAGE_BYTES]);
});

test.each([
  ['DISK_FULL', 1],
  ['IO', 0],
] as const)(
  '[LOG13] a write that fails with %s fails when nothing more can be pruned',
  (code, prunes) => {
    let pruned = 0;
    const full = { ...file };
    full.write = () => {
      throw storageError(code, 'failed by the test');
    };
    const failing = new MainFile(full, checkpoints, true, () => {
      pruned++;
      return false;
    });
    expect(() => failing.write(0, noise(1, PAGE_BYTES))).toThrow(expect.objectContaining({ code }));
    expect(pruned).toBe(prunes);
  },
);

test('[LOG5] cutting makes the main file shorter, never longer', () => {
  file.write(noise(1, 3 * PAGE_BYTES), 0);
  main.cut(5);
  expect(file.sizeBytes()).toBe(3 * PAGE_BYTES);
  main.cut(2);
  expect(file.sizeBytes()).toBe(2 * PAGE_BYTES);
});

test('[LOG6] pages and their checksums are durable when `flushAtOnce` returns', () => {
  put(0, noise(1, PAGE_BYTES));
  calls = [];
  main.flush();
  expect(calls).toEqual(['flush main']);
  calls = [];
  main.flushAtOnce();
  expect(calls.slice(0, 1)).toEqual(['write checkpoint']);
  expect(calls.slice(1).sort()).toEqual(['flush checkpoint', 'flush main']);
});

test('[LOG20] closing closes both files', () => {
  main.close();
  expect(() => file.read(new Uint8Array(1), 0)).toThrow(/clos/);
  expect(() => checkpoints.pageSum(0)).toThrow(/clos/);
});
