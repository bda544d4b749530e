// Which medium holds each directory of this origin: remembered in IndexedDB, beside every medium.
//
// Invariant: an entry is durable before anything is stored on its medium. So a medium that is refused today does
// not make a directory look empty.

import { type DBSchema, openDB } from 'idb';
import { STORAGE_MEDIA, type StorageMedium } from '../../src/contract/medium.ts';

interface Schema extends DBSchema {
  media: { key: string; value: string };
}

/** No directory has a database of this name: theirs have a slash. */
const DATABASE = 'ctx-storage-media';
const STORE = 'media';

/** The medium of a directory; null if it has never had one. @throws whatever IndexedDB refuses with */
export async function recordedMedium(directory: string): Promise<StorageMedium | null> {
  return await withRecord(async (database) => {
    const found = await database.get(STORE, directory);
    return STORAGE_MEDIA.find((medium) => medium === found) ?? null;
  });
}

/** @throws whatever IndexedDB refuses with */
export async function recordMedium(directory: string, medium: StorageMedium): Promise<void> {
  await withRecord(async (database) => {
    const { store, done } = database.transaction(STORE, 'readwrite', { durability: 'strict' });
    await Promise.all([store.put(medium, directory), done]);
  });
}

async function withRecord<T>(
  use: (database: Awaited<ReturnType<typeof openRecord>>) => Promise<T>,
): Promise<T> {
  const database = await openRecord();
  try {
    return await use(database);
  } finally {
    database.close();
  }
}

function openRecord() {
  return openDB<Schema>(DATABASE, 1, {
    upgrade: (database) => void database.createObjectStore(STORE),
  });
}
