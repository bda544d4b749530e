import { beforeAll, expect, test, vi } from 'vitest';
import {
  allRows,
  openLog,
  put,
  sqlite3,
  TestEnvironment,
  vfs,
} from '../../../packages/testing/worker/test-log.ts';
import type { FileDirectory, SyncFile } from '../file/file.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { ObjectFiles } from './object-files.ts';
import { RECORD_MAGIC } from './record.ts';
import { SEGMENT_HEADER_BYTES } from './segment.ts';

beforeAll(() => {
  // sqlite-wasm reports every failed step on the console; the failures here are intended.
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});

/** Counts writes of records and flushes. Can withhold writes, as if a crash lost them. */
class Watched implements FileDirectory {
  readonly inner: MemoryDirectory;
  records = 0;
  recordBytes = 0;
  flushes = 0;

  constructor(inner = new MemoryDirectory()) {
    this.inner = inner;
  }

  async open(name: string): Promise<SyncFile> {
    const file = await this.inner.open(name);
    return {
      read: (target, offset) => file.read(target, offset),
      write: (bytes, offset) => {
        file.write(bytes, offset);
        const isRecord =
          name.startsWith('log-') &&
          bytes.length >= 64 &&
          new DataView(bytes.buffer, bytes.byteOffset).getUint32(8, true) === RECORD_MAGIC;
        if (!isRecord) return;
        this.records++;
        this.recordBytes += bytes.length;
      },
      truncate: (sizeBytes) => file.truncate(sizeBytes),
      sizeBytes: () => file.sizeBytes(),
      flush: () => {
        this.flushes++;
        return file.flush();
      },
      close: () => file.close(),
    };
  }

  names = () => this.inner.names();
  remove = (name: string) => this.inner.remove(name);
}

async function fileOf(directory: MemoryDirectory, name: string): Promise<SyncFile> {
  return directory.open(name);
}

async function flip(directory: MemoryDirectory, name: string, offset: number): Promise<void> {
  const file = await fileOf(directory, name);
  const byte = new Uint8Array(1);
  file.read(byte, offset);
  byte[0] = byte[0]! ^ 0x55;
  file.write(byte, offset);
  file.close();
}

test('[LOG4] a commit is one write to the log, and one flush covers many commits', async () => {
  const directory = new Watched();
  const { files, db, close } = await openLog(directory, new TestEnvironment());
  await files.flush();
  Object.assign(directory, { records: 0, recordBytes: 0, flushes: 0 });
  for (let i = 0; i < 20; i++) put(db, i, 'v');
  expect([directory.records, directory.flushes]).toEqual([20, 0]);
  expect(files.durableSequence).toBeLessThan(files.committedSequence);
  await files.flush();
  expect(directory.flushes).toBe(1);
  expect(files.durableSequence).toBe(files.committedSequence);
  await close();
});

test('[LOG4] a transaction that is rolled back, or changes nothing, writes nothing', async () => {
  const directory = new Watched();
  const { db, close } = await openLog(directory, new TestEnvironment());
  put(db, 1, 'a');
  directory.records = 0;
  db.exec('BEGIN');
  put(db, 1, 'b');
  db.exec('ROLLBACK');
  db.exec('UPDATE t SET v = v WHERE k = 99');
  expect(directory.records).toBe(0);
  await close();
});

test('[LOG5] after a checkpoint the main file is a plain SQLite image', async () => {
  const directory = new MemoryDirectory();
  const { files, db, close } = await openLog(directory, new TestEnvironment());
  for (let i = 0; i < 50; i++) put(db, i, 'x'.repeat(i * 10));
  await files.flush();
  expect(await files.checkpoint()).toBe(true);
  const expected = allRows(db);
  const image = files.databaseBytes();
  await close();
  const main = await fileOf(directory, 'main');
  const bytes = new Uint8Array(main.sizeBytes());
  main.read(bytes, 0);
  expect(bytes).toEqual(image);
  const plain = new sqlite3.oo1.DB(':memory:');
  const pointer = sqlite3.wasm.allocFromTypedArray(bytes);
  const freeOnClose = sqlite3.capi.SQLITE_DESERIALIZE_FREEONCLOSE;
  const size = bytes.length;
  sqlite3.capi.sqlite3_deserialize(plain.pointer!, 'main', pointer, size, size, freeOnClose);
  expect(allRows(plain)).toEqual(expected);
  expect(plain.selectValue('PRAGMA integrity_check')).toBe('ok');
  plain.close();
});

test('[LOG6] new pages of a large transaction are not logged', { tags: 'long' }, async () => {
  const directory = new Watched();
  const { files, db, close } = await openLog(directory, new TestEnvironment(), {
    spillBytes: 1 << 18,
  });
  db.exec('PRAGMA cache_size=20');
  put(db, 1, 'first');
  directory.recordBytes = 0;
  db.exec('BEGIN');
  for (let i = 10; i < 3000; i++) put(db, i, 'y'.repeat(3000));
  db.exec('COMMIT');
  expect(files.file.sizeBytes()).toBeGreaterThan(8 << 20);
  expect(directory.recordBytes).toBeLessThan(2 << 20);
  await files.flush();
  const expected = allRows(db);
  await close();
  const again = await openLog(directory, new TestEnvironment(), { spillBytes: 1 << 18 });
  expect(allRows(again.db)).toEqual(expected);
  await again.close();
});

test('[LOG6] a transaction over many existing pages spills to the log and survives', async () => {
  const options = { spillBytes: 1 << 16 };
  const directory = new Watched();
  const opened = await openLog(directory, new TestEnvironment(), options);
  opened.db.exec('PRAGMA cache_size=20; BEGIN');
  for (let i = 0; i < 500; i++) put(opened.db, i, 'a'.repeat(3000));
  opened.db.exec('COMMIT');
  await opened.files.flush();
  const bookmark = opened.files.currentBookmark();
  const before = allRows(opened.db);
  directory.records = 0;
  opened.db.exec("BEGIN; UPDATE t SET v = replace(v, 'a', 'b')");
  expect(directory.records).toBeGreaterThan(10); // pages of the open transaction went to the file
  opened.db.exec('COMMIT');
  await opened.files.flush();
  const after = allRows(opened.db);
  await opened.close();
  const second = await openLog(directory, new TestEnvironment(), options);
  expect(allRows(second.db)).toEqual(after);
  second.files.scheduleRestore(bookmark);
  await second.files.flush();
  await second.close();
  const third = await openLog(directory, new TestEnvironment(), options);
  expect(allRows(third.db)).toEqual(before);
  await third.close();
});

test('[LOG3] a torn last record is not replayed, and the commits before it survive', async () => {
  const directory = new MemoryDirectory();
  const { files, db, close } = await openLog(directory, new TestEnvironment());
  put(db, 1, 'kept');
  await files.flush();
  const expected = allRows(db);
  const end = await endOfLog(directory, close);
  const again = await openLog(directory, new TestEnvironment());
  put(again.db, 2, 'torn');
  await again.close();
  await flip(directory, 'log-00000001', end + 70);
  const third = await openLog(directory, new TestEnvironment());
  expect(allRows(third.db)).toEqual(expected);
  await third.close();
});

/** Where the next record begins: the first byte after which everything is zero. */
async function endOfLog(directory: MemoryDirectory, close: () => Promise<void>): Promise<number> {
  await close();
  const file = await fileOf(directory, 'log-00000001');
  const bytes = new Uint8Array(file.sizeBytes());
  file.read(bytes, 0);
  file.close();
  const view = new DataView(bytes.buffer);
  let at = SEGMENT_HEADER_BYTES;
  while (at + 64 <= bytes.length && view.getUint32(at + 8, true) === RECORD_MAGIC) {
    at += view.getUint32(at + 12, true);
  }
  return at;
}

test('[LOG7] a damaged record that later commits prove durable is CORRUPT, not a shorter history', async () => {
  const directory = new MemoryDirectory();
  const { files, db, close } = await openLog(directory, new TestEnvironment());
  for (let i = 0; i < 5; i++) {
    put(db, i, 'v');
    await files.flush();
  }
  await close();
  await flip(directory, 'log-00000001', SEGMENT_HEADER_BYTES + 100);
  const opening = ObjectFiles.open(directory, new TestEnvironment());
  await expect(opening).rejects.toMatchObject({ code: 'CORRUPT' });
});

test('[LOG7] a byte changed in the main file is an error with a code at the read', async () => {
  const directory = new MemoryDirectory();
  const opened = await openLog(directory, new TestEnvironment());
  for (let i = 0; i < 200; i++) put(opened.db, i, 'z'.repeat(500));
  await opened.files.flush();
  await opened.files.checkpoint();
  await opened.close();
  await flip(directory, 'main', 5 * 4096 + 2000);
  const again = await openLog(directory, new TestEnvironment());
  expect(() => allRows(again.db)).toThrow();
  expect(vfs.takeError(again.name)).toMatchObject({ code: 'CORRUPT' });
  expect(() => again.files.databaseBytes()).toThrow(expect.objectContaining({ code: 'CORRUPT' }));
  await again.close();
});

test.each([
  ['main', 8192],
  ['log-00000001', 4096],
  ['checkpoint', 0],
])('[LOG7] %s cut to %i bytes is CORRUPT at opening', async (name, size) => {
  const directory = new MemoryDirectory();
  const { files, db, close } = await openLog(directory, new TestEnvironment());
  for (let i = 0; i < 200; i++) put(db, i, 'z'.repeat(500));
  await files.flush();
  await files.checkpoint();
  await close();
  const file = await fileOf(directory, name);
  file.truncate(size);
  file.close();
  const opening = ObjectFiles.open(directory, new TestEnvironment());
  await expect(opening).rejects.toMatchObject({ code: 'CORRUPT' });
});

test('[LOG16] commits that were not flushed can be discarded', async () => {
  const directory = new MemoryDirectory();
  const { files, db, close } = await openLog(directory, new TestEnvironment());
  put(db, 1, 'kept');
  await files.flush();
  const expected = allRows(db);
  put(db, 2, 'gone');
  files.discardUnflushed();
  await close();
  const again = await openLog(directory, new TestEnvironment());
  expect(allRows(again.db)).toEqual(expected);
  await again.close();
});

test('[BRANCH7] [HIST3] reads of the history that wait while the object is reset are refused with OBJECT_RESET', async () => {
  const { files, db, close } = await openLog(new MemoryDirectory(), new TestEnvironment());
  put(db, 1, 'v');
  await files.flush();
  const bookmark = files.currentBookmark();
  const reads = [files.holdMoment(bookmark), files.openPast(bookmark)];
  const codes = reads.map((read) => Promise.resolve<unknown>(read).catch((error) => error.code));
  files.discardUnflushed();
  await close();
  expect(await Promise.all(codes)).toEqual(['OBJECT_RESET', 'OBJECT_RESET']);
});
