// The database file without SQLite: the results of reads and writes, the state after a failure, and the
// pages of a checkpoint.

import { expect, test } from 'vitest';
import {
  bytesOf,
  noise,
  overwrite,
  TestEnvironment,
  WatchedDirectory,
} from '../../../packages/testing/worker/test-log.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type { FileDirectory } from '../file/file.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { ObjectFiles } from './object-files.ts';
import { PAGE_BYTES } from './pages.ts';

type Options = Parameters<typeof ObjectFiles.open>[2];

const page = (seed: number) => noise(seed, PAGE_BYTES);
const ZEROS = new Uint8Array(PAGE_BYTES);

/** An object whose flushes make no checkpoint by themselves. */
const open = (directory: FileDirectory, options?: Options) =>
  ObjectFiles.open(directory, new TestEnvironment(), {
    checkpointOverlayBytes: 1 << 30,
    checkpointLogBytes: 1 << 30,
    ...options,
  });

function write(files: ObjectFiles, pages: Readonly<Record<number, Uint8Array>>): void {
  for (const [index, bytes] of Object.entries(pages)) {
    files.file.write(bytes, Number(index) * PAGE_BYTES);
  }
}

function commit(files: ObjectFiles, pages: Readonly<Record<number, Uint8Array>>): void {
  write(files, pages);
  files.file.commit();
}

function read(files: ObjectFiles, index: number): Uint8Array {
  const target = new Uint8Array(PAGE_BYTES).fill(0xee);
  files.file.read(target, index * PAGE_BYTES);
  return target;
}

const isSame = (some: Uint8Array, others: Uint8Array) => Buffer.from(some).equals(others);

/** Whether the pages are these, as the file reads and, after everything, as the next opening does. */
async function expectPages(
  directory: WatchedDirectory,
  files: ObjectFiles,
  pages: readonly Uint8Array[],
): Promise<void> {
  expect(files.file.sizeBytes()).toBe(pages.length * PAGE_BYTES);
  expect(pages.map((bytes, index) => isSame(read(files, index), bytes))).not.toContain(false);
  await files.flush();
  await files.close();
  const again = await open(new WatchedDirectory(directory.inner));
  expect(isSame(again.databaseBytes(), Buffer.concat(pages))).toBe(true);
  await again.close();
}

test('[LOG15] the database reads in parts of pages; beyond its end are zeros, and the read says so', async () => {
  const files = await open(new WatchedDirectory());
  commit(files, { 0: page(1), 1: page(2) });
  const part = new Uint8Array(100);
  expect(files.file.read(part, PAGE_BYTES + 24)).toBe(true);
  expect(part).toEqual(page(2).subarray(24, 124));
  expect(files.file.read(part, 2 * PAGE_BYTES - 100)).toBe(true);
  expect(part).toEqual(page(2).subarray(PAGE_BYTES - 100));
  expect(files.file.read(part, 2 * PAGE_BYTES)).toBe(false);
  expect(part).toEqual(new Uint8Array(100));
  await files.close();
});

test('[LOG18] a call that SQLite never makes is INTERNAL, with its place', async () => {
  const files = await open(new WatchedDirectory());
  commit(files, { 0: page(1), 1: page(2) });
  const internal = (message: RegExp) =>
    expect.objectContaining({ code: 'INTERNAL', message: expect.stringMatching(message) });
  const { file } = files;
  expect(() => file.read(new Uint8Array(100), 4000)).toThrow(
    internal(/100 bytes at 4000 span two/),
  );
  expect(() => file.write(new Uint8Array(100), 0)).toThrow(
    internal(/100 bytes at 0; pages of 4096/),
  );
  expect(() => file.write(page(3), 100)).toThrow(internal(/4096 bytes at 100; pages of 4096/));
  await files.close();
});

test('[LOG15] a page that was skipped is zeros, also if it was cut off before', async () => {
  const directory = new WatchedDirectory();
  const files = await open(directory);
  commit(files, { 0: page(1), 1: page(2), 2: page(3), 3: page(4) });
  files.file.truncate(PAGE_BYTES + 1);
  expect(files.file.sizeBytes()).toBe(2 * PAGE_BYTES);
  files.file.truncate(PAGE_BYTES);
  commit(files, { 0: page(5) });
  expect(files.file.sizeBytes()).toBe(PAGE_BYTES);
  commit(files, { 3: page(6) });
  await expectPages(directory, files, [page(5), ZEROS, ZEROS, page(6)]);
});

test('[LOG19] a page cut off and skipped in a transaction is zeros there, and back after its rollback', async () => {
  const directory = new WatchedDirectory();
  const files = await open(directory);
  commit(files, { 0: page(1), 1: page(2), 2: page(3) });
  files.file.truncate(PAGE_BYTES);
  write(files, { 2: page(9) });
  expect([read(files, 1), read(files, 2)]).toEqual([ZEROS, page(9)]);
  files.file.endRollback();
  // SQLite cuts the file to its old size after a rollback; ours has it already.
  await expectPages(directory, files, [page(1), page(2), page(3)]);
});

test('[LOG13] once a write has failed, everything fails until the sync, and then the transaction is gone', async () => {
  const directory = new WatchedDirectory();
  const files = await open(directory, { spillBytes: 2 * PAGE_BYTES });
  commit(files, { 0: page(1), 1: page(2), 2: page(3), 3: page(4) });
  await files.flush();
  directory.fails = (call) => call === 'write';
  const isFailed = expect.objectContaining({ code: 'IO' });
  write(files, { 0: page(10), 1: page(11) });
  expect(() => write(files, { 2: page(12) })).toThrow(isFailed);
  directory.fails = () => false;
  expect(() => read(files, 0)).toThrow(isFailed);
  write(files, { 3: page(13) });
  files.file.truncate(PAGE_BYTES);
  expect(() => files.file.commit()).toThrow(isFailed);
  // SQLite writes back the stored bytes, and its sync commits nothing.
  const sequence = files.committedSequence;
  write(files, { 0: page(14) });
  files.file.truncate(PAGE_BYTES);
  files.file.commit();
  expect(files.committedSequence).toBe(sequence);
  await expectPages(directory, files, [page(1), page(2), page(3), page(4)]);
});

test('[LOG13] after a commit that failed, the next transaction is stored', async () => {
  const directory = new WatchedDirectory();
  const files = await open(directory);
  commit(files, { 0: page(1) });
  directory.fails = (call) => call === 'write';
  write(files, { 0: page(2), 1: page(3) });
  expect(() => files.file.commit()).toThrow(expect.objectContaining({ code: 'IO' }));
  directory.fails = () => false;
  // Its rollback writes nothing and does not sync: the next read begins a transaction.
  expect(isSame(read(files, 0), page(1))).toBe(true);
  commit(files, { 0: page(4) });
  await expectPages(directory, files, [page(4)]);
});

test('[LOG4] commits that are made together are one, and appear with the last', async () => {
  const directory = new WatchedDirectory();
  const files = await open(directory);
  commit(files, { 0: page(1) });
  const sequence = files.committedSequence;
  files.atomically(() => {
    commit(files, { 0: page(2) });
    commit(files, { 1: page(3) });
    files.file.endRollback();
    expect(files.committedSequence).toBe(sequence);
  });
  expect(files.committedSequence).toBe(sequence + 1);
  await expectPages(directory, files, [page(2), page(3)]);
});

test('[LOG4] a transaction that writes equal bytes commits nothing, also if it was spilled', async () => {
  const directory = new WatchedDirectory();
  const files = await open(directory, { spillBytes: 2 * PAGE_BYTES });
  const pages = Object.fromEntries([0, 1, 2, 3, 4].map((index) => [index, page(index)]));
  commit(files, pages);
  await files.flush();
  const sequence = files.committedSequence;
  commit(files, { 0: page(9), 1: page(9), ...pages });
  write(files, pages);
  write(files, { 0: page(8) });
  write(files, pages);
  files.file.commit();
  expect(files.committedSequence).toBe(sequence);
  expect(files.needsFlush).toBe(false);
  // The same, except for one of the spilled pages.
  commit(files, { ...pages, 1: page(7) });
  expect(files.committedSequence).toBe(sequence + 1);
  await expectPages(directory, files, [page(0), page(7), page(2), page(3), page(4)]);
});

test('[LOG4] a file that only became shorter is recorded by the next commit', async () => {
  const directory = new WatchedDirectory();
  const files = await open(directory);
  commit(files, { 0: page(1), 1: page(2), 2: page(3) });
  files.file.truncate(PAGE_BYTES);
  const sequence = files.committedSequence;
  files.file.commit();
  expect([files.committedSequence, files.file.sizeBytes()]).toEqual([sequence, PAGE_BYTES]);
  commit(files, { 0: page(4) });
  expect(files.committedSequence).toBe(sequence + 1);
  await expectPages(directory, files, [page(4)]);
});

/** Writes to the main file: the index of the first page and how many, of each. */
function noteMainWrites(directory: WatchedDirectory): [number, number][] {
  const writes: [number, number][] = [];
  const { open } = directory.inner;
  directory.inner.open = async (name) => {
    const file = await open.call(directory.inner, name);
    if (name !== 'main') return file;
    return {
      read: (target, offset) => file.read(target, offset),
      write: (bytes, offset) => {
        writes.push([offset / PAGE_BYTES, bytes.length / PAGE_BYTES]);
        file.write(bytes, offset);
      },
      truncate: (sizeBytes) => file.truncate(sizeBytes),
      sizeBytes: () => file.sizeBytes(),
      flush: () => file.flush(),
      close: () => file.close(),
    };
  };
  return writes;
}

test('[LOG5] a checkpoint writes adjacent pages together, and each committed page once', async () => {
  const directory = new WatchedDirectory();
  const writes = noteMainWrites(directory);
  const files = await open(directory);
  commit(files, Object.fromEntries(Array.from({ length: 70 }, (_, i) => [i, page(i)])));
  await files.flush();
  expect(await files.checkpoint()).toBe(true);
  expect(writes.splice(0)).toEqual([
    [0, 64],
    [64, 6],
  ]);
  commit(files, { 10: page(100), 4: page(102) });
  commit(files, { 3: page(101) });
  commit(files, { 3: page(103) });
  await files.flush();
  expect(await files.checkpoint()).toBe(true);
  expect(writes.splice(0)).toEqual([
    [3, 2],
    [10, 1],
  ]);
  expect(await files.checkpoint()).toBe(true);
  expect(writes).toEqual([]);
  const image = files.databaseBytes();
  await files.close();
  expect(isSame(await bytesOf(directory.inner, 'main'), image)).toBe(true);
});

test('[LOG5] a checkpoint does not write pages that the database has lost since', async () => {
  const directory = new WatchedDirectory();
  const writes = noteMainWrites(directory);
  const files = await open(directory);
  commit(files, { 0: page(1), 1: page(2), 2: page(3), 3: page(4) });
  files.file.truncate(PAGE_BYTES);
  commit(files, { 0: page(5) });
  await files.flush();
  await files.checkpoint();
  expect(writes).toEqual([[0, 1]]);
  await expectPages(directory, files, [page(5)]);
});

test.each(['by a checkpoint', 'by a checkpoint that was running', 'by a large transaction'])(
  '[LOG1] new pages of a large transaction spare those written %s that a lost commit had removed',
  async (way) => {
    const directory = new WatchedDirectory();
    const files = await open(directory, { spillBytes: 2 * PAGE_BYTES });
    const pages = [0, 1, 2, 3, 4, 5].map(page);
    commit(files, { ...pages });
    await files.flush();
    if (way === 'by a checkpoint') await files.checkpoint();
    directory.isLate = way === 'by a checkpoint that was running';
    const running = directory.isLate ? files.checkpoint() : true;
    files.file.truncate(2 * PAGE_BYTES);
    commit(files, { 0: page(10) });
    while (directory.lateCount > 0) {
      directory.release();
      await new Promise((resolve) => setImmediate(resolve));
    }
    directory.isLate = false;
    expect(await running).toBe(true);
    for (let i = 2; i < 9; i++) write(files, { [i]: page(20 + i) });
    // Power fails: the log is as it was flushed, and the writes to the main file are there.
    await files.close();
    await overwrite(directory.inner, 'log-00000001', directory.flushed.get('log-00000001')!);
    const again = await open(new WatchedDirectory(directory.inner));
    expect(isSame(again.databaseBytes(), Buffer.concat(pages))).toBe(true);
    await again.close();
  },
);

test('[LOG5] a checkpoint makes the main file as short as the database', async () => {
  const directory = new WatchedDirectory();
  const files = await open(directory);
  commit(files, { 0: page(1), 1: page(2), 2: page(3) });
  await files.flush();
  await files.checkpoint();
  files.file.truncate(PAGE_BYTES);
  commit(files, { 0: page(4) });
  await files.flush();
  await files.checkpoint();
  await files.close();
  expect(isSame(await bytesOf(directory.inner, 'main'), page(4))).toBe(true);
});

test.each([
  ['pages', { checkpointOverlayBytes: 3 * PAGE_BYTES }, 3],
  // A record of one new page has 64 + 12 + 4 + 4096 bytes, and no padding.
  ['log', { checkpointLogBytes: 3 * 4176 }, 3],
] as const)(
  '[LOG5] a checkpoint is made by the flush that reaches the limit of %s, and then by every third',
  async (_, options, count) => {
    const directory = new WatchedDirectory();
    const files = await open(directory, options);
    const made: number[] = [];
    for (let i = 1; i <= 10; i++) {
      directory.written.clear();
      commit(files, { [i - 1]: page(i) });
      await files.flush();
      if (directory.written.has('main')) made.push(i);
    }
    expect(made).toEqual([count, 2 * count, 3 * count]);
    await files.close();
  },
);

test('[LOG5] a checkpoint follows 256 KB of log', async () => {
  const directory = new WatchedDirectory();
  const files = await ObjectFiles.open(directory, new TestEnvironment());
  directory.written.clear();
  let count = 0; // of records of 4,176 bytes, as above
  for (; !directory.written.has('main'); count++) {
    commit(files, { [count]: page(count) });
    await files.flush();
  }
  expect(count).toBe(63);
  await files.close();
});

test('[LOG5] [LOG6] 4 MB of changed pages are in memory: more of a transaction go to the log, and a checkpoint follows that many', async () => {
  const inner = new MemoryDirectory();
  const written: string[] = [];
  let isBroken = false;
  const open = inner.open.bind(inner);
  inner.open = async (name) => {
    const file = await open(name);
    const write = file.write.bind(file);
    file.write = (bytes, offset) => {
      written.push(name);
      if (isBroken) throw storageError('IO', 'enough was seen');
      write(bytes, offset);
    };
    return file;
  };
  const files = await ObjectFiles.open(inner, new TestEnvironment());
  const filled = (byte: number) => new Uint8Array(PAGE_BYTES).fill(byte);
  const writePages = (count: number, bytes: Uint8Array) => {
    for (let i = 0; i < count; i++) files.file.write(bytes, i * PAGE_BYTES);
  };
  writePages(1025, filled(1));
  files.file.commit();
  await files.flush();
  expect(await files.checkpoint()).toBe(true);
  written.length = 0;
  const changed = filled(1); // a page of equal bytes, whose record is short
  changed[0] = 2;
  writePages(1023, changed);
  expect(written).toEqual([]);
  files.file.commit();
  await files.flush();
  expect(written).not.toContain('main');
  commit(files, { 1023: changed });
  await files.flush();
  expect(written).toContain('main');
  written.length = 0;
  writePages(1024, filled(3));
  expect(written).toEqual([]);
  isBroken = true;
  expect(() => write(files, { 1024: filled(3) })).toThrow('enough was seen');
  expect(written).toEqual(['log-00000001']);
  await files.close();
});

test('[LOG5] commits of large records add eight times as much log before a checkpoint, as long as they are alone', async () => {
  const directory = new WatchedDirectory();
  const checkpointLogBytes = 2 << 16;
  const files = await open(directory, { checkpointLogBytes });
  // 16 new pages with their entries: a little more than 64 KB.
  const commitLarge = (seed: number) =>
    commit(files, Object.fromEntries(Array.from({ length: 16 }, (_, i) => [i, page(seed + i)])));
  const made = async (commitOnce: (i: number) => void, count: number) => {
    const found: number[] = [];
    for (let i = 1; i <= count; i++) {
      directory.written.clear();
      commitOnce(i);
      await files.flush();
      if (directory.written.has('main')) found.push(i);
    }
    return found;
  };
  // A checkpoint comes after 128 KB of log; if the records have 64 KB and more on average, after 1 MB.
  // The first has no old pages, the others have as many bytes again: 64 KB and eight times 128 KB.
  expect(await made((i) => commitLarge(16 * i), 9)).toEqual([9]);
  expect(await made((i) => commitLarge(1000 + 16 * i), 4)).toEqual([]);
  // Records of 8 KB. With the fifth, nine records have 64 KB or less on average; then 16 of them have 128 KB.
  expect(await made((i) => commit(files, { 0: page(5000 + i) }), 40)).toEqual([5, 21, 37]);
  await files.close();
});

test('[LOG14] a segment ends when it is full, and the log of the next one counts from its beginning', async () => {
  const directory = new WatchedDirectory();
  const files = await open(directory, {
    segmentBytes: 4096 + 4 * 4176,
    checkpointLogBytes: 3 * 4176,
  });
  const made: number[] = [];
  const segments: number[] = [];
  for (let i = 1; i <= 9; i++) {
    directory.written.clear();
    commit(files, { [i - 1]: page(i) });
    await files.flush();
    if (files.needsMaintenance) await files.maintain();
    if (directory.written.has('main')) made.push(i);
    if ([...directory.written].filter((name) => name.startsWith('log-')).length > 1)
      segments.push(i);
  }
  // Full after four commits, and checkpointed then.
  expect({ made, segments }).toEqual({ made: [3, 4, 7, 8], segments: [4, 8] });
  await files.close();
});

/** Ends late calls, and the calls that they start; nothing is late from then on. */
async function releaseAll(directory: WatchedDirectory): Promise<void> {
  while (directory.lateCount > 0) {
    directory.release();
    await new Promise((resolve) => setImmediate(resolve));
  }
  directory.isLate = false;
}

test('[LOG5] one checkpoint runs at a time, and a page that is committed meanwhile waits for the next', async () => {
  const directory = new WatchedDirectory();
  const files = await open(directory);
  commit(files, { 0: page(1), 1: page(2) });
  await files.flush();
  directory.isLate = true;
  const running = files.checkpoint();
  expect(files.checkpoint()).toBe(false);
  commit(files, { 1: page(3) });
  await releaseAll(directory);
  expect(await running).toBe(true);
  expect(isSame(read(files, 1), page(3))).toBe(true);
  await files.flush();
  expect(await files.checkpoint()).toBe(true);
  await expectPages(directory, files, [page(1), page(3)]);
});

test('[LOG5] a page that is replaced while a checkpoint runs is written by it as it was', async () => {
  const directory = new WatchedDirectory();
  const files = await open(directory);
  commit(files, { 0: page(1), 1: page(2) });
  await files.flush();
  directory.isLate = true;
  const running = files.checkpoint();
  commit(files, { 1: page(3) });
  // The memory of the replaced page is not used for these.
  commit(files, { 2: page(4), 3: page(5) });
  await releaseAll(directory);
  expect(await running).toBe(true);
  const pages = [page(1), page(3), page(4), page(5)];
  expect(pages.map((bytes, index) => isSame(read(files, index), bytes))).not.toContain(false);
  await files.close();
  const main = await bytesOf(directory.inner, 'main');
  expect(isSame(main, Buffer.concat([page(1), page(2)]))).toBe(true);
});

test('[LOG5] pages in memory that are used again change no other page', async () => {
  const directory = new WatchedDirectory();
  const files = await open(directory);
  for (let i = 0; i < 5; i++) {
    commit(files, { 0: page(10 * i), 1: page(10 * i + 1) });
    commit(files, { [2 + i]: page(10 * i + 2) });
  }
  const pages = [40, 41, 2, 12, 22, 32, 42].map(page);
  expect(pages.map((bytes, index) => isSame(read(files, index), bytes))).not.toContain(false);
  await expectPages(directory, files, pages);
});

test('[LOG6] a checkpoint leaves the new pages of a transaction that still runs', async () => {
  const directory = new WatchedDirectory();
  const files = await open(directory, { spillBytes: 2 * PAGE_BYTES });
  commit(files, { 0: page(0) });
  await files.flush();
  const pages = [0, 1, 2, 3, 4, 5].map(page);
  for (const index of [1, 2, 3, 4, 5]) write(files, { [index]: pages[index]! });
  expect(await files.checkpoint()).toBe(true);
  files.file.commit();
  await expectPages(directory, files, pages);
});

test('[LOG6] where flushes end later, new pages of a large transaction go to the log, and none to the main file', async () => {
  const directory = new WatchedDirectory();
  const { open: openFile } = directory;
  directory.open = async (name) => {
    const file = await openFile.call(directory, name);
    return { ...file, flush: async () => file.flush() };
  };
  const files = await open(directory, { spillBytes: 2 * PAGE_BYTES });
  const pages = [0, 1, 2, 3, 4, 5].map(page);
  write(files, { ...pages });
  expect([...directory.written].filter((name) => name !== 'checkpoint')).toEqual(['log-00000001']);
  files.file.commit();
  await expectPages(directory, files, pages);
});

test('[LOG13] pages wait in memory for a main file without room, up to four times the limit of a checkpoint', async () => {
  const directory = new WatchedDirectory();
  const files = await open(directory, { checkpointOverlayBytes: 2 * PAGE_BYTES });
  directory.full.add('main');
  for (let i = 0; i < 9; i++) {
    commit(files, { [i]: page(i) });
    await files.flush();
  }
  expect(await files.checkpoint()).toBe(false);
  const isFull = expect.objectContaining({
    code: 'DISK_FULL',
    message: expect.stringMatching(/^commit: the disk is full, .*memory allowed for them\. Free/),
  });
  expect(() => commit(files, { 9: page(9) })).toThrow(isFull);
  files.file.endRollback();
  expect(() => commit(files, { 9: page(9) })).toThrow(isFull);
  // The sync at the end of SQLite's rollback needs no room.
  files.file.commit();
  directory.full.clear();
  commit(files, { 9: page(9) });
  expect(directory.written.has('main')).toBe(true);
  await expectPages(
    directory,
    files,
    Array.from({ length: 10 }, (_, i) => page(i)),
  );
});

test('[LOG13] if the next segment cannot be written, the one before continues, and ends later', async () => {
  const directory = new WatchedDirectory();
  const options = { segmentBytes: 4096 + 2 * 4176 };
  const files = await open(directory, options);
  directory.full.add('log-00000002');
  for (let i = 0; i < 4; i++) {
    commit(files, { [i]: page(i) });
    await files.flush();
    await files.maintain();
  }
  expect(directory.written.has('log-00000002')).toBe(false);
  directory.full.clear();
  commit(files, { 4: page(4) });
  await files.flush();
  expect(directory.written.has('log-00000002')).toBe(true);
  await expectPages(directory, files, [0, 1, 2, 3, 4].map(page));
});

test('[LOG19] pages that a transaction had spilled to the log end with it, and the next one takes their place', async () => {
  const directory = new WatchedDirectory();
  const files = await open(directory, { spillBytes: 2 * PAGE_BYTES });
  const pages = [0, 1, 2, 3, 4].map(page);
  commit(files, { ...pages });
  await files.flush();
  await files.checkpoint();
  write(files, { 0: page(10), 1: page(11), 2: page(12), 3: page(13) });
  files.file.endRollback();
  expect(files.needsFlush).toBe(false);
  commit(files, { 4: page(14) });
  await expectPages(directory, files, [...pages.slice(0, 4), page(14)]);
});

test('[LOG4] behind the end of the log are zeros, so that a flush stores no new size', async () => {
  const directory = new WatchedDirectory();
  const files = await open(directory);
  const sizes = new Set<number>();
  for (let i = 1; i <= 6; i++) {
    commit(files, { 0: page(i) });
    await files.flush();
    if (i > 1) sizes.add(directory.flushed.get('log-00000001')!.length);
  }
  expect(sizes.size).toBe(1);
  const log = directory.flushed.get('log-00000001')!;
  expect(log.subarray(-16_384).some((byte) => byte !== 0)).toBe(false);
  await files.close();
});

test('[LOG14] a checkpoint writes the index of the segment', async () => {
  const directory = new WatchedDirectory();
  const files = await open(directory);
  for (let i = 0; i < 20; i++) commit(files, { [i]: page(i) });
  await files.flush();
  const indexCount = async () =>
    new DataView((await bytesOf(directory.inner, 'log-00000001')).buffer).getUint32(72, true);
  await files.checkpoint();
  await files.close();
  // 20 records of 4,176 bytes: one entry after 64 KB.
  expect(await indexCount()).toBe(1);
});

test('[LOG14] the next segment is opened once a part of one is full, and only once', async () => {
  const directory = new WatchedDirectory();
  const files = await open(directory, { segmentBytes: 32 * (4096 + 4176) });
  const names = async () => (await directory.names()).filter((name) => name.startsWith('log-'));
  expect(files.needsMaintenance).toBe(false);
  await files.maintain();
  expect(await names()).toEqual(['log-00000001']);
  commit(files, { 0: page(0) });
  expect(files.needsMaintenance).toBe(true);
  await files.maintain();
  expect((await names()).sort()).toEqual(['log-00000001', 'log-00000002']);
  expect(files.needsMaintenance).toBe(false);
  await files.maintain();
  await files.close();
});

test('[LOG13] a disk that fails as a segment begins is reported', async () => {
  const directory = new WatchedDirectory();
  const files = await open(directory, { segmentBytes: 4096 + 4176 });
  await files.maintain();
  commit(files, { 0: page(0) });
  await files.maintain();
  directory.fails = (call, name) => call === 'write' && name === 'log-00000002';
  expect(() => files.flush()).toThrow(expect.objectContaining({ code: 'IO' }));
  directory.fails = () => false;
  await files.close();
});

test('[LOG20] a closed object opens, cuts and flushes nothing more', async () => {
  const directory = new WatchedDirectory();
  const files = await open(directory, { segmentBytes: 4096 + 4176 });
  commit(files, { 0: page(0) });
  await files.flush();
  commit(files, { 0: page(1) });
  expect(files.needsMaintenance).toBe(true);
  await files.close();
  directory.isOver = true;
  files.discardUnflushed();
  await files.maintain();
  expect(files.needsMaintenance).toBe(false);
  expect(() => files.flush()).toThrow(/flush: the storage of the object is closed/);
  expect(directory.afterClose).toEqual([]);
});

test('[LOG5] a commit that is not durable is not checkpointed', async () => {
  const directory = new WatchedDirectory();
  const files = await open(directory);
  commit(files, { 0: page(0) });
  expect(files.checkpoint()).toBe(false);
  expect(directory.written.has('main')).toBe(false);
  await files.flush();
  expect(await files.checkpoint()).toBe(true);
  await files.close();
});

test('[LOG20] an ended file reaches no disk, whatever is called', async () => {
  const directory = new WatchedDirectory();
  const files = await open(directory, { spillBytes: 2 * PAGE_BYTES });
  commit(files, { 0: page(1), 1: page(2), 2: page(3) });
  await files.flush();
  write(files, { 0: page(4), 1: page(5), 2: page(6) });
  await files.close();
  const isClosed = (operation: string) =>
    expect.objectContaining({
      code: 'IO',
      message: `${operation}: the storage of the object is closed.`,
    });
  write(files, { 3: page(7) });
  files.file.truncate(0);
  files.file.endRollback();
  expect(() => read(files, 0)).toThrow(isClosed('read'));
  expect(() => files.file.commit()).toThrow(isClosed('commit'));
  expect(() => files.flush()).not.toThrow();
  expect(() => files.checkpoint()).toThrow(isClosed('checkpoint'));
  expect(directory.afterClose).toEqual([]);
  const again = await open(new WatchedDirectory(directory.inner));
  expect(isSame(again.databaseBytes(), Buffer.concat([1, 2, 3].map(page)))).toBe(true);
  await again.close();
});
