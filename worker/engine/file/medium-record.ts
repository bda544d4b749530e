// Which medium holds each directory of this origin: remembered in IndexedDB, beside every medium.
//
// Invariant: an entry is durable before anything is stored on its medium. So a medium that is refused today does
// not make a directory look empty. The database is open for one transaction (see idb-turns).

import { type DBSchema, openDB } from 'idb';
import { STORAGE_MEDIA, type StorageMedium } from '../../../src/shared/contract/medium.ts';
import { answered } from './idb-turns.ts';

interface Schema extends DBSchema {
  media: { key: string; value: string };
}

/** No directory has a database of this name: theirs have a slash. */
const DATABASE = 'ctx-storage-media';
const STORE = 'media';

/** The medium of a directory; null if it has never had one. @throws SilentDatabase, or whatever IndexedDB refuses with */
export async function recordedMedium(directory: string): Promise<StorageMedium | null> {
  return await withRecord(async (database) => {
    const { store, done } = database.transaction(STORE);
    const [found] = await Promise.all([store.get(directory), done]);
    return STORAGE_MEDIA.find((medium) => medium === found) ?? null;
  });
}

/** @throws SilentDatabase, or whatever IndexedDB refuses with */
export async function recordMedium(directory: string, medium: StorageMedium): Promise<void> {
  await withRecord(async (database) => {
    const { store, done } = database.transaction(STORE, 'readwrite', { durability: 'strict' });
    await Promise.all([store.put(medium, directory), done]);
  });
}

function withRecord<T>(
  use: (database: Awaited<ReturnType<typeof openRecord>>) => Promise<T>,
): Promise<T> {
  return answered(async (heard) => {
    const database = await openRecord();
    heard();
    try {
      return await use(database);
    } finally {
      database.close();
    }
  });
}

function openRecord() {
  return openDB<Schema>(DATABASE, 1, {
    upgrade: (database) => void database.createObjectStore(STORE),
  });
}
