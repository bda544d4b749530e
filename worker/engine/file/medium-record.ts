// Remembers in IndexedDB which medium (OPFS or IndexedDB) holds each directory of this origin.
//
// Invariant: an entry is durable before data is stored on its medium. So if the browser refuses the medium later, the
// directory does not look empty. The database is opened for one transaction at a time (see idb-turns).

import { type DBSchema, openDB } from 'idb';
import { STORAGE_MEDIA, type StorageMedium } from '../../../src/shared/contract/medium.ts';
import { whileAnswering } from './idb-turns.ts';

interface Schema extends DBSchema {
  media: { key: string; value: string };
}

/** The name of the database; the names of directories' databases contain a slash, so they differ. */
const DATABASE = 'ctx-storage-media';
const STORE = 'media';

/**
 * Returns the recorded medium of a directory; null if there is none.
 *
 * @throws SilentDatabase, or whatever IndexedDB refuses with
 */
export async function recordedMedium(directory: string): Promise<StorageMedium | null> {
  return await withRecord(async (database) => {
    const { store, done } = database.transaction(STORE);
    const [found] = await Promise.all([store.get(directory), done]);
    return STORAGE_MEDIA.find((medium) => medium === found) ?? null;
  });
}

/** Records the medium of a directory. @throws SilentDatabase, or whatever IndexedDB refuses with */
export async function recordMedium(directory: string, medium: StorageMedium): Promise<void> {
  await withRecord(async (database) => {
    const { store, done } = database.transaction(STORE, 'readwrite', { durability: 'strict' });
    await Promise.all([store.put(medium, directory), done]);
  });
}

function withRecord<T>(
  use: (database: Awaited<ReturnType<typeof openRecord>>) => Promise<T>,
): Promise<T> {
  return whileAnswering(async (heard) => {
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
