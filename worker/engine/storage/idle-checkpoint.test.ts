// The checkpoint of an object that commits nothing any more; the test runs its timers.

import { beforeEach, expect, test } from 'vitest';
import { loadSqliteInNode } from '../../testing/sqlite.ts';
import { noise, TestEnvironment, WatchedDirectory } from '../../testing/test-log.ts';
import { ObjectFiles } from '../log/object-files.ts';
import { openLogDatabase } from './databases.ts';
import { ObjectStorage } from './object-storage.ts';

let timers: { readonly delayMs: number; readonly task: () => void }[];
let directory: WatchedDirectory;
/** The files that were flushed, in order. */
let flushes: string[];

beforeEach(() => {
  timers = [];
  flushes = [];
  directory = new WatchedDirectory();
  directory.fails = (call, name) => {
    if (call === 'flush') flushes.push(name);
    return false;
  };
});

async function open(): Promise<ObjectStorage> {
  const sqlite = await loadSqliteInNode();
  const files = await ObjectFiles.open(directory, new TestEnvironment(), { isChecked: true });
  return new ObjectStorage(files, (log, events) => openLogDatabase(sqlite, log, events), {
    now: () => 0,
    nextTurn: (task) => queueMicrotask(task),
    afterRealTime: (delayMs, task) => void timers.push({ delayMs, task }),
    section: async (closure) => closure(),
    continuation: () => (task) => task(),
    onBroken: (error) => {
      throw error;
    },
    onAlarm: () => {},
    checkAlarm: () => {},
    live: () => () => () => {},
  });
}

/** One commit, of about 4 KB of log. */
async function put(storage: ObjectStorage, seed: number): Promise<void> {
  storage.put([['key', noise(seed, 2000)]]);
  await storage.durability();
}

/** More log than a quarter of the bound of a checkpoint, and less than the bound. */
async function fill(storage: ObjectStorage): Promise<void> {
  for (let seed = 0; seed < 30; seed++) await put(storage, seed);
}

function runTimers(): void {
  for (const { task } of timers.splice(0)) task();
}

const mainFile = () => Buffer.from(directory.flushed.get('main') ?? []);

test('[LOG34] a second without a commit, and the main file contains everything', async () => {
  const storage = await open();
  await fill(storage);
  expect(timers.map(({ delayMs }) => delayMs)).toEqual([1000]);
  await put(storage, 100);
  runTimers();
  expect(flushes).not.toContain('main');
  expect(timers).toHaveLength(1);
  runTimers();
  expect(mainFile()).toEqual(Buffer.from(storage.databaseBytes()));
  expect(flushes.filter((name) => name === 'main')).toHaveLength(1);
  expect(timers).toHaveLength(0);
  await storage.close();
});

test('[LOG34] little log is left for the next opening to redo', async () => {
  const storage = await open();
  for (let seed = 0; seed < 10; seed++) await put(storage, seed);
  expect(timers).toHaveLength(0);
  await storage.close();
});

test('[LOG34] an object that commits nothing flushes nothing', async () => {
  const first = await open();
  await fill(first);
  await first.close();
  timers = [];
  const storage = await open();
  flushes = [];
  storage.get('key', () => {});
  expect(timers).toHaveLength(0);
  expect(flushes).toEqual([]);
  await storage.close();
});

test('[LOG34] no checkpoint waits where flushes end later: opening reads whole files there', async () => {
  directory.isLate = true;
  const release = setInterval(() => directory.release());
  const storage = await open();
  await fill(storage);
  expect(timers).toHaveLength(0);
  await storage.close();
  clearInterval(release);
});

test('[LOG34] an object that has ended makes no checkpoint', async () => {
  const storage = await open();
  await fill(storage);
  expect(timers).toHaveLength(1);
  await storage.close();
  runTimers();
  expect(directory.afterClose).toEqual([]);
  expect(flushes).not.toContain('main');
});
