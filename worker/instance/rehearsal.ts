// The way of a write from SQL to the file and back, run once in memory, in a worker that waits to lead.
//
// Browsers compile wasm functions and JavaScript when they first run. Without a rehearsal, whoever waits for a takeover
// waits for that too: about half of the time that the new leader takes.
//
// Keeps true: it leaves nothing behind but compiled code, and needs no file, lock or timer.

import { MemoryDirectory } from '../file/memory-file.ts';
import { ObjectFiles } from '../log/object-files.ts';
import type { OpenDatabase } from '../storage/moment.ts';
import { ObjectStorage } from '../storage/object-storage.ts';
import type { StorageEnvironment } from '../storage/storage-environment.ts';

/** Writes and reads an object, opens it again as a new leader would, and writes once more. */
export async function rehearse(openDatabase: OpenDatabase): Promise<void> {
  const directory = new MemoryDirectory();
  await useOnce(openDatabase, directory);
  await useOnce(openDatabase, directory);
}

async function useOnce(openDatabase: OpenDatabase, directory: MemoryDirectory): Promise<void> {
  const environment = { now: () => Date.now(), randomUint32: () => 1 };
  const files = await ObjectFiles.open(directory, environment);
  const storage = new ObjectStorage(files, openDatabase, ALONE);
  storage.put([['key', new Uint8Array([0])]]);
  storage.get('key', (bytes) => bytes.length);
  await storage.durability();
  storage.sql.exec('CREATE TABLE IF NOT EXISTS rehearsal (id INTEGER PRIMARY KEY, value)');
  storage.sql.exec('INSERT INTO rehearsal (value) VALUES (?)', 'once').toArray();
  storage.sql.exec('SELECT id, value FROM rehearsal ORDER BY id').toArray();
  await storage.durability();
  await storage.close();
}

/** Of an object that nobody else uses. */
const ALONE: StorageEnvironment = {
  now: () => Date.now(),
  nextTurn: (task) => queueMicrotask(task),
  section: async (closure) => closure(),
  continuation: () => (task) => task(),
  onBroken: () => {},
  onAlarm: () => {},
  checkAlarm: () => {},
  live: () => () => () => {},
};
