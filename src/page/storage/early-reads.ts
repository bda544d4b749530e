// A handle that is there before a worker: its calls and live reads wait until the object is there and in shape. Until
// then, its live reads show the results that were kept at an earlier visit.
//
// Invariant: a kept result is shown only to the user for whom it was kept, and nothing waits for IndexedDB: without it,
// nothing is shown early. A failure of it is told, once for each.
//
// Does not know who keeps results: the worker that leads.

import {
  KEPT_MS_MAX,
  KEPT_READ_MAX,
  KeptDatabase,
  keptBelow,
  keptKey,
} from '../../shared/live/kept-database.ts';
import type { LiveKeep } from '../../shared/wire/protocol.ts';

/**
 * How long the worker's start waits for the first kept result: loading it takes the time of the page, which is to
 * show that first.
 */
const SHOW_MS = 100;

/** What the app says of its early handle. */
export interface EarlyOptions {
  /** Who is signed in; null: nobody; undefined: the app does not say. */
  readonly user: string | null | undefined;
  /** False: nothing is kept, and what was kept of the object is deleted. */
  readonly keeps: boolean;
}

export interface EarlyEnvironment {
  /** The site's IndexedDB; undefined or an error where there is none. */
  indexedDB(): IDBFactory | undefined;
  after(delayMs: number, task: () => void): () => void;
  now(): number;
}

export class EarlyReads {
  readonly #directory: string;
  readonly #object: string;
  readonly #options: EarlyOptions;
  readonly #now: () => number;
  readonly #after: EarlyEnvironment['after'];
  readonly #database: Promise<KeptDatabase | null>;
  readonly #prepare: () => Promise<unknown>;
  readonly #onFailed: () => void;
  #prepared: Promise<void> | undefined;
  #isFirst = true;
  /** Resolves when what was kept is found, or there is nothing to be found. */
  readonly #shown: Promise<void>;
  #tellShown = () => {};
  /** The worker has answered, so that results come from there. */
  #isOver = false;
  /** A call or live read waits, or has waited, for the preparation, and reports its error. */
  isAwaited = false;

  /** `prepare` opens the object and brings it into shape; after a failure it is called again. */
  constructor(
    place: { readonly directory: string; readonly object: string },
    options: EarlyOptions,
    environment: EarlyEnvironment,
    prepare: () => Promise<unknown>,
    onFailed: () => void,
  ) {
    this.#directory = place.directory;
    this.#object = place.object;
    this.#options = options;
    this.#now = environment.now;
    this.#after = environment.after;
    this.#prepare = prepare;
    this.#onFailed = onFailed;
    this.#shown = new Promise((resolve) => {
      this.#tellShown = resolve;
    });
    this.#database = this.#open(environment);
    environment.after(SHOW_MS, this.#tellShown);
    void this.#database.then((database) => {
      if (database === null) this.#tellShown();
    });
  }

  /** Resolves once calls may be sent, and live reads opened. @throws the error of the preparation */
  ready(): Promise<void> {
    this.isAwaited = true;
    return this.begin();
  }

  /** Prepares, for nobody who waits; as `ready`. */
  begin(): Promise<void> {
    this.#prepared ??= this.#prepareNow().catch((error) => {
      this.#prepared = undefined; // the next one tries again
      throw error;
    });
    return this.#prepared;
  }

  /** How the worker is to keep the read of this key; undefined: not at all. */
  keep(key: string, isPrivate: boolean): LiveKeep | undefined {
    const { user, keeps } = this.#options;
    if (!keeps || user === null || key.length > KEPT_READ_MAX) return undefined;
    return { read: key, isPrivate, ...(user !== undefined && { user }) };
  }

  /** The kept result of the read; null if there is none to show. Never rejects. */
  async find(read: string): Promise<Uint8Array | null> {
    const { user } = this.#options;
    if (user === null || this.#isOver) return null;
    try {
      const database = await this.#database;
      const key = keptKey(this.#directory, this.#object, user, read);
      const found = await database?.find(key);
      if (found === undefined) return null;
      const { bytes, keptMs } = found;
      if (!(bytes instanceof Uint8Array)) throw new TypeError('not a result');
      // A clock that was set back makes a result seem to come from the future.
      return Math.abs(this.#now() - keptMs) <= KEPT_MS_MAX ? bytes : null;
    } catch {
      // The deletion of the database, such as at a logout, closes it: no failure, and nothing to show.
      if ((await this.#database.catch(() => null))?.isClosed !== true) this.fail();
      return null;
    } finally {
      this.#after(0, this.#tellShown); // when whoever asked has shown it
    }
  }

  /** A kept result cannot be used. */
  fail(): void {
    this.#onFailed();
  }

  async #prepareNow(): Promise<void> {
    if (this.#isFirst) {
      this.#isFirst = false;
      await this.#shown;
    }
    await this.#prepare();
    this.#isOver = true;
    void this.#database.then((database) => database?.close());
  }

  /** Never rejects; null if there is nothing, or nothing to be had. */
  async #open({ indexedDB }: EarlyEnvironment): Promise<KeptDatabase | null> {
    try {
      const factory = indexedDB();
      if (factory === undefined) throw new TypeError('no IndexedDB');
      const database = await KeptDatabase.open(factory, false);
      void this.#dropOthers(database);
      return database;
    } catch {
      this.fail();
      return null;
    }
  }

  async #dropOthers(database: KeptDatabase | null): Promise<void> {
    const { user, keeps } = this.#options;
    try {
      if (user !== undefined) await database?.dropOthers(this.#directory, user);
      if (!keeps) await database?.drop(keptBelow(this.#directory, this.#object));
    } catch {
      if (database?.isClosed !== true) this.fail();
    }
  }
}
