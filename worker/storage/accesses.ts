// What an object's storage reads and writes, noted while somebody is live on the object.
//
// A transaction collects what it writes. A rollback discards that, a commit keeps it, and the flush that
// makes it durable hands it over, together with everything else that was committed by then.
//
// Invariant: while nobody watches, nothing is noted, and a write costs one comparison more.
//
// Does not know live reads: it is told when one runs.

import { storageError } from '../../src/contract/errors.ts';
import type { Database } from '../sql/database.ts';
import type { ReadSet } from './read-set.ts';
import { WriteSet } from './write-set.ts';

export class Accesses {
  readonly #database: Pick<Database, 'onQuery' | 'refusesWrites'>;
  #onFlushed: ((writes: WriteSet) => void) | undefined;
  #reads: ReadSet | undefined;
  /** Of the open transaction, and of those that are committed and not handed over. */
  #open: WriteSet | undefined;
  #committed: WriteSet | undefined;

  constructor(database: Pick<Database, 'onQuery' | 'refusesWrites'>) {
    this.#database = database;
  }

  /** From now on, notes what is written, and tells it after the flush that covers it. */
  watch(onFlushed: (writes: WriteSet) => void): void {
    this.#onFlushed = onFlushed;
    this.#database.onQuery = ({ reads, writes }) => {
      this.#reads?.addTables(reads);
      if (writes === 'all' || writes.size > 0) this.writes?.addTables(writes);
    };
  }

  /** Somebody is live, and waits for what is written. */
  get isWatched(): boolean {
    return this.#onFlushed !== undefined;
  }

  /** Nobody is live any more. */
  unwatch(): void {
    this.#onFlushed = undefined;
    this.#database.onQuery = undefined;
    this.#open = undefined;
    this.#committed = undefined;
  }

  /** Notes in `reads` all that is read, and refuses writes, until the result is called. */
  collect(reads: ReadSet): () => void {
    this.#reads = reads;
    this.#database.refusesWrites = readOnly;
    return () => {
      this.#reads = undefined;
      this.#database.refusesWrites = undefined;
    };
  }

  /** Where to note what is read; undefined: nobody wants to know. */
  get reads(): ReadSet | undefined {
    return this.#reads;
  }

  /** Where to note what is written; undefined: nobody wants to know. */
  get writes(): WriteSet | undefined {
    if (this.#onFlushed === undefined) return undefined;
    return (this.#open ??= new WriteSet());
  }

  /** Called before every write. @throws LIVE_READ_ONLY */
  checkWrite(): void {
    if (this.#reads !== undefined) throw readOnly();
  }

  committed(): void {
    const written = this.#open;
    if (written === undefined) return;
    this.#open = undefined;
    if (this.#committed === undefined) this.#committed = written;
    else this.#committed.addAll(written);
  }

  /** The transaction was rolled back, as a whole. */
  rolledBack(): void {
    this.#open = undefined;
  }

  flushed(): void {
    const written = this.#committed;
    if (written === undefined) return;
    this.#committed = undefined;
    this.#onFlushed?.(written);
  }
}

function readOnly(): Error {
  return storageError(
    'LIVE_READ_ONLY',
    'A live read tried to write. It runs again after every commit that concerns it, so it may only ' +
      'read; write in a method that is called without live().',
  );
}
