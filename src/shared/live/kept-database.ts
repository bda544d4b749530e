// Where results of live reads are kept for a page's next visit: one IndexedDB database of the site, written by the
// workers that lead and read by pages before a worker is there.
//
// Invariant: a result is found only by everything it depends on: the format, the directory, the object, the user, and
// the read. Its database has one version for good, so that no build of this package locks another one out; the first
// part of the key says how the rest is written.
//
// Does not know live reads, and not when a result is old.

/** Results that another version of this package wrote in another form are neither found nor changed, until they are old. */
const KEPT_FORMAT = 1;

const DATABASE = 'ctx-storage-kept';
const RESULTS = 'results';
const FACTS = 'facts';

/** A result that was kept longer ago is not shown: as long as an object's history goes back. */
export const KEPT_MS_MAX = 30 * 24 * 60 * 60 * 1000;

/** Characters of a read that is kept; bindings may be large. */
export const KEPT_READ_MAX = 8192;

/** Bytes of a result that is kept. */
export const KEPT_RESULT_BYTES_MAX = 512 * 1024;

/** Of all directories of the site. */
export const KEPT_RESULTS_MAX = 100;
export const KEPT_BYTES_MAX = 8 * 1024 * 1024;

export type KeptKey = readonly [
  format: number,
  directory: string,
  object: string,
  user: string,
  read: string,
];

/** What is known of a result without loading it. */
interface Fact {
  readonly bytes: number;
  /** When it was kept last, in milliseconds since the epoch. */
  readonly keptMs: number;
  /** Of the object when it was read: SQLite's number, which each change of the schema increases. */
  readonly schema: number;
}

export interface KeptResult {
  readonly bytes: Uint8Array;
  readonly keptMs: number;
}

/** A result to be kept in place of the one before; without bytes, none is. */
export interface KeptChange {
  readonly key: KeptKey;
  readonly bytes: Uint8Array | null;
  readonly keptMs: number;
  /** Null: unknown, because the read has failed. */
  readonly schema: number | null;
}

/** `user`: undefined: the app does not say who is signed in. */
export function keptKey(
  directory: string,
  object: string,
  user: string | undefined,
  read: string,
): KeptKey {
  // A user without a name is not nobody.
  return [KEPT_FORMAT, directory, object, user === undefined ? '' : `=${user}`, read];
}

/** Which results are meant: those of a directory, of one of its objects, or of a user of the object. */
export function keptBelow(directory: string, object?: string): IDBKeyRange {
  const start = [KEPT_FORMAT, directory, ...(object === undefined ? [] : [object])];
  return IDBKeyRange.bound(start, [...start, []]);
}

/** One connection. It ends by itself when somebody deletes the database, so that the deletion does not wait. */
export class KeptDatabase {
  readonly #database: IDBDatabase;
  /** True when it cannot be used any more; another one can be opened. */
  isClosed = false;

  private constructor(database: IDBDatabase) {
    this.#database = database;
    database.onversionchange = () => this.close();
    database.onclose = () => {
      this.isClosed = true;
    };
  }

  /**
   * Opens the database; without `isMade`, null if there is none.
   *
   * @throws DOMException, as the browser gives it: of a database that is blocked, full or newer
   */
  static open(factory: IDBFactory, isMade: boolean): Promise<KeptDatabase | null> {
    return new Promise((resolve, reject) => {
      const opening = factory.open(DATABASE, 1);
      let isMissing = false;
      opening.onupgradeneeded = () => {
        if (isMade) {
          opening.result.createObjectStore(RESULTS);
          opening.result.createObjectStore(FACTS);
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

  /** The result of this key. @throws DOMException */
  async find(key: KeptKey): Promise<KeptResult | undefined> {
    const transaction = this.#database.transaction(RESULTS);
    const request = transaction.objectStore(RESULTS).get(key as unknown as IDBValidKey);
    await ended(transaction);
    return request.result as KeptResult | undefined;
  }

  /**
   * Keeps the changes, in order, and deletes what the bounds exclude, the least recently kept first. With a result of
   * another schema, all results of its object before it are deleted. @throws DOMException
   */
  async keep(changes: readonly KeptChange[], nowMs: number): Promise<void> {
    const transaction = this.#database.transaction([RESULTS, FACTS], 'readwrite');
    const facts = transaction.objectStore(FACTS);
    const results = transaction.objectStore(RESULTS);
    const keys = facts.getAllKeys();
    const all = facts.getAll();
    all.onsuccess = () => {
      const known = new Map<string, readonly [KeptKey, Fact]>();
      for (const [i, key] of (keys.result as unknown as KeptKey[]).entries()) {
        known.set(textOf(key), [key, all.result[i] as Fact]);
      }
      const forget = (key: KeptKey) => {
        known.delete(textOf(key));
        facts.delete(key as unknown as IDBValidKey);
        results.delete(key as unknown as IDBValidKey);
      };
      for (const { key, bytes, keptMs, schema } of changes) {
        for (const [other, fact] of [...known.values()]) {
          if (schema === null) break;
          if (isSameObject(other, key) && fact.schema !== schema) forget(other);
        }
        if (bytes === null || schema === null) {
          forget(key);
          continue;
        }
        const fact: Fact = { bytes: bytes.byteLength, keptMs, schema };
        known.set(textOf(key), [key, fact]);
        facts.put(fact, key as unknown as IDBValidKey);
        results.put({ bytes, keptMs } satisfies KeptResult, key as unknown as IDBValidKey);
      }
      for (const key of excess([...known.values()], nowMs)) forget(key);
    };
    await ended(transaction);
  }

  /** Deletes results for good: also a loss of power does not bring them back. @throws DOMException */
  async drop(range: IDBKeyRange): Promise<void> {
    const transaction = this.#changes();
    for (const store of [RESULTS, FACTS]) transaction.objectStore(store).delete(range);
    await ended(transaction);
  }

  /** The same, of all users of the directory but this one. @throws DOMException */
  async dropOthers(directory: string, user: string | null): Promise<void> {
    const transaction = this.#changes();
    const facts = transaction.objectStore(FACTS);
    const own = user === null ? null : keptKey(directory, '', user, '')[3];
    const keys = facts.getAllKeys(keptBelow(directory));
    keys.onsuccess = () => {
      for (const key of keys.result as unknown as KeptKey[]) {
        if (key[3] === own) continue;
        facts.delete(key as unknown as IDBValidKey);
        transaction.objectStore(RESULTS).delete(key as unknown as IDBValidKey);
      }
    };
    await ended(transaction);
  }

  close(): void {
    this.isClosed = true;
    this.#database.close();
  }

  #changes(): IDBTransaction {
    return this.#database.transaction([RESULTS, FACTS], 'readwrite', { durability: 'strict' });
  }
}

/** The keys that are too old, and those beyond the bounds of number and bytes. */
export function excess(known: readonly (readonly [KeptKey, Fact])[], nowMs: number): KeptKey[] {
  let count = 0;
  let bytes = 0;
  const isExcluded = (fact: Fact) => {
    count += 1;
    bytes += fact.bytes;
    const isOld = !(Math.abs(nowMs - fact.keptMs) <= KEPT_MS_MAX);
    return isOld || count > KEPT_RESULTS_MAX || bytes > KEPT_BYTES_MAX;
  };
  return [...known]
    .sort(([, one], [, other]) => other.keptMs - one.keptMs)
    .filter(([, fact]) => isExcluded(fact))
    .map(([key]) => key);
}

function textOf(key: KeptKey): string {
  return JSON.stringify(key);
}

function isSameObject(one: KeptKey, other: KeptKey): boolean {
  return one[0] === other[0] && one[1] === other[1] && one[2] === other[2];
}

function ended(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
  });
}
