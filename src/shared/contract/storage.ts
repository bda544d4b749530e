// The storage interface as types: `ctx.storage` in the worker, and its asynchronous counterpart on
// a page.
//
// Both follow the same written interface. They differ only where a thread boundary forces it: the
// page has no synchronous members. Argument rules are in arguments.ts, limits in limits.ts.

import type { ConnectionStatus } from './connection-status.ts';
import type { Live, LiveKeys } from './live.ts';

/**
 * Options of reads. Both are accepted and ignored: reads never wait and never return stale data.
 */
export interface ReadOptions {
  /** Let other events be delivered during the read. @default false */
  allowConcurrency?: boolean;
  /** Do not keep the entry in memory. @default false */
  noCache?: boolean;
}

/** Options of writes. */
export interface WriteOptions {
  /**
   * Do not delay replies and outgoing messages until this write is durable. A failure still resets
   * the object. @default false
   */
  allowUnconfirmed?: boolean;
  /** Do not keep the entry in memory. @default false */
  noCache?: boolean;
}

/** Which entries `list` returns, in UTF-8 order of their keys. */
export interface ListOptions extends ReadOptions {
  /** First key, inclusive. */
  start?: string;
  /** Key after which the result starts, exclusive; not together with `start`. */
  startAfter?: string;
  /** Key before which the result ends, exclusive. */
  end?: string;
  /** Only keys that begin with this. */
  prefix?: string;
  /** Descending order; `start` and `end` keep their meaning. @default false */
  reverse?: boolean;
  /** Most entries returned; a positive integer. */
  limit?: number;
}

/** Options of `kv.list`: the same range, without the hints. */
export type SyncListOptions = Omit<ListOptions, keyof ReadOptions>;

/** Options of `getAlarm`. */
export type AlarmReadOptions = Pick<ReadOptions, 'allowConcurrency'>;

/** Options of `setAlarm` and `deleteAlarm`. */
export type AlarmWriteOptions = Pick<WriteOptions, 'allowUnconfirmed'>;

/** Key-value operations shared by storage and transactions. All throw as their promise's rejection,
 * except `delete`, which in a worker throws argument errors at once, as workerd does. */
export interface KeyValueOperations {
  /** The value as written, or undefined when the key does not exist. */
  get<T = unknown>(key: string, options?: ReadOptions): Promise<T | undefined>;
  /** The entries that exist among at most 128 keys, in UTF-8 order of their keys. */
  get<T = unknown>(keys: string[], options?: ReadOptions): Promise<Map<string, T>>;
  /** Stores one value: key at most 2,048 bytes, serialized value at most 131,072 bytes. */
  put<T>(key: string, value: T, options?: WriteOptions): Promise<void>;
  /** Stores at most 128 pairs, all or none. Members that are undefined are skipped. */
  put<T>(entries: Record<string, T>, options?: WriteOptions): Promise<void>;
  /** True when the key existed. */
  delete(key: string, options?: WriteOptions): Promise<boolean>;
  /** How many of at most 128 keys existed. */
  delete(keys: string[], options?: WriteOptions): Promise<number>;
  /** The entries of a range. Without options, everything is loaded into memory. */
  list<T = unknown>(options?: ListOptions): Promise<Map<string, T>>;
  /** Alarm time in milliseconds since the epoch, or null when none is set. */
  getAlarm(options?: AlarmReadOptions): Promise<number | null>;
  /** Sets the alarm; a time in the past means as soon as possible. */
  setAlarm(scheduledTime: number | Date, options?: AlarmWriteOptions): Promise<void>;
  /** Removes the alarm, if one is set. */
  deleteAlarm(options?: AlarmWriteOptions): Promise<void>;
}

/** What the closure of `transaction` receives. Its operations fail once the transaction ended. */
export interface Transaction extends KeyValueOperations {
  /** Undoes what the transaction did; a second call does nothing. */
  rollback(): void;
}

/** Point-in-time recovery. */
export interface Recovery {
  /** A bookmark of this moment; bookmarks compare as strings in order of time. */
  getCurrentBookmark(): Promise<string>;
  /** A bookmark of about that time, within the last 30 days. */
  getBookmarkForTime(timestamp: number | Date): Promise<string>;
  /**
   * Restores everything to the bookmark when the object next starts. Resolves to the bookmark of
   * the moment just before the recovery: restoring that one undoes it.
   */
  onNextSessionRestoreBookmark(bookmark: string): Promise<string>;
}

/** What a column holds when it is read. */
export type SqlStorageValue = ArrayBuffer | string | number | null;

/** A row keyed by column name. */
export type SqlRow = Record<string, SqlStorageValue>;

/**
 * The result of `sql.exec` in the worker: an iterator over rows; all its views share one position.
 */
export interface SqlStorageCursor<T extends SqlRow = SqlRow> {
  next(): IteratorResult<T, undefined>;
  /** The remaining rows. */
  toArray(): T[];
  /** The row, when exactly one is left; throws otherwise. */
  one(): T;
  /** The same rows as arrays of column values. */
  raw<U extends SqlStorageValue[] = SqlStorageValue[]>(): IterableIterator<U> & {
    toArray(): U[];
    one(): U;
  };
  readonly columnNames: string[];
  readonly rowsRead: number;
  readonly rowsWritten: number;
  [Symbol.iterator](): IterableIterator<T>;
}

/** `ctx.storage.sql`. */
export interface SqlStorage {
  /** Runs the text; bindings belong to its last statement, and so does the cursor. */
  exec<T extends SqlRow = SqlRow>(query: string, ...bindings: unknown[]): SqlStorageCursor<T>;
  /**
   * The rows of a query that only reads, again after every commit that changes them. Results arrive as events
   * of the object. It does not keep the object in memory, and ends with it.
   */
  live<T extends SqlRow = SqlRow>(query: string, ...bindings: unknown[]): Live<T[]>;
  /** Size of the database, in bytes. */
  readonly databaseSize: number;
  /** For `instanceof`; the class cannot be constructed. */
  readonly Cursor: SqlStorageCursorClass;
  /** As in workerd; nothing makes an instance of it. */
  readonly Statement: SqlStorageStatementClass;
}

/** The class of cursors, as `sql.Cursor` has it. */
export type SqlStorageCursorClass = (abstract new <T extends SqlRow>() => SqlStorageCursor<T>) & {
  readonly prototype: SqlStorageCursor;
};

/** The class `sql.Statement`. */
export type SqlStorageStatementClass = (abstract new () => object) & { readonly prototype: object };

/** `ctx.storage.kv`: the same entries, synchronously, one key per call. */
export interface SyncKvStorage {
  get<T = unknown>(key: string): T | undefined;
  put<T>(key: string, value: T): void;
  delete(key: string): boolean;
  /** A lazy iterator; starting another list ends an unfinished one. */
  list<T = unknown>(options?: SyncListOptions): IterableIterator<[string, T]>;
}

/** Keys and values that are followed, on a page and in the worker. */
export interface LiveKeyValue {
  /** The value of a key, or undefined, again after every commit that changes it. */
  live<T = unknown>(options: { readonly key: string }): Live<T | undefined>;
  /** The entries that exist among several keys, or of a range, as `get` and `list` give them. */
  live<T = unknown>(options: LiveKeys): Live<Map<string, T>>;
}

/** `ctx.storage` of an object on the SQL backend. */
export interface DurableObjectStorage extends KeyValueOperations, LiveKeyValue, Recovery {
  readonly sql: SqlStorage;
  readonly kv: SyncKvStorage;
  /** Removes everything but the alarm, all or nothing. */
  deleteAll(options?: WriteOptions): Promise<void>;
  /** Resolves when every write so far is durable. */
  sync(): Promise<void>;
  /** Runs the closure as one transaction; other events of the object wait until it ends. */
  transaction<T>(closure: (txn: Transaction) => T | PromiseLike<T>): Promise<T>;
  /** Runs the synchronous callback as one transaction; a throw rolls it back. */
  transactionSync<T>(callback: () => T): T;
}

/** The bytes of a file. */
export type BinarySource = ArrayBuffer | ArrayBufferView | Blob;

/** The result of `sql.exec` on a page: rows are pulled from the worker in batches. */
export interface RemoteSqlCursor<T extends SqlRow = SqlRow> extends AsyncIterable<T> {
  next(): Promise<IteratorResult<T, undefined>>;
  /** The remaining rows. */
  toArray(): Promise<T[]>;
  /** The row, when exactly one is left; rejects otherwise. */
  one(): Promise<T>;
  /** The same rows as arrays of column values. */
  raw<U extends SqlStorageValue[] = SqlStorageValue[]>(): AsyncIterableIterator<U> & {
    toArray(): Promise<U[]>;
    one(): Promise<U>;
  };
  /** Known after the first row was pulled, or after `ready`. */
  readonly columnNames: string[];
  /** As of the rows pulled so far. */
  readonly rowsRead: number;
  readonly rowsWritten: number;
  /** Resolves when the statement has run; rejects with its error. */
  readonly ready: Promise<void>;
  /** Ends the cursor early and frees it in the worker; idempotent. */
  close(): Promise<void>;
}

/** `sql` of a page's storage. */
export interface RemoteSqlStorage {
  /** As in the worker. The statement runs at once; its error rejects `ready` and every pull. */
  exec<T extends SqlRow = SqlRow>(query: string, ...bindings: unknown[]): RemoteSqlCursor<T>;
  /**
   * The rows of a query that only reads, again after every commit that changes them, by whichever tab. It goes
   * on when the object is reset and when another tab's worker takes over; it ends with `close`.
   */
  live<T extends SqlRow = SqlRow>(query: string, ...bindings: unknown[]): Live<T[]>;
  /** Size of the database, in bytes. */
  readonly databaseSize: Promise<number>;
}

/** `kv` of a page's storage: as `ctx.storage.kv`, with promises. */
export interface RemoteKvStorage {
  get<T = unknown>(key: string): Promise<T | undefined>;
  put<T>(key: string, value: T): Promise<void>;
  delete(key: string): Promise<boolean>;
  list<T = unknown>(options?: SyncListOptions): AsyncIterableIterator<[string, T]>;
}

/** Which commits `history` lists. Times are Dates, or milliseconds since the epoch. */
export interface HistoryOptions {
  /** Not before this time. @default as far as the history goes back */
  from?: number | Date;
  /** Not after this time. @default now */
  to?: number | Date;
  /** Only commits before the one of this bookmark: the last one of a list, to list on from there. */
  before?: string;
  /** At most this many, from 1 to 1,000. @default 100 */
  limit?: number;
}

/** One commit of an object: a transaction, or the writes of one turn. */
export interface StorageCommit {
  /** Names the state after it: for `at` and `restore`. */
  readonly bookmark: string;
  /** When it was made; never before the commit before it. */
  readonly time: Date;
  /** What it took in the log: what it changed, old and new. */
  readonly bytes: number;
  /** Pages of the database after it, of 4,096 bytes each. */
  readonly pages: number;
  /** True if it brought an earlier state back. */
  readonly isRestore: boolean;
}

/**
 * An earlier moment of an object, to be read beside the object, which goes on. What it shows never changes.
 * Close it when it is no longer needed; it ends with its handle too.
 *
 * @throws StorageError `READ_ONLY` for a statement that writes; `BOOKMARK_UNAVAILABLE` if it had to be opened
 *   again (after a reset, or because it made room for others) and its history was given up meanwhile;
 *   `MOMENT_CLOSED` after `close`
 */
export interface StorageMoment extends Pick<KeyValueOperations, 'get' | 'list' | 'getAlarm'> {
  /** Names the moment. */
  readonly bookmark: string;
  /** Queries, with the rules of the object's own; a statement that would write is READ_ONLY. */
  readonly sql: Pick<RemoteSqlStorage, 'exec' | 'databaseSize'>;
  readonly kv: Pick<RemoteKvStorage, 'get' | 'list'>;
  /** The database at that moment, as a plain SQLite file. */
  exportDatabase(): Promise<Uint8Array<ArrayBuffer>>;
  /** Frees what the worker holds for it; idempotent. */
  close(): Promise<void>;
}

/** The past of an object, beside the present. */
export interface PastReading {
  /**
   * The commits of the last 30 days, the newest first, a part at a time. The log does not know which method or
   * statement made one.
   *
   * @throws StorageError `INVALID_ARGUMENT`; `BOOKMARK_INVALID`; `CORRUPT` if the history of that part is damaged
   */
  history(options?: HistoryOptions): Promise<StorageCommit[]>;
  /**
   * Opens an earlier moment for reading. Its cost is that of what has changed since, and it keeps the pages
   * that differ in memory: 64 MiB for all moments of an object. An object has four open at once; another
   * one closes the one that was used longest ago, whose handle opens it again when it is used.
   *
   * @throws StorageError `BOOKMARK_INVALID`; `BOOKMARK_UNAVAILABLE` for a moment in the future or whose history
   *   is gone; `MEMORY_FULL` if too much has changed since; `CORRUPT`
   */
  at(moment: string | Date): Promise<StorageMoment>;
}

/**
 * An object's storage on a page. The promise of a write resolves once the write is durable, except
 * with `allowUnconfirmed`, and for a write that joins an open `transaction` (described there).
 */
export interface RemoteStorage extends StorageHandle, ConnectionStatus {}

/** An object's storage from outside of the object: on a page, or in the process that runs the object. */
export interface StorageHandle extends KeyValueOperations, LiveKeyValue, Recovery, PastReading {
  /** The name the object was opened by. */
  readonly name: string;
  readonly sql: RemoteSqlStorage;
  readonly kv: RemoteKvStorage;
  deleteAll(options?: WriteOptions): Promise<void>;
  sync(): Promise<void>;
  /**
   * Runs the closure, on this page, as one transaction. Calls on this same handle join it until it
   * ends; calls of other handles and other tabs wait. At most 30 s.
   *
   * A write that joins, through `txn` or through the handle, resolves when the transaction has
   * taken it, so that the closure can await it. It is on disk when the promise of `transaction`
   * resolves, and undone when that rejects or after `txn.rollback()`. `sync()` inside the closure
   * waits for earlier writes only.
   *
   * A handle has one at a time: a second call waits for the first to end. Made inside the closure
   * it can therefore only fail: with TRANSACTION_NESTING before the closure's first await, and when
   * the closure waits for it, with TRANSACTION_TIMEOUT after 30 s. Rejects with the closure's own
   * error.
   */
  transaction<T>(closure: (txn: Transaction) => T | PromiseLike<T>): Promise<T>;
  /**
   * The database as a plain SQLite file, as it is committed at this moment: tables, keys (`_cf_KV`)
   * and the alarm (`_cf_METADATA`, key 1, in nanoseconds). It needs no `-wal` beside it, and
   * workerd opens it. Pages of 4,096 bytes; an object that was never written gives one.
   */
  exportDatabase(): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Replaces everything in the object by a SQLite file: one that `exportDatabase` gave, or one of
   * workerd's local storage (`<id>.sqlite`), with the bytes of its `-wal` when there is one.
   *
   * The file is checked before anything is touched. The import is one commit; the object is then
   * reset and starts again with the file's data and alarm: calls made before the import resolves
   * see the old data, or reject with OBJECT_RESET. Resolves to the bookmark of the moment before:
   * restoring it undoes the import.
   *
   * Values are not decoded: one that cannot be is CORRUPT when it is read.
   *
   * @throws StorageError `IMPORT_INVALID` if the file is not a SQLite database of 4,096-byte pages
   * in
   *   UTF-8, is damaged or incomplete, or contains something that an object may not have;
   *   `TRANSACTION_NESTING` inside this handle's transaction; `DISK_FULL`. The old data stays.
   */
  importDatabase(database: BinarySource, wal?: BinarySource | null): Promise<string>;
  /** Not possible across a thread: throws NOT_ON_PAGE, which names what to use instead. */
  transactionSync(callback: () => unknown): never;
  /**
   * Takes the object back to a bookmark, or to a time within the last 30 days: keys, tables and alarm.
   * Resolves once that is done, to the bookmark of the moment before: restoring that one undoes it.
   *
   * It is `onNextSessionRestoreBookmark` and a restart of the object, so calls under way, also of
   * other tabs, reject with OBJECT_RESET, which is `retryable`.
   *
   * @throws StorageError `BOOKMARK_INVALID`; `BOOKMARK_UNAVAILABLE` for a moment in the future or whose
   *   history is gone; `TRANSACTION_NESTING` inside this handle's transaction
   */
  restore(moment: string | Date): Promise<string>;
  /** Resets the object: unconfirmed writes are lost, and the next call starts it again. */
  abort(reason?: string): Promise<void>;
  /** Ends this handle: calls under way and later ones reject. Stored data stays. */
  close(): Promise<void>;
}
