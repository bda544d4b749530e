// Stores results of live reads for a page's next visit, in one IndexedDB database per site. The leading workers write it,
// and pages read it before a worker has started.
//
// Invariant: the key of a result contains all that it depends on: format, directory, object, user, and read. The
// version of the IndexedDB database never changes, so that no build of this package locks another one out; the first part
// of each key is the version of the format instead.

/** The version of the stored format. Results with another version are not read, and deleted only when they are too old. */
const KEPT_FORMAT = 1;

const DATABASE = 'ctx-storage-kept';
const RESULTS = 'results';
const METADATA = 'facts';

/** The age at which a result is deleted: 30 days, like the default length of an object's history. */
export const KEPT_MS_MAX = 30 * 24 * 60 * 60 * 1000;

/** The most characters of a read's description. The results of longer reads (with large bindings) are not stored. */
export const KEPT_READ_MAX = 8192;

/** The most bytes of a stored result. */
export const KEPT_RESULT_BYTES_MAX = 512 * 1024;

/** The most results of all directories of the site together. The next constant limits their bytes. */
export const KEPT_RESULTS_MAX = 100;
export const KEPT_BYTES_MAX = 8 * 1024 * 1024;

export type KeptKey = readonly [
  format: number,
  directory: string,
  object: string,
  user: string,
  read: string,
];

/** The metadata of a result, which can be read without loading the result. */
interface Metadata {
  readonly bytes: number;
  /** The time when the result was stored, in milliseconds since the epoch. */
  readonly keptMs: number;
  /** SQLite's schema version of the object at the time of the read. Each change of the schema increases it. */
  readonly schema: number;
}

export interface KeptResult {
  readonly bytes: Uint8Array;
  readonly keptMs: number;
}

/** A result that replaces the stored result. If `bytes` is null, the stored result is deleted. */
export interface KeptChange {
  readonly key: KeptKey;
  readonly bytes: Uint8Array | null;
  readonly keptMs: number;
  /** The schema version; null if it is unknown, because the read has failed. */
  readonly schema: number | null;
}

/** Makes the key of a result. `user` is undefined if the app does not say who is signed in. */
export function keptKey(
  directory: string,
  object: string,
  user: string | undefined,
  read: string,
): KeptKey {
  // The prefix distinguishes a user with an empty name from no user.
  return [KEPT_FORMAT, directory, object, user === undefined ? '' : `=${user}`, read];
}

/** Makes the range of the keys of a directory, or of one of its objects. */
export function keptBelow(directory: string, object?: string): IDBKeyRange {
  const start = [KEPT_FORMAT, directory, ...(object === undefined ? [] : [object])];
  return IDBKeyRange.bound(start, [...start, []]);
}

/**
 * A connection to the database. It closes itself when the database is being deleted, because an open connection would
 * block the deletion.
 */
export class KeptDatabase {
  readonly #database: IDBDatabase;
  /** True if this connection can no longer be used. A new connection can be opened. */
  isClosed = false;

  private constructor(database: IDBDatabase) {
    this.#database = database;
    database.onversionchange = () => this.close();
    database.onclose = () => {
      this.isClosed = true;
    };
  }

  /**
   * Opens the database. Creates it if `mayCreate` is true; otherwise, returns null if it does not exist.
   *
   * @throws DOMException from the browser, for a database that is blocked, full or newer
   */
  static open(factory: IDBFactory, mayCreate: boolean): Promise<KeptDatabase | null> {
    return new Promise((resolve, reject) => {
      const opening = factory.open(DATABASE, 1);
      let isMissing = false;
      opening.onupgradeneeded = () => {
        if (mayCreate) {
          opening.result.createObjectStore(RESULTS);
          opening.result.createObjectStore(METADATA);
        } else {
          isMissing = true;
          opening.transaction!.abort();
        }
      };
      opening.onsuccess = () => resolve(new KeptDatabase(opening.result));
      opening.onerror = (event) => {
        event.preventDefault();
        if (isMissing) resolve(null);
        else reject(opening.error);
      };
    });
  }

  /** Reads the result with this key. @throws DOMException */
  async find(key: KeptKey): Promise<KeptResult | undefined> {
    const transaction = this.#database.transaction(RESULTS);
    const request = transaction.objectStore(RESULTS).get(key as unknown as IDBValidKey);
    await transactionEnd(transaction);
    return request.result as KeptResult | undefined;
  }

  /**
   * Stores the changes, in order. A result with a new schema version deletes its object's earlier results. Then deletes
   * the oldest results beyond the limits. @throws DOMException
   */
  async keep(changes: readonly KeptChange[], nowMs: number): Promise<void> {
    const transaction = this.#database.transaction([RESULTS, METADATA], 'readwrite');
    const facts = transaction.objectStore(METADATA);
    const results = transaction.objectStore(RESULTS);
    const keys = facts.getAllKeys();
    const all = facts.getAll();
    all.onsuccess = () => {
      const metadataByKey = new Map<string, readonly [KeptKey, Metadata]>();
      for (const [i, key] of (keys.result as unknown as KeptKey[]).entries()) {
        metadataByKey.set(keyText(key), [key, all.result[i] as Metadata]);
      }
      const forget = (key: KeptKey) => {
        metadataByKey.delete(keyText(key));
        facts.delete(key as unknown as IDBValidKey);
        results.delete(key as unknown as IDBValidKey);
      };
      for (const { key, bytes, keptMs, schema } of changes) {
        for (const [other, fact] of [...metadataByKey.values()]) {
          if (schema === null) break;
          if (isSameObject(other, key) && fact.schema !== schema) forget(other);
        }
        if (bytes === null || schema === null) {
          forget(key);
          continue;
        }
        const fact: Metadata = { bytes: bytes.byteLength, keptMs, schema };
        metadataByKey.set(keyText(key), [key, fact]);
        facts.put(fact, key as unknown as IDBValidKey);
        results.put({ bytes, keptMs } satisfies KeptResult, key as unknown as IDBValidKey);
      }
      for (const key of excess([...metadataByKey.values()], nowMs)) forget(key);
    };
    await transactionEnd(transaction);
  }

  /** Deletes results durably: they do not return after a loss of power. @throws DOMException */
  async drop(range: IDBKeyRange): Promise<void> {
    const transaction = this.#beginDurableWrite();
    for (const store of [RESULTS, METADATA]) transaction.objectStore(store).delete(range);
    await transactionEnd(transaction);
  }

  /** Deletes, durably, the results of all users of the directory except this one. @throws DOMException */
  async dropOthers(directory: string, user: string | null): Promise<void> {
    const transaction = this.#beginDurableWrite();
    const facts = transaction.objectStore(METADATA);
    const own = user === null ? null : keptKey(directory, '', user, '')[3];
    const keys = facts.getAllKeys(keptBelow(directory));
    keys.onsuccess = () => {
      for (const key of keys.result as unknown as KeptKey[]) {
        if (key[3] === own) continue;
        facts.delete(key as unknown as IDBValidKey);
        transaction.objectStore(RESULTS).delete(key as unknown as IDBValidKey);
      }
    };
    await transactionEnd(transaction);
  }

  close(): void {
    this.isClosed = true;
    this.#database.close();
  }

  #beginDurableWrite(): IDBTransaction {
    return this.#database.transaction([RESULTS, METADATA], 'readwrite', { durability: 'strict' });
  }
}

/** Returns the keys of results that are too old, or beyond the limits of number and bytes. */
export function excess(
  metadataByKey: readonly (readonly [KeptKey, Metadata])[],
  nowMs: number,
): KeptKey[] {
  let count = 0;
  let bytes = 0;
  const isExcluded = (fact: Metadata) => {
    count += 1;
    bytes += fact.bytes;
    const isOld = !(Math.abs(nowMs - fact.keptMs) <= KEPT_MS_MAX);
    return isOld || count > KEPT_RESULTS_MAX || bytes > KEPT_BYTES_MAX;
  };
  return [...metadataByKey]
    .sort(([, one], [, other]) => other.keptMs - one.keptMs)
    .filter(([, fact]) => isExcluded(fact))
    .map(([key]) => key);
}

function keyText(key: KeptKey): string {
  return JSON.stringify(key);
}

function isSameObject(one: KeptKey, other: KeptKey): boolean {
  return one[0] === other[0] && one[1] === other[1] && one[2] === other[2];
}

function transactionEnd(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
  });
}
