// One earlier moment of an object, open for reading beside the object, which goes on.
//
// It is a SQLite connection of its own on a past state of the log, with the rules of SQL in live reads: hidden
// tables stay hidden. Knows nothing of events or callers.

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

/** The files of the object, as a moment uses them. */
export interface PastFiles {
  usePast(state: PastState): void;
  closePast(state: PastState): void;
}

/** How a moment is opened. */
export interface MomentOptions {
  readonly bookmark: string;
  readonly state: PastState;
  readonly files: PastFiles;
  readonly openDatabase: OpenDatabase;
  readonly isCancelled: () => boolean;
}

/** Opens SQLite on a file, and reports to the events. */
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

  /** @throws CORRUPT, IO */
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

  /** True once it can no longer be read. */
  get isClosed(): boolean {
    return this.#state.ended !== undefined;
  }

  /** The result of `decode` for the stored bytes, a view that it must not keep; undefined if missing. */
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

  /** Frees its resources: cursors end with CURSOR_CLOSED, later reads with MOMENT_CLOSED. Idempotent. */
  close(): void {
    this.#files.closePast(this.#state);
    this.#closeDatabase();
  }

  /** It made room for others, or the files are closed: then everything throws that reason. */
  #use(): void {
    if (this.#state.ended) throw this.#state.ended;
    this.#files.usePast(this.#state);
  }
}

const READ_ONLY: QueryPolicy = { refusal: () => readOnly('exec'), reads: null };

/** The error of an operation that would change an earlier moment. */
export function readOnly(operation: string): Error {
  return storageError(
    'READ_ONLY',
    `${operation}: an earlier moment can only be read; write to the object itself, or restore it first.`,
  );
}

function refuse(): never {
  throw readOnly('exec');
}
