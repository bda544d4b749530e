// A full disk under an object whose main file cannot grow: where it ends, and how it goes on.

import type { Database } from '@sqlite.org/sqlite-wasm';
import { beforeAll, expect, test, vi } from 'vitest';
import { turns } from '../../../packages/testing/page/turns.ts';
import {
  noise,
  type OpenedLog,
  openLog,
  put,
  TestEnvironment,
  vfs,
  WatchedDirectory,
} from '../../../packages/testing/worker/test-log.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type { SyncFile } from '../file/file.ts';
import { MemoryDirectory } from '../file/memory-file.ts';

beforeAll(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});

// Each row fills a page of its own; 8 pages make a checkpoint due, and 32 may wait in memory.
const OPTIONS = { checkpointOverlayBytes: 8 * 4096, checkpointLogBytes: 1 << 30 };
const ROW_BYTES = 3900;

const rowsOf = (db: Database) => db.selectArrays('SELECT k, hex(v) FROM t ORDER BY k');

/** Adds rows, each flushed, until one is refused; returns how many were stored. */
async function fill({ db, files }: OpenedLog): Promise<number> {
  for (let count = 0; ; count++) {
    try {
      put(db, 1000 + count, noise(count, ROW_BYTES));
    } catch {
      return count;
    }
    await files.flush();
  }
}

test('[LOG13] pages that the main file cannot take wait in memory, up to a bound; then a commit is DISK_FULL', async () => {
  const directory = new WatchedDirectory();
  const opened = await openLog(directory, new TestEnvironment(), OPTIONS);
  directory.full.add('main');
  const count = await fill(opened);
  expect(count).toBeGreaterThan(24);
  expect(count).toBeLessThan(36);
  expect(vfs.takeError(opened.name)).toMatchObject({
    code: 'DISK_FULL',
    message: expect.stringMatching(/committed pages that wait for space .* Free some space/),
  });
  const rows = rowsOf(opened.db);
  expect(rows).toHaveLength(count);
  expect(opened.files.needsFlush).toBe(false);
  expect(() => put(opened.db, 1, 'x')).toThrow();
  expect(await opened.files.checkpoint()).toBe(false);
  await opened.close();
  const again = await openLog(directory, new TestEnvironment(), OPTIONS);
  expect(rowsOf(again.db)).toEqual(rows);
  await again.close();
});

test('[LOG13] the first commit after the disk has room again succeeds', async () => {
  const directory = new WatchedDirectory();
  const opened = await openLog(directory, new TestEnvironment(), OPTIONS);
  directory.full.add('main');
  await fill(opened);
  directory.full.clear();
  put(opened.db, 1, 'room again');
  await opened.files.flush();
  expect(await opened.files.checkpoint()).toBe(true);
  const rows = rowsOf(opened.db);
  await opened.close();
  const again = await openLog(directory, new TestEnvironment(), OPTIONS);
  expect(again.db.selectValue('PRAGMA integrity_check')).toBe('ok');
  expect(rowsOf(again.db)).toEqual(rows);
  await again.close();
});

test('[LOG11] a checkpoint that a refused commit tries again keeps the restore that was requested', async () => {
  const directory = new WatchedDirectory();
  const opened = await openLog(directory, new TestEnvironment(), OPTIONS);
  put(opened.db, 1, 'to be restored');
  const bookmark = opened.files.currentBookmark();
  const rows = rowsOf(opened.db);
  directory.full.add('main');
  await fill(opened);
  opened.files.scheduleRestore(bookmark);
  await opened.files.flush();
  directory.full.clear();
  directory.written.clear();
  put(opened.db, 1, 'room again');
  expect(directory.written.has('main')).toBe(true);
  await opened.files.flush();
  await opened.close();
  const again = await openLog(directory, new TestEnvironment(), OPTIONS);
  expect(rowsOf(again.db)).toEqual(rows);
  await again.close();
});

test('[LOG13] where flushes end later, a refused commit makes room for the next one', async () => {
  const directory = new WatchedDirectory();
  const opened = await openLog(directory, new TestEnvironment(), OPTIONS);
  directory.full.add('main');
  await fill(opened);
  const rows = rowsOf(opened.db);
  directory.full.clear();
  directory.isLate = true;
  expect(() => put(opened.db, 1, 'x')).toThrow();
  await vi.waitUntil(() => directory.lateCount > 0);
  directory.isLate = false;
  directory.release();
  await vi.waitUntil(() => opened.files.checkpoint() === true);
  put(opened.db, 1, 'room again');
  expect(rowsOf(opened.db)).toHaveLength(rows.length + 1);
  await opened.files.flush();
  await opened.close();
  expect(directory.afterClose).toEqual([]);
});

test('[LOG20] closing waits for the checkpoint that a refused commit tried again', async () => {
  const directory = new WatchedDirectory();
  const opened = await openLog(directory, new TestEnvironment(), OPTIONS);
  directory.full.add('main');
  await fill(opened);
  directory.full.clear();
  directory.isLate = true;
  expect(() => put(opened.db, 1, 'x')).toThrow();
  opened.db.close();
  let isClosed = false;
  const closing = opened.files.close().finally(() => {
    isClosed = true;
  });
  await turns(10);
  expect([directory.lateCount > 0, isClosed]).toEqual([true, false]);
  while (!isClosed) {
    directory.release();
    await turns(1);
  }
  await closing;
  expect(directory.afterClose).toEqual([]);
});

test('[LOG13] a checkpoint that the disk refused is made at the next flush, with every page', async () => {
  const directory = new WatchedDirectory();
  const opened = await openLog(directory, new TestEnvironment(), OPTIONS);
  directory.full.add('main');
  for (let k = 0; k < 12; k++) put(opened.db, k, noise(k, ROW_BYTES));
  await opened.files.flush();
  expect(directory.written.has('main')).toBe(false);
  directory.full.clear();
  put(opened.db, 12, 'last');
  await opened.files.flush();
  expect(directory.flushed.get('main')).toEqual(opened.files.databaseBytes());
  await opened.close();
});

/** A disk that counts an open file as the next power of two above the most that it has had, as Chromium does. */
class ReservingDirectory extends MemoryDirectory {
  readonly #reserved = new Map<string, number>();
  quotaBytes = Number.POSITIVE_INFINITY;

  override async open(name: string): Promise<SyncFile> {
    const file = await super.open(name);
    const grow = (sizeBytes: number) => {
      const before = this.#reserved.get(name) ?? 0;
      if (sizeBytes <= before) return;
      this.#reserved.set(name, Math.max(8192, 2 ** Math.ceil(Math.log2(sizeBytes))));
      if (this.#countedBytes <= this.quotaBytes) return;
      this.#reserved.set(name, before);
      throw storageError('DISK_FULL', `"${name}" cannot have ${sizeBytes} bytes.`);
    };
    grow(file.sizeBytes());
    return {
      read: (target, offset) => file.read(target, offset),
      write: (bytes, offset) => {
        if (bytes.length > 0) grow(offset + bytes.length);
        file.write(bytes, offset);
      },
      truncate: (sizeBytes) => {
        grow(sizeBytes);
        file.truncate(sizeBytes);
      },
      sizeBytes: () => file.sizeBytes(),
      flush: () => file.flush(),
      close: () => {
        this.#reserved.delete(name);
        file.close();
      },
    };
  }

  get #countedBytes(): number {
    let bytes = 0;
    for (const [name, size] of this.sizes()) bytes += this.#reserved.get(name) ?? size;
    return bytes;
  }
}

test.each(Array.from({ length: 16 }, (_, i) => 200_000 + i * 25_000))(
  '[LOG13] where an open file counts as a power of two, and %i bytes are granted, history is given up and no commit is refused',
  async (quotaBytes) => {
    const directory = new ReservingDirectory();
    directory.quotaBytes = quotaBytes;
    const sizes = { segmentBytes: 1 << 16, checkpointLogBytes: 1 << 13, isChecked: true };
    const opened = await openLog(directory, new TestEnvironment(), sizes);
    for (let i = 0; i < 400; i++) {
      put(opened.db, i % 10, noise(i, ROW_BYTES)); // a database of 40 KB
      await opened.files.flush();
      if (opened.files.needsMaintenance) await opened.files.maintain();
    }
    const rows = rowsOf(opened.db);
    await opened.close();
    const again = await openLog(directory, new TestEnvironment(), sizes);
    expect(rowsOf(again.db)).toEqual(rows);
    expect(rows).toHaveLength(10);
    await again.close();
  },
);
