// Rows of files in IndexedDB: one database per directory of a host, used by one worker, the one that leads.
//
// Invariants: a transaction that stores anything is strict, so that what it stored survives a loss of power. A
// lost connection is not opened again: whoever holds these rows ends, and the next worker opens them.

import { type DBSchema, type IDBPDatabase, openDB } from 'idb';
import { storageError } from '../../src/contract/errors.ts';
import type { FileChange, FilePath, FileRows } from './file-rows.ts';
import { isFromFullDisk } from './full-disk.ts';

interface Schema extends DBSchema {
  /** Sizes of files. */
  files: { key: [key: string, name: string]; value: number };
  chunks: { key: [key: string, name: string, index: number]; value: Uint8Array<ArrayBuffer> };
  /** Which opening the database belongs to: `mark` and its value. */
  marks: { key: string; value: string };
}

type Store = 'files' | 'chunks' | 'marks';

const VERSION = 1;
const STORES: readonly Store[] = ['files', 'chunks', 'marks'];
const MARK = 'mark';

/** Chunks that are loaded at once, so that a large file is in memory once and not twice. */
const LOADED_CHUNKS = 1024;

/** The name of the database. */
export function databaseName(directory: string): string {
  return `ctx-storage-files/${directory}`;
}

export class IdbRows implements FileRows {
  /** Resolves when the connection is lost, to the reason. */
  readonly lost: Promise<Error>;
  readonly #name: string;
  readonly #mark = crypto.randomUUID();
  #database!: IDBPDatabase<Schema>;
  #loss: Error | undefined;
  #tellLoss: (reason: Error) => void = () => {};

  private constructor(name: string) {
    this.#name = name;
    this.lost = new Promise((resolve) => {
      this.#tellLoss = resolve;
    });
  }

  /** Opens the rows of a directory, and leaves the mark of this opening. @throws OPFS_UNAVAILABLE, DISK_FULL */
  static async open(directory: string): Promise<IdbRows> {
    const rows = new IdbRows(databaseName(directory));
    try {
      rows.#database = await openDB<Schema>(rows.#name, VERSION, {
        upgrade(database) {
          for (const store of STORES) database.createObjectStore(store);
        },
        // To stay connected would block the other for as long as this worker lives.
        blocking: (_version, otherVersion) =>
          rows.#lose(
            otherVersion === null
              ? 'it was deleted'
              : 'a newer version of this package has opened it',
          ),
        // Site data was cleared, the disk failed, or the browser's database process ended.
        terminated: () => rows.#lose('the browser has closed it'),
      });
      await rows.#database.put('marks', rows.#mark, MARK);
    } catch (cause) {
      rows.close();
      throw await openError(cause as DOMException);
    }
    return rows;
  }

  /**
   * False if the database was deleted, even if another page has created it again since. Never rejects; true
   * if it cannot be found out.
   */
  async exists(): Promise<boolean> {
    try {
      if (this.#loss === undefined) return (await this.#readMark(this.#database)) === this.#mark;
    } catch {
      // The connection is being lost; another one tells.
    }
    try {
      return (
        (await openExisting(this.#name, (database) => this.#readMark(database))) === this.#mark
      );
    } catch {
      return true;
    }
  }

  async keys(): Promise<string[]> {
    const paths = await this.#use('list', (database) => database.getAllKeys('files'));
    return [...new Set(paths.map(([key]) => key))];
  }

  async files(key: string): Promise<ReadonlyMap<string, number>> {
    const range = below([key]);
    return await this.#use('list', async (database) => {
      const { store } = database.transaction('files');
      const [paths, sizes] = await Promise.all([store.getAllKeys(range), store.getAll(range)]);
      return new Map(paths.map(([, name], i) => [name, sizes[i]!]));
    });
  }

  chunkCount({ key, name }: FilePath): Promise<number> {
    return this.#use('read', (database) => database.count('chunks', below([key, name])));
  }

  async load(
    { key, name }: FilePath,
    take: (index: number, bytes: Uint8Array) => void,
  ): Promise<void> {
    await this.#use('read', async (database) => {
      const { store } = database.transaction('chunks');
      for (let range = below([key, name]); ; ) {
        const [keys, chunks] = await Promise.all([
          store.getAllKeys(range, LOADED_CHUNKS),
          store.getAll(range, LOADED_CHUNKS),
        ]);
        for (const [i, [, , index]] of keys.entries()) take(index, chunks[i]!);
        const last = keys.at(-1);
        if (last === undefined || keys.length < LOADED_CHUNKS) return;
        range = IDBKeyRange.bound(last, [key, name, []], true, true);
      }
    });
  }

  async save(changes: readonly FileChange[]): Promise<void> {
    await this.#use('write', async (database) => {
      const transaction = database.transaction(['files', 'chunks'], 'readwrite', {
        durability: 'strict',
      });
      const files = transaction.objectStore('files');
      const chunks = transaction.objectStore('chunks');
      const requests: Promise<unknown>[] = [];
      for (const { path, cutAt, chunks: changed, sizeBytes } of changes) {
        const { key, name } = path;
        if (cutAt !== null) requests.push(chunks.delete(below([key, name], cutAt)));
        for (const [index, bytes] of changed) {
          const at: Schema['chunks']['key'] = [key, name, index];
          requests.push(bytes === null ? chunks.delete(at) : chunks.put(bytes, at));
        }
        if (sizeBytes !== null) requests.push(files.put(sizeBytes, [key, name]));
      }
      await committed(transaction, requests);
    });
  }

  async remove(key: string, name?: string): Promise<void> {
    const range = below(name === undefined ? [key] : [key, name]);
    await this.#use('write', async (database) => {
      const transaction = database.transaction(['files', 'chunks'], 'readwrite');
      const files = transaction.objectStore('files');
      const chunks = transaction.objectStore('chunks');
      await committed(transaction, [
        files.delete(name === undefined ? range : IDBKeyRange.only([key, name])),
        chunks.delete(range),
      ]);
    });
  }

  close(): void {
    this.#lose('it is closed');
  }

  async #use<T>(
    operation: 'list' | 'read' | 'write',
    action: (database: IDBPDatabase<Schema>) => Promise<T>,
  ): Promise<T> {
    if (this.#loss !== undefined) throw this.#loss;
    try {
      return await action(this.#database);
    } catch (cause) {
      if (await isFromFullDisk(cause)) throw diskFull(cause);
      if (this.#loss !== undefined) throw this.#loss;
      const { message } = cause as DOMException;
      throw storageError('IO', `The files in IndexedDB, ${operation}: ${message}`, { cause });
    }
  }

  #readMark(database: IDBPDatabase<Schema>): Promise<string | undefined> {
    return database.get('marks', MARK);
  }

  #lose(reason: string): void {
    if (this.#loss !== undefined) return;
    this.#loss = storageError(
      'IO',
      `The connection to the database of this site (IndexedDB) is lost: ${reason}. The next call opens it ` +
        'again.',
    );
    this.#database?.close();
    this.#tellLoss(this.#loss);
  }
}

/** Everything below a key, from the first index on. */
function below(key: readonly string[], first?: number): IDBKeyRange {
  const lower = first === undefined ? key : [...key, first];
  // An array comes after every string and number.
  return IDBKeyRange.bound(lower, [...key, []], false, true);
}

interface Transaction {
  readonly done: Promise<void>;
  commit(): void;
}

/** Why a transaction was aborted is its own error; that of a request may only say that it was. */
async function committed(transaction: Transaction, requests: Promise<unknown>[]): Promise<void> {
  const all = Promise.all(requests);
  all.catch(() => {});
  transaction.commit();
  await transaction.done;
}

/** Uses a database that exists; undefined if it does not. */
async function openExisting<T>(
  name: string,
  use: (database: IDBPDatabase<Schema>) => Promise<T>,
): Promise<T | undefined> {
  let isNew = false;
  const database = await openDB<Schema>(name, VERSION, {
    upgrade: (_database, _old, _new, transaction) => {
      isNew = true;
      transaction.abort();
    },
  }).catch((error: unknown) => {
    if (isNew) return undefined;
    throw error;
  });
  try {
    return database === undefined ? undefined : await use(database);
  } finally {
    database?.close();
  }
}

async function openError(cause: DOMException): Promise<Error> {
  if (await isFromFullDisk(cause)) return diskFull(cause);
  if (cause.name === 'VersionError') {
    return storageError(
      'OPFS_UNAVAILABLE',
      'The files in IndexedDB were made by a newer version of this package, which is needed to open them.',
      { cause },
    );
  }
  return storageError(
    'OPFS_UNAVAILABLE',
    'This browser offers no files with synchronous access handles here, and refused IndexedDB, which ' +
      `would do instead (site data that is blocked?): ${cause.message}`,
    { cause },
  );
}

function diskFull(cause: unknown): Error {
  return storageError(
    'DISK_FULL',
    'The files in IndexedDB could not be written: the disk, or what the browser grants this site of it, is ' +
      'full; what is stored is kept. Delete data, or make room.',
    { cause },
  );
}
