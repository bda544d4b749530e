// Decides which results of live reads a worker stores for the next visit of pages, and when: the last result of each
// read, some time after it was published. Results that are due together are stored in one transaction.
//
// Invariant: a result is stored only after everything it shows is durable, and never if its object was deleted, emptied
// or replaced after the read. Each of these changes begins a new era of the object, deletes the stored results of the
// object, and is answered after that. One worker of a directory writes, so a result is never replaced by an older one.
// No assertion keeps this: whether a result is durable and current was decided before it is passed to this code, and
// its era is compared.
//
// Does not know where results are stored, and only the end of an era waits for that. A failure is reported, and changes
// nothing else.

import { addressKey, type ObjectAddress } from '../../../src/shared/contract/object-id.ts';
import {
  KEPT_RESULT_BYTES_MAX,
  type KeptChange,
  keptBelow,
  keptKey,
} from '../../../src/shared/live/kept-database.ts';
import type { LiveKeep } from '../../../src/shared/wire/protocol.ts';

/** How long a result waits for the next result of its read. It is longer than the pauses of a user who types. */
export const KEEP_DELAY_MS = 300;

/** Stores results in the browser. */
export interface KeptRows {
  readonly isClosed: boolean;
  keep(changes: readonly KeptChange[], nowMs: number): Promise<void>;
  drop(range: IDBKeyRange): Promise<void>;
  close(): void;
}

export interface KeptEnvironment {
  readonly directory: string;
  /** Opens the stored rows. If `isMade` is false, returns null if there are none. */
  open(isMade: boolean): Promise<KeptRows | null>;
  /** Milliseconds since the epoch, as pages see it. */
  now(): number;
  /** Runs the task after the delay, in real time. */
  after(delayMs: number, task: () => void): void;
  /** Called when results of the object could not be stored or deleted. */
  failed(address: ObjectAddress): void;
}

/**
 * Identifies the time in which an object has been the same: each deletion, emptying or replacement begins another era.
 */
export type Era = object;

export class KeptResults {
  readonly #environment: KeptEnvironment;
  readonly #eras = new Map<string, Era>();
  /** The results that wait to be written, by the text of their keys. */
  readonly #due = new Map<
    string,
    { readonly change: KeptChange; readonly address: ObjectAddress }
  >();
  /** Objects of which results may still be stored, because deleting them has failed. */
  readonly #undropped = new Map<string, ObjectAddress>();
  #rows: Promise<KeptRows | null> | undefined;
  /**
   * The last transaction. Transactions run one after the other, because WebKit keeps the locks of a worker that ends
   * while several are open.
   */
  #last: Promise<unknown> = Promise.resolve();
  #isTimed = false;

  constructor(environment: KeptEnvironment) {
    this.#environment = environment;
  }

  /** Returns the object's present era. Call it when a read begins, and pass the era with the result. */
  era(address: ObjectAddress): Era {
    const object = addressKey(address);
    const known = this.#eras.get(object) ?? {};
    this.#eras.set(object, known);
    return known;
  }

  /**
   * Stores the result of a read of this era soon; undefined means that the read has failed, and removes its stored
   * result.
   */
  keep(
    address: ObjectAddress,
    era: Era,
    { user, read, isPrivate }: LiveKeep,
    result: { readonly bytes: Uint8Array; readonly schema: number } | undefined,
  ): void {
    const object = addressKey(address);
    if (this.#eras.get(object) !== era) return;
    const { directory, now, after } = this.#environment;
    const key = keptKey(directory, object, user, read);
    const isKept =
      !isPrivate && result !== undefined && result.bytes.byteLength <= KEPT_RESULT_BYTES_MAX;
    const bytes = isKept ? result.bytes : null;
    const change = { key, bytes, keptMs: now(), schema: result?.schema ?? null };
    this.#due.set(JSON.stringify(key), { change, address });
    if (this.#isTimed) return;
    this.#isTimed = true;
    after(KEEP_DELAY_MS, () => {
      this.#isTimed = false;
      void this.#write();
    });
  }

  /**
   * Called when the object is deleted, emptied or replaced: resolves when no result of the object is stored any more.
   * Never rejects; a failure is reported, and the deletion is tried again before anything else is stored.
   */
  drop(address: ObjectAddress): Promise<void> {
    const object = addressKey(address);
    this.#eras.delete(object);
    for (const [text, { change }] of this.#due) {
      if (change.key[2] === object) this.#due.delete(text);
    }
    this.#undropped.set(object, address);
    return this.#inTurn(() => this.#dropAll());
  }

  /** Ends after the results that are due are stored. */
  async close(): Promise<void> {
    await this.#write();
    (await this.#rows?.catch(() => null))?.close();
  }

  #write(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#dropAll();
      const due = [...this.#due.values()].filter(
        ({ address }) => !this.#undropped.has(addressKey(address)),
      );
      this.#due.clear();
      const changes = due.map(({ change }) => change);
      if (changes.length === 0) return;
      try {
        const isMade = changes.some(({ bytes }) => bytes !== null);
        const rows = await this.#open(isMade);
        await rows?.keep(changes, this.#environment.now());
      } catch {
        this.#failed(due.map(({ address }) => address));
      }
    });
  }

  async #dropAll(): Promise<void> {
    const { directory } = this.#environment;
    const objects = [...this.#undropped.keys()];
    if (objects.length === 0) return;
    try {
      const rows = await this.#open(false);
      for (const object of objects) {
        await rows?.drop(keptBelow(directory, object));
        this.#undropped.delete(object);
      }
    } catch {
      this.#failed([...this.#undropped.values()]);
    }
  }

  /**
   * Opens the rows when they are first needed, and again if they were closed because somebody has deleted the database.
   */
  async #open(isMade: boolean): Promise<KeptRows | null> {
    const known = await this.#rows;
    if (known && !known.isClosed) return known;
    this.#rows = this.#environment.open(isMade);
    try {
      return await this.#rows;
    } catch (error) {
      this.#rows = undefined;
      throw error;
    }
  }

  #failed(addresses: readonly ObjectAddress[]): void {
    this.#rows?.then(
      (rows) => rows?.close(),
      () => {},
    );
    this.#rows = undefined;
    const objects = new Map(addresses.map((address) => [addressKey(address), address]));
    for (const address of objects.values()) this.#environment.failed(address);
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done;
    return done;
  }
}
