// The catalog in IndexedDB, which can be read while every object's files are closed.
//
// One database a directory. It has one holder, the worker that leads.

import { type DBSchema, type IDBPDatabase, openDB } from 'idb';
import { storageError } from '../../src/contract/errors.ts';
import { type CatalogEntry, type ObjectCatalog, withName } from './catalog.ts';

interface Schema extends DBSchema {
  objects: {
    key: string;
    value: CatalogEntry;
    // Null is no key of an index: an entry without a time is not in it.
    indexes: { className: string; wakeMs: number };
  };
}

const STORE = 'objects';
const VERSION = 1;

export class IdbCatalog implements ObjectCatalog {
  readonly #database: IDBPDatabase<Schema>;

  private constructor(database: IDBPDatabase<Schema>) {
    this.#database = database;
  }

  /** @throws OPFS_UNAVAILABLE when the browser refuses, DISK_FULL */
  static async open(directory: string): Promise<IdbCatalog> {
    return attempt('open', async () => {
      const database = await openDB<Schema>(`ctx-storage/${directory}`, VERSION, {
        upgrade(upgraded) {
          const store = upgraded.createObjectStore(STORE, { keyPath: 'key' });
          store.createIndex('className', 'className');
          store.createIndex('wakeMs', 'wakeMs');
        },
        // Somebody deletes the database, or a newer version of this package opens it.
        blocking: () => database.close(),
      });
      return new IdbCatalog(database);
    });
  }

  async add(entry: CatalogEntry): Promise<void> {
    await attempt('write', async () => {
      // An alarm that outlives a loss of power must be found by this.
      const durability = entry.wakeMs === null ? 'relaxed' : 'strict';
      const { store, done } = this.#database.transaction(STORE, 'readwrite', { durability });
      const known = await store.get(entry.key);
      await store.put(withName(entry, known));
      await done;
    });
  }

  async rest(key: string, wakeMs: number | null): Promise<void> {
    await attempt('write', async () => {
      const { store, done } = this.#database.transaction(STORE, 'readwrite');
      const known = await store.get(key);
      if (known !== undefined) await store.put({ ...known, wakeMs });
      await done;
    });
  }

  async remove(key: string): Promise<void> {
    await attempt('write', () => this.#database.delete(STORE, key));
  }

  async list(className: string): Promise<CatalogEntry[]> {
    return attempt('read', () => this.#database.getAllFromIndex(STORE, 'className', className));
  }

  async wakes(): Promise<CatalogEntry[]> {
    return attempt('read', () => this.#database.getAllFromIndex(STORE, 'wakeMs'));
  }

  async isEmpty(): Promise<boolean> {
    return (await attempt('read', () => this.#database.count(STORE))) === 0;
  }

  close(): void {
    this.#database.close();
  }
}

async function attempt<T>(operation: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (cause) {
    const { name, message } = cause as DOMException;
    if (name === 'QuotaExceededError') {
      const text = `The catalog of objects (IndexedDB) could not be written: the disk is full.`;
      throw storageError('DISK_FULL', text, { cause });
    }
    if (operation === 'open') {
      throw storageError(
        'OPFS_UNAVAILABLE',
        `The browser refused IndexedDB, where the catalog of objects is kept: ${message}`,
        { cause },
      );
    }
    throw storageError('IO', `The catalog of objects (IndexedDB), ${operation}: ${message}`, {
      cause,
    });
  }
}
