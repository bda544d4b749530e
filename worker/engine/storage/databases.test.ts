import { expect, test, vi } from 'vitest';
import { loadSqliteInNode } from '../../../packages/testing/worker/sqlite.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { ObjectFiles } from '../log/object-files.ts';
import { completeLimits } from '../sql/query-limits.ts';
import type { Sqlite } from '../vfs/sqlite-module.ts';
import { Databases } from './databases.ts';
import { ObjectStorage } from './object-storage.ts';
import type { StorageEnvironment } from './storage-environment.ts';

const ALONE: StorageEnvironment = {
  now: () => Date.now(),
  nextTurn: (task) => queueMicrotask(task),
  section: async (closure) => closure(),
  continuation: () => (task) => task(),
  onBroken: (error) => {
    throw error;
  },
  onAlarm: () => {},
  checkAlarm: () => {},
  live: () => () => () => {},
};

async function open(databases: Databases, directory: MemoryDirectory): Promise<ObjectStorage> {
  const files = await ObjectFiles.open(directory, { now: () => Date.now(), randomUint32: () => 1 });
  return new ObjectStorage(files, (log, events) => databases.open(log, events), ALONE);
}

/** Values that fill a cache, and so the memory of SQLite. */
async function fill(storage: ObjectStorage): Promise<void> {
  for (let n = 0; n < 200; n++) storage.put([[`key ${n}`, new Uint8Array(100_000).fill(n)]]);
  await storage.durability();
}

test('[MANY7] memory that has grown is given back when the last database is closed, and not before', async () => {
  const renewed: Sqlite[] = [];
  const first = await loadSqliteInNode();
  const renew = vi.fn(() => {
    const fresh = first.renew();
    renewed.push(fresh);
    return { ...fresh, renew };
  });
  const databases = new Databases({ ...first, renew }, completeLimits());
  const [one, other] = [new MemoryDirectory(), new MemoryDirectory()];
  const filled = await open(databases, one);
  const beside = await open(databases, other);
  await fill(filled);
  await filled.close();
  expect(renew).not.toHaveBeenCalled();
  beside.put([['key', new Uint8Array([1])]]);
  await beside.close();
  expect(renew).toHaveBeenCalledTimes(1);
  expect(renewed[0]!.memory.u8.length).toBeLessThan(16 * 1024 * 1024);
  expect(await loadSqliteInNode()).toMatchObject({ countTable: renewed[0]!.countTable });

  // The fresh instance reads the stored data; memory that is small stays.
  const again = await open(databases, one);
  expect(again.get('key 199', (bytes) => [bytes.length, bytes[0]])).toEqual([100_000, 199]);
  await again.close();
  expect(renew).toHaveBeenCalledTimes(1);
});

test('[MANY7] without memory for a fresh instance, the grown one stays in use', async () => {
  const sqlite = await loadSqliteInNode();
  const renew = vi.fn(() => {
    throw new RangeError('WebAssembly.Memory(): could not allocate memory');
  });
  const databases = new Databases({ ...sqlite, renew }, completeLimits());
  const directory = new MemoryDirectory();
  const filled = await open(databases, directory);
  await fill(filled);
  await filled.close();
  expect(renew).toHaveBeenCalledTimes(1);
  const again = await open(databases, directory);
  expect(again.get('key 7', (bytes) => bytes[0])).toBe(7);
  await again.close();
});
