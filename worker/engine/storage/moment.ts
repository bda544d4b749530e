// One earlier state of an object, open for reading while the object continues.
//
// A moment has its own SQLite connection on a past state of the log. The rules for SQL are those of live reads: it only
// reads, and hidden tables stay hidden.

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { KeyRange } from '../../../src/shared/contract/key-range.ts';
import { emptyDatabase } from '../import/database-header.ts';
import { type EntryCursor, KvStore } from '../kv/kv-store.ts';
import type { ObjectFiles } from '../log/object-files.ts';
import { PAGE_BYTES } from '../log/pages.ts';
import type { PastState } from '../log/past-state.ts';
import type { Cursor } from '../sql/cursor.ts';
import type { Database, DatabaseEvents } from '../sql/database.ts';
import type { QueryPolicy } from '../sql/query-policy.ts';
import type { LogDatabase } from './databases.ts';
import { Metadata } from './metadata.ts';

/** The functions of the object's files that a moment uses. */
export interface PastFiles {
  usePast(state: PastState): void;
  closePast(state: PastState): void;
}

/** The parameters of a moment. */
export interface MomentOptions {
  readonly bookmark: string;
  readonly state: PastState;
  readonly files: PastFiles;
  readonly openDatabase: OpenDatabase;
  readonly isCancelled: () => boolean;
}

/** Opens SQLite on a file, with the listener for its notifications. */
export type OpenDatabase = (
  store: Pick<ObjectFiles, 'file'>,
  events: DatabaseEvents,
) => LogDatabase;

export class Moment {
  readonly bookmark: string;
  readonly #files: PastFiles;
  readonly #state: PastState;
  readonly #database: Database;
  readonly #closeDatabase: () => void;
  readonly #kv: KvStore;
  readonly #metadata: Metadata;

  /** Opens the moment. @throws CORRUPT, IO */
  constructor({ bookmark, state, files, openDatabase, isCancelled }: MomentOptions) {
    this.bookmark = bookmark;
    this.#files = files;
    this.#state = state;
    const { database, close } = openDatabase(
      { file: state },
      { beforeWrite: refuse, onCritical: () => this.close(), isCancelled },
    );
    this.#database = database;
    this.#closeDatabase = close;
    this.#kv = new KvStore(database);
    this.#metadata = new Metadata(database);
  }

  /** True once the moment can no longer be read. */
  get isClosed(): boolean {
    return this.#state.ended !== undefined;
  }

  /**
   * Returns the result of `decode` for the stored bytes, a view that it must not keep; undefined if the key is missing.
   */
  get<T>(key: string, decode: (value: Uint8Array) => T): T | undefined {
    this.#use();
    return this.#kv.get(key, decode);
  }

  /** Starts a walk over the range, and ends an unfinished one. */
  list(range: KeyRange): EntryCursor {
    this.#use();
    return this.#kv.list(range);
  }

  /** Runs user SQL that only reads. @throws READ_ONLY, and as a live query */
  exec(query: string, bindings: readonly unknown[]): Cursor {
    this.#use();
    return this.#database.exec(query, bindings, READ_ONLY);
  }

  /** The alarm's time in milliseconds, or null. */
  get alarm(): number | null {
    this.#use();
    return this.#metadata.alarm;
  }

  /** Size of the database, in bytes. */
  get databaseSize(): number {
    this.#use();
    return this.#database.sizeBytes;
  }

  /** The database as a plain SQLite file. */
  databaseBytes(): Uint8Array<ArrayBuffer> {
    this.#use();
    const image = new Uint8Array(this.#state.sizeBytes());
    for (let at = 0; at < image.length; at += PAGE_BYTES) {
      this.#state.read(image.subarray(at, at + PAGE_BYTES), at);
    }
    return image.length === 0 ? emptyDatabase() : image;
  }

  /** Closes the moment: its cursors throw CURSOR_CLOSED, later reads MOMENT_CLOSED. Idempotent. */
  close(): void {
    this.#files.closePast(this.#state);
    this.#closeDatabase();
  }

  /** Marks the moment as used. @throws the reason if it was closed to make room, or the files are closed */
  #use(): void {
    if (this.#state.ended) throw this.#state.ended;
    this.#files.usePast(this.#state);
  }
}

const READ_ONLY: QueryPolicy = { refusal: () => readOnly('exec'), reads: null };

/** Makes the error of an operation that would change an earlier moment. */
export function readOnly(operation: string): Error {
  return storageError(
    'READ_ONLY',
    `${operation}: an earlier moment can only be read; write to the object itself, or restore it first.`,
  );
}

function refuse(): never {
  throw readOnly('exec');
}
