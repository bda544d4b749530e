// Rows of files in IndexedDB: one database per directory of a host, used by the worker that leads.
//
// Invariants: a transaction that stores anything is strict, so that its data survives a loss of power. A lost
// connection, or a connection that the browser does not answer, is not used again: the owner of these rows
// ends, and the next worker opens them.

import { type DBSchema, type IDBPDatabase, type IDBPObjectStore, openDB } from 'idb';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type { FileChange, FilePath, FileRows } from './file-rows.ts';
import { isFromFullDisk } from './full-disk.ts';
import {
  type Heard,
  IdbTurns,
  lockedError,
  SILENCE,
  SilentDatabase,
  whileAnswering,
} from './idb-turns.ts';

interface Schema extends DBSchema {
  /** The sizes of files. */
  files: { key: [key: string, name: string]; value: number };
  chunks: { key: [key: string, name: string, index: number]; value: Uint8Array<ArrayBuffer> };
  /** The mark of the database, which distinguishes it from a later database of the same name. */
  marks: { key: string; value: string };
}

type Store = 'files' | 'chunks' | 'marks';

const VERSION = 1;
const STORES: readonly Store[] = ['files', 'chunks', 'marks'];
const MARK = 'mark';

/** Number of chunks that are loaded in one request, so that a large file is not in memory twice. */
const LOADED_CHUNKS = 1024;

/** Returns the name of the database for a directory. */
export function databaseName(directory: string): string {
  return `ctx-storage-files/${directory}`;
}

export class IdbRows implements FileRows {
  /** Resolves when the connection is lost, to the reason. */
  readonly lost: Promise<Error>;
  readonly #name: string;
  #mark: string = crypto.randomUUID();
  readonly #turns = new IdbTurns();
  #database!: IDBPDatabase<Schema>;
  #loss: Error | undefined;
  #isSilent = false;
  #reportLoss: (reason: Error) => void = () => {};

  private constructor(name: string) {
    this.#name = name;
    this.lost = new Promise((resolve) => {
      this.#reportLoss = resolve;
    });
  }

  /**
   * Opens the rows of a directory. The first opening leaves the mark: later ones store nothing, because the disk may be
   * full.
   *
   * @throws OPFS_UNAVAILABLE, DISK_FULL, STORAGE_LOCKED
   */
  static async open(directory: string): Promise<IdbRows> {
    const rows = new IdbRows(databaseName(directory));
    try {
      await whileAnswering(() => rows.#open());
      await rows.#turns.take(() => rows.#takeMark());
    } catch (cause) {
      rows.close();
      throw await openError(cause as DOMException);
    }
    return rows;
  }

  async #open(): Promise<void> {
    this.#database = await openDB<Schema>(this.#name, VERSION, {
      upgrade(database) {
        for (const store of STORES) database.createObjectStore(store);
      },
      // An open connection would block the deletion or the newer version as long as this worker lives.
      blocking: (_version, otherVersion) =>
        this.#lose(
          otherVersion === null
            ? 'it was deleted'
            : 'a newer version of this package has opened it',
        ),
      // Site data was cleared, the disk failed, or the browser's database process ended.
      terminated: () => this.#lose('the browser has closed it'),
    });
    // The browser has opened the database only after the caller stopped waiting.
    if (this.#loss !== undefined) this.#database.close();
  }

  async #takeMark(): Promise<void> {
    const known = await readMark(this.#database);
    if (known === undefined) await this.#database.put('marks', this.#mark, MARK);
    else this.#mark = known;
  }

  get isLost(): boolean {
    return this.#loss !== undefined;
  }

  /**
   * Returns false if the database was deleted, even if another page has created it again since. Returns true if that
   * cannot be found out. Never rejects.
   */
  async exists(): Promise<boolean> {
    try {
      if (this.#loss === undefined) {
        return (await this.#turns.take(() => readMark(this.#database))) === this.#mark;
      }
    } catch (error) {
      if (error instanceof SilentDatabase) this.#lose(SILENCE);
      // Any other error means that the connection is being lost, so another connection reads the mark.
    }
    if (this.#isSilent) return true;
    try {
      return (await whileAnswering(() => openExisting(this.#name, readMark))) === this.#mark;
    } catch {
      return true;
    }
  }

  async keys(): Promise<string[]> {
    const paths = await this.#read('list', 'files', (store) => store.getAllKeys());
    return [...new Set(paths.map(([key]) => key))];
  }

  files(key: string): Promise<ReadonlyMap<string, number>> {
    const range = keysBelow([key]);
    return this.#read('list', 'files', async (store) => {
      const [paths, sizes] = await Promise.all([store.getAllKeys(range), store.getAll(range)]);
      return new Map(paths.map(([, name], i) => [name, sizes[i]!]));
    });
  }

  chunkCount({ key, name }: FilePath): Promise<number> {
    return this.#read('read', 'chunks', (store) => store.count(keysBelow([key, name])));
  }

  async load(
    { key, name }: FilePath,
    take: (index: number, bytes: Uint8Array) => void,
  ): Promise<void> {
    await this.#read('read', 'chunks', async (store, heard) => {
      for (let range = keysBelow([key, name]); ; ) {
        const [keys, chunks] = await Promise.all([
          store.getAllKeys(range, LOADED_CHUNKS),
          store.getAll(range, LOADED_CHUNKS),
        ]);
        heard();
        for (const [i, [, , index]] of keys.entries()) take(index, chunks[i]!);
        const last = keys.at(-1);
        if (last === undefined || keys.length < LOADED_CHUNKS) return;
        range = IDBKeyRange.bound(last, [key, name, []], true, true);
      }
    });
  }

  async save(changes: readonly FileChange[]): Promise<void> {
    await this.#use('write', async (database, heard) => {
      const transaction = database.transaction(['files', 'chunks'], 'readwrite', {
        durability: 'strict',
      });
      const files = transaction.objectStore('files');
      const chunks = transaction.objectStore('chunks');
      const requests: Promise<unknown>[] = [];
      for (const { path, cutAt, chunks: changed, sizeBytes } of changes) {
        const { key, name } = path;
        if (cutAt !== null) requests.push(chunks.delete(keysBelow([key, name], cutAt)));
        for (const [index, bytes] of changed) {
          const at: Schema['chunks']['key'] = [key, name, index];
          requests.push(bytes === null ? chunks.delete(at) : chunks.put(bytes, at));
        }
        if (sizeBytes !== null) requests.push(files.put(sizeBytes, [key, name]));
      }
      await untilCommitted(transaction.done, requests, heard);
    });
  }

  async remove(key: string, name?: string): Promise<void> {
    const range = keysBelow(name === undefined ? [key] : [key, name]);
    await this.#use('write', async (database, heard) => {
      const transaction = database.transaction(['files', 'chunks'], 'readwrite');
      const files = transaction.objectStore('files');
      const chunks = transaction.objectStore('chunks');
      const requests = [
        files.delete(name === undefined ? range : IDBKeyRange.only([key, name])),
        chunks.delete(range),
      ];
      await untilCommitted(transaction.done, requests, heard);
    });
  }

  close(): void {
    this.#lose('it is closed');
  }

  #read<T, S extends Store>(
    operation: 'list' | 'read',
    name: S,
    read: (store: IDBPObjectStore<Schema, [S], S>, heard: Heard) => Promise<T>,
  ): Promise<T> {
    return this.#use(operation, async (database, heard) => {
      const { store, done } = database.transaction(name);
      const [result] = await Promise.all([read(store, heard), done]);
      return result;
    });
  }

  async #use<T>(
    operation: 'list' | 'read' | 'write',
    action: (database: IDBPDatabase<Schema>, heard: Heard) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.#turns.take(async (heard) => {
        if (this.#loss !== undefined) throw this.#loss;
        return await action(this.#database, heard);
      });
    } catch (cause) {
      if (cause instanceof SilentDatabase) this.#lose(SILENCE);
      if (await isFromFullDisk(cause)) throw diskFull(cause);
      if (this.#loss !== undefined) throw this.#loss;
      const { message } = cause as DOMException;
      throw storageError('IO', `The files in IndexedDB, ${operation}: ${message}`, { cause });
    }
  }

  #lose(reason: string): void {
    if (this.#loss !== undefined) return;
    this.#isSilent = reason === SILENCE;
    this.#loss = storageError(
      'IO',
      `The connection to the database of this site (IndexedDB) is lost: ${reason}. The next call opens it ` +
        'again.',
    );
    this.#database?.close();
    this.#reportLoss(this.#loss);
  }
}

/** Makes the range of all keys that begin with `key`, from the index `first` on. */
function keysBelow(key: readonly string[], first?: number): IDBKeyRange {
  const lower = first === undefined ? key : [...key, first];
  // An array comes after every string and number.
  return IDBKeyRange.bound(lower, [...key, []], false, true);
}

async function readMark(database: IDBPDatabase<Schema>): Promise<string | undefined> {
  const { store, done } = database.transaction('marks');
  const [mark] = await Promise.all([store.get(MARK), done]);
  return mark;
}

/** Waits for a transaction. @throws why a request was refused or, if none was, why the transaction was aborted */
async function untilCommitted(
  done: Promise<void>,
  requests: readonly Promise<unknown>[],
  heard: Heard,
): Promise<void> {
  let refusal: unknown;
  for (const request of requests) {
    request.then(heard, (error: unknown) => {
      refusal ??= error;
    });
  }
  try {
    await done;
  } catch (cause) {
    // The error of a request that failed only because of the abort names no cause.
    const isRefused = refusal !== undefined && (refusal as DOMException).name !== 'AbortError';
    throw isRefused ? refusal : cause;
  }
}

/** Uses a database if it exists; returns undefined if it does not. */
async function openExisting<T>(
  name: string,
  use: (database: IDBPDatabase<Schema>) => Promise<T>,
): Promise<T | undefined> {
  let isNew = false;
  const database = await openDB<Schema>(name, VERSION, {
    upgrade: (_database, _old, _new, transaction) => {
      isNew = true;
      // `done` rejects together with the opening; only the opening is awaited.
      transaction.done.catch(() => {});
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
  if (cause instanceof SilentDatabase) {
    return lockedError('The files in IndexedDB', cause);
  }
  if (cause.name === 'VersionError') {
    return storageError(
      'FORMAT_TOO_NEW',
      `The files in IndexedDB have a newer format than version ${VERSION}, which this package reads. Update the ` +
        `package. (${cause.message})`,
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
    'The files in IndexedDB could not be written: the disk, or the part that the browser grants this site, is ' +
      'full; stored data is kept. Delete data, or make room.',
    { cause },
  );
}
