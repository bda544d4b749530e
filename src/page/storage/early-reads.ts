// Serves a handle that was opened `early`, before a worker is ready. Its calls and live reads wait until the object is open
// and `prepare` is done. Until then, live reads show results that were stored during an earlier visit.
//
// Invariant: a stored result is shown only to the user for whom it was stored. Nothing waits for IndexedDB; if it fails,
// nothing is shown early, and the handle fires `keepfailed`. No assertion keeps this: the user is part of the key by
// which a result is found.
//
// The worker that leads stores the results (kept-database.ts).

import {
  KEPT_MS_MAX,
  KEPT_READ_MAX,
  KeptDatabase,
  keptBelow,
  keptKey,
} from '../../shared/live/kept-database.ts';
import type { LiveKeep } from '../../shared/wire/protocol.ts';

/**
 * How long the start of the worker waits for the first stored result. Loading the worker would slow down the page, which
 * should show that result first.
 */
const SHOW_MS = 100;

/** The app's options for its early handle. */
export interface EarlyOptions {
  /** The user who is signed in; null for nobody; undefined if the app does not say. */
  readonly user: string | null | undefined;
  /** False if no results are stored, and those stored for the object are deleted. */
  readonly keeps: boolean;
}

export interface EarlyEnvironment {
  /** Returns the site's IndexedDB. Returns undefined or throws if there is none. */
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
  /** Resolves when a stored result was found, or when there is none. */
  readonly #shown: Promise<void>;
  #tellShown = () => {};
  /** True once the worker has answered, so that results come from the worker. */
  #isOver = false;
  /** True if a call or live read has waited for the preparation, and therefore reports its error. */
  isAwaited = false;

  /** `prepare` opens the object and runs the app's preparation. It is called again after a failure. */
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

  /** Starts the preparation although no call waits for it. */
  begin(): Promise<void> {
    this.#prepared ??= this.#prepareNow().catch((error) => {
      this.#prepared = undefined; // The next call tries again.
      throw error;
    });
    return this.#prepared;
  }

  /** Returns how the worker should store the result of this read; undefined if it should not. */
  keep(key: string, isPrivate: boolean): LiveKeep | undefined {
    const { user, keeps } = this.#options;
    if (!keeps || user === null || key.length > KEPT_READ_MAX) return undefined;
    return { read: key, isPrivate, ...(user !== undefined && { user }) };
  }

  /** Finds the stored result of a read; null if there is none to show. Never rejects. */
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
      // `abs` is used because a result seems to come from the future if the clock was set back.
      return Math.abs(this.#now() - keptMs) <= KEPT_MS_MAX ? bytes : null;
    } catch {
      // If the database was closed because it is being deleted, such as at a logout, this is not a failure.
      if ((await this.#database.catch(() => null))?.isClosed !== true) this.fail();
      return null;
    } finally {
      this.#after(0, this.#tellShown); // Call it later, after the caller has shown the result.
    }
  }

  /** Fires `keepfailed`, because a stored result cannot be used. */
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

  /** Opens the database; null if it does not exist or cannot be opened. Never rejects. */
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
