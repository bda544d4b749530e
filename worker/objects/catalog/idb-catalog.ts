// The catalog in IndexedDB, which can be read while every object's files are closed.
//
// One database per directory, used by the worker that leads. A lost connection is not reopened: if the
// database was deleted meanwhile, a new one would hold only later entries and look complete. The owner of
// the catalog is informed, and ends; the next host finds it empty and rebuilds it from the folders.

import { type DBSchema, type IDBPDatabase, type IDBPObjectStore, openDB } from 'idb';
import {
  isStorageError,
  type StorageError,
  storageError,
} from '../../../src/shared/contract/errors.ts';
import { isFromFullDisk } from '../../engine/file/full-disk.ts';
import {
  IdbTurns,
  lockedError,
  SilentDatabase,
  whileAnswering,
} from '../../engine/file/idb-turns.ts';
import {
  ALL,
  asLeaving,
  type CatalogEntry,
  type CatalogPart,
  isKnown,
  type ObjectCatalog,
  withName,
} from './catalog.ts';

interface Schema extends DBSchema {
  objects: {
    key: string;
    value: CatalogEntry;
    // Null cannot be a key of an index, so an entry without a time is not in the index.
    indexes: { className: string; wakeMs: number };
  };
}

const STORE = 'objects';
const VERSION = 1;

export class IdbCatalog implements ObjectCatalog {
  readonly #database: CatalogDatabase;

  private constructor(database: CatalogDatabase) {
    this.#database = database;
  }

  /**
   * Opens the catalog of a directory. Calls `onLost` once, when the database was deleted, taken over or removed by the
   * browser. Every later call rejects with the error that `onLost` returns.
   *
   * @throws OPFS_UNAVAILABLE when the browser refuses, DISK_FULL, STORAGE_LOCKED
   */
  static async open(
    directory: string,
    onLost: OnLost = async (error) => error,
  ): Promise<IdbCatalog> {
    return new IdbCatalog(await CatalogDatabase.open(`ctx-storage/${directory}`, onLost));
  }

  build(entries: readonly CatalogEntry[]): Promise<void> {
    return this.#database.use('write', async (database) => {
      const { store, done } = database.transaction(STORE, 'readwrite', { durability: 'strict' });
      await Promise.all([...entries.map((entry) => store.put(entry)), done]);
    });
  }

  add(entry: CatalogEntry): Promise<boolean> {
    return this.#database.use('write', async (database) => {
      // An alarm that survives a loss of power must be found through its entry.
      const durability = entry.wakeMs === null ? 'relaxed' : 'strict';
      const { store, done } = database.transaction(STORE, 'readwrite', { durability });
      const put = async () => {
        const known = await store.get(entry.key);
        if (!isKnown(entry, known)) await store.put(withName(entry, known));
        return known?.isStored === true;
      };
      const [wasStored] = await Promise.all([put(), done]);
      return wasStored;
    });
  }

  find(key: string): Promise<CatalogEntry | undefined> {
    return this.#read((store) => store.get(key));
  }

  stored(key: string): Promise<void> {
    return this.#change(key, 'relaxed', (known) => ({ ...known, isStored: true }));
  }

  leaving(key: string): Promise<void> {
    return this.#change(key, 'strict', asLeaving);
  }

  rest(key: string, wakeMs: number | null): Promise<void> {
    return this.#change(key, 'default', (known) => ({ ...known, wakeMs }));
  }

  remove(key: string): Promise<void> {
    return this.#database.use('write', (database) => database.delete(STORE, key));
  }

  list(className: string, { after, limit }: CatalogPart = ALL): Promise<CatalogEntry[]> {
    // The key of an object is the name of its class, a dot and its id.
    const first = `${className}.${after ?? ''}`;
    const keys = IDBKeyRange.bound(first, `${className}.g`, true, true);
    const count = Number.isFinite(limit) ? limit : undefined;
    return this.#read((store) => store.getAll(keys, count));
  }

  wakes(): Promise<CatalogEntry[]> {
    return this.#read((store) => store.index('wakeMs').getAll());
  }

  async isEmpty(): Promise<boolean> {
    return (await this.#read((store) => store.count())) === 0;
  }

  close(): void {
    this.#database.close();
  }

  #read<T>(
    read: (store: IDBPObjectStore<Schema, ['objects'], 'objects'>) => Promise<T>,
  ): Promise<T> {
    return this.#database.use('read', async (database) => {
      const { store, done } = database.transaction(STORE);
      const [result] = await Promise.all([read(store), done]);
      return result;
    });
  }

  #change(
    key: string,
    durability: IDBTransactionDurability,
    change: (known: CatalogEntry) => CatalogEntry,
  ): Promise<void> {
    return this.#database.use('write', async (database) => {
      const { store, done } = database.transaction(STORE, 'readwrite', { durability });
      const put = async () => {
        const known = await store.get(key);
        if (known !== undefined) await store.put(change(known));
      };
      await Promise.all([put(), done]);
    });
  }
}

/** Called with the reason why the connection is lost; resolves to the error of every later call. */
type OnLost = (error: StorageError) => Promise<unknown>;

/** The IndexedDB database. Once its connection is lost, every call throws the reason; all its errors have codes. */
class CatalogDatabase {
  readonly #turns = new IdbTurns();
  readonly #onLost: OnLost;
  #database: IDBPDatabase<Schema> | undefined;
  /** Resolves to the error of every call after the connection was lost; undefined while the connection is open. */
  #end: Promise<unknown> | undefined;

  private constructor(onLost: OnLost) {
    this.#onLost = onLost;
  }

  static async open(name: string, onLost: OnLost): Promise<CatalogDatabase> {
    const catalog = new CatalogDatabase(onLost);
    try {
      await whileAnswering(() => catalog.#open(name));
    } catch (cause) {
      catalog.close();
      throw await openError(cause as DOMException);
    }
    return catalog;
  }

  async #open(name: string): Promise<void> {
    this.#database = await openDB<Schema>(name, VERSION, {
      upgrade(database) {
        const store = database.createObjectStore(STORE, { keyPath: 'key' });
        store.createIndex('className', 'className');
        store.createIndex('wakeMs', 'wakeMs');
      },
      // An open connection would block the deletion or the newer version as long as this worker lives.
      blocking: (_version, otherVersion) =>
        this.#lose(
          otherVersion === null
            ? 'it was deleted'
            : 'a newer version of this package has opened it',
        ),
      // Site data was cleared, or the disk failed.
      terminated: () => this.#lose('the browser has closed it'),
    });
    // The browser has opened the database only after the caller stopped waiting.
    if (this.#end !== undefined) this.#database.close();
  }

  async use<T>(
    operation: 'read' | 'write',
    action: (database: IDBPDatabase<Schema>) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.#turns.take(async () => {
        if (this.#end === undefined && this.#database !== undefined) {
          return await action(this.#database);
        }
        throw await this.#end;
      });
    } catch (cause) {
      if (isStorageError(cause)) throw cause;
      if (cause instanceof SilentDatabase) this.#lose(cause.message);
      // The loss of the connection has aborted this transaction.
      if (this.#end !== undefined) throw await this.#end;
      if (await isFromFullDisk(cause)) throw diskFull(cause);
      const { message } = cause as DOMException;
      throw storageError('IO', `The catalog of objects (IndexedDB), ${operation}: ${message}`, {
        cause,
      });
    }
  }

  close(): void {
    this.#end ??= Promise.resolve(storageError('IO', 'The catalog of objects is closed.'));
    this.#database?.close();
  }

  #lose(fact: string): void {
    this.#end ??= this.#onLost(
      storageError(
        'CONNECTION_CLOSED',
        `The catalog of objects (IndexedDB) is lost: ${fact}. Repeat the call: the next worker builds it ` +
          'again from the files.',
      ),
    );
    this.#database?.close();
  }
}

async function openError(cause: DOMException): Promise<Error> {
  if (await isFromFullDisk(cause)) return diskFull(cause);
  if (cause instanceof SilentDatabase)
    return lockedError('The catalog of objects (IndexedDB)', cause);
  if (cause.name === 'VersionError') {
    return storageError(
      'FORMAT_TOO_NEW',
      'The catalog of objects (IndexedDB) has a newer format than version ' +
        `${VERSION}, which this package reads. Update the package. (${cause.message})`,
      { cause },
    );
  }
  return storageError(
    'OPFS_UNAVAILABLE',
    'The browser refused IndexedDB, where the catalog of objects is kept (a private window, or ' +
      `site data that is blocked?): ${cause.message}`,
    { cause },
  );
}

function diskFull(cause: unknown): Error {
  return storageError(
    'DISK_FULL',
    'The catalog of objects (IndexedDB) could not be opened or written: the disk, or the part that the ' +
      'browser grants this site, is full. Delete objects, or make room.',
    { cause },
  );
}
