// Declares the types of the storage interface: `ctx.storage` in the worker, and its asynchronous counterpart on a page.
//
// Both follow the same written interface. They differ only in that the page has no synchronous members, because it is
// in another thread. The rules of arguments are in arguments.ts, the limits in limits.ts.

import type { BatchStatement, BulkOptions, BulkResult, BulkSource } from './bulk.ts';
import type { MergedMoments, MergeOptions, StorageDiff } from './changes.ts';
import type { ConnectionStatus } from './connection-status.ts';
import type { Live, LiveKeys } from './live.ts';

/**
 * Options of reads. Both are accepted and ignored: reads never wait and never return stale data.
 */
export interface ReadOptions {
  /** Lets other events be delivered during the read. @default false */
  allowConcurrency?: boolean;
  /** Does not keep the entry in memory. @default false */
  noCache?: boolean;
}

/** Options of writes. */
export interface WriteOptions {
  /**
   * Does not delay replies and outgoing messages until this write is durable. A failure still resets the object.
   * @default false
   */
  allowUnconfirmed?: boolean;
  /** Does not keep the entry in memory. The option has no effect. @default false */
  noCache?: boolean;
}

/** Options that select the entries which `list` returns in UTF-8 order of their keys. */
export interface ListOptions extends ReadOptions {
  /** The first key that may be listed. */
  start?: string;
  /** The key after which the result starts; it cannot be given together with `start`. */
  startAfter?: string;
  /** The key before which the result ends. */
  end?: string;
  /** A text that all listed keys begin with. */
  prefix?: string;
  /** Lists in descending order; `start` and `end` keep their meaning. @default false */
  reverse?: boolean;
  /** How many entries are returned at most; a positive integer. */
  limit?: number;
}

/** Options of `kv.list`: the same selection without the options of reads. */
export type SyncListOptions = Omit<ListOptions, keyof ReadOptions>;

/** Options of `getAlarm`. */
export type AlarmReadOptions = Pick<ReadOptions, 'allowConcurrency'>;

/** Options of `setAlarm` and `deleteAlarm`. */
export type AlarmWriteOptions = Pick<WriteOptions, 'allowUnconfirmed'>;

/** Key-value operations shared by storage and transactions. All throw as their promise's rejection,
 * except `delete`, which in a worker throws argument errors at once, as workerd does. */
export interface KeyValueOperations {
  /** Returns the value of a key, or undefined if the key does not exist. */
  get<T = unknown>(key: string, options?: ReadOptions): Promise<T | undefined>;
  /** Returns the entries that exist among at most 128 keys, in UTF-8 order of their keys. */
  get<T = unknown>(keys: string[], options?: ReadOptions): Promise<Map<string, T>>;
  /** Stores one value. The key may have 2,048 bytes, the serialized value 131,072 bytes. */
  put<T>(key: string, value: T, options?: WriteOptions): Promise<void>;
  /** Stores at most 128 entries, either all or none. Members that are undefined are skipped. */
  put<T>(entries: Record<string, T>, options?: WriteOptions): Promise<void>;
  /** Deletes a key and returns whether it existed. */
  delete(key: string, options?: WriteOptions): Promise<boolean>;
  /** Deletes at most 128 keys and returns how many of them existed. */
  delete(keys: string[], options?: WriteOptions): Promise<number>;
  /** Returns the entries of a range. Without options, it loads everything into memory. */
  list<T = unknown>(options?: ListOptions): Promise<Map<string, T>>;
  /** Returns the time of the alarm in milliseconds since the epoch, or null if none is set. */
  getAlarm(options?: AlarmReadOptions): Promise<number | null>;
  /** Sets the alarm; a time in the past means as soon as possible. */
  setAlarm(scheduledTime: number | Date, options?: AlarmWriteOptions): Promise<void>;
  /** Removes the alarm, if one is set. */
  deleteAlarm(options?: AlarmWriteOptions): Promise<void>;
}

/** The argument of `transaction`'s closure. Its operations fail once the transaction has ended. */
export interface Transaction extends KeyValueOperations {
  /** Undoes the transaction's changes. A second call does nothing. */
  rollback(): void;
}

/** The methods of point-in-time recovery. */
export interface Recovery {
  /** Returns a bookmark of the current state. Bookmarks compare as strings in order of time. */
  getCurrentBookmark(): Promise<string>;
  /** Returns the bookmark of a moment close to that time, within the last 30 days. */
  getBookmarkForTime(timestamp: number | Date): Promise<string>;
  /**
   * Restores everything to the bookmark when the object next starts. Resolves to the bookmark of the moment just before
   * the recovery: restoring this bookmark undoes the recovery.
   */
  onNextSessionRestoreBookmark(bookmark: string): Promise<string>;
}

/** The value of a column when it is read. */
export type SqlStorageValue = ArrayBuffer | string | number | null;

/** A row keyed by column name. */
export type SqlRow = Record<string, SqlStorageValue>;

/**
 * The result of `sql.exec` in the worker, an iterator over rows. It shares its position with the iterator of `raw`.
 */
export interface SqlStorageCursor<T extends object = SqlRow> {
  next(): IteratorResult<T, undefined>;
  /** Returns the remaining rows. */
  toArray(): T[];
  /** Returns the row when exactly one is left; throws otherwise. */
  one(): T;
  /** Returns the rows as arrays of column values; shares its position with the cursor. */
  raw<U extends SqlStorageValue[] = SqlStorageValue[]>(): IterableIterator<U> & {
    toArray(): U[];
    one(): U;
  };
  readonly columnNames: string[];
  readonly rowsRead: number;
  readonly rowsWritten: number;
  [Symbol.iterator](): IterableIterator<T>;
}

/** The type of `ctx.storage.sql`. */
export interface SqlStorage {
  /** Runs the statements of the text. The bindings and the cursor belong to the last one. */
  exec<T extends object = SqlRow>(query: string, ...bindings: unknown[]): SqlStorageCursor<T>;
  /**
   * Returns the rows of a query that only reads, and returns them again after every commit that changes them. Results
   * arrive as events of the object. The live read does not keep the object in memory, and ends with it.
   */
  live<T extends object = SqlRow>(query: string, ...bindings: unknown[]): Live<T[]>;
  /** The size of the database, in bytes. */
  readonly databaseSize: number;
  /** The class of cursors for `instanceof`, which cannot be constructed. */
  readonly Cursor: SqlStorageCursorClass;
  /** A class that exists because workerd has it; nothing makes an instance of it. */
  readonly Statement: SqlStorageStatementClass;
}

/** The type of `sql.Cursor`, the class of cursors. */
export type SqlStorageCursorClass = (abstract new <T extends object>() => SqlStorageCursor<T>) & {
  readonly prototype: SqlStorageCursor;
};

/** The type of the class `sql.Statement`. */
export type SqlStorageStatementClass = (abstract new () => object) & { readonly prototype: object };

/** The type of `ctx.storage.kv`, which reads and writes the same entries synchronously, one key per call. */
export interface SyncKvStorage {
  get<T = unknown>(key: string): T | undefined;
  put<T>(key: string, value: T): void;
  delete(key: string): boolean;
  /** Returns a lazy iterator over a range. Starting another list ends an unfinished one. */
  list<T = unknown>(options?: SyncListOptions): IterableIterator<[string, T]>;
}

/** The methods that follow keys and values, on a page and in the worker. */
export interface LiveKeyValue {
  /** Follows the value of a key, or undefined, after every commit that changes it. */
  live<T = unknown>(options: { readonly key: string }): Live<T | undefined>;
  /** Follows the entries that exist among several keys or in a range, as `get` and `list` return them. */
  live<T = unknown>(options: LiveKeys): Live<Map<string, T>>;
}

/** The type of `ctx.storage` of an object. */
export interface DurableObjectStorage extends KeyValueOperations, LiveKeyValue, Recovery {
  /** The methods that run SQL on the same database. */
  readonly sql: SqlStorage;
  /** The methods that read and write keys and values without promises. */
  readonly kv: SyncKvStorage;
  /** Removes everything except the alarm, either all or nothing. */
  deleteAll(options?: WriteOptions): Promise<void>;
  /** Resolves once every write so far is durable. */
  sync(): Promise<void>;
  /** Runs the closure as one transaction; other events of the object wait until it ends. */
  transaction<T>(closure: (txn: Transaction) => T | PromiseLike<T>): Promise<T>;
  /** Runs the synchronous callback as one transaction; a throw rolls it back. */
  transactionSync<T>(callback: () => T): T;
}

/** The types in which the bytes of a file may be given. */
export type BinarySource = ArrayBuffer | ArrayBufferView | Blob;

/** The result of `sql.exec` on a page, which pulls rows from the worker in batches. */
export interface RemoteSqlCursor<T extends object = SqlRow> extends AsyncIterable<T> {
  next(): Promise<IteratorResult<T, undefined>>;
  /** Returns the remaining rows. */
  toArray(): Promise<T[]>;
  /** Returns the row when exactly one is left; rejects otherwise. */
  one(): Promise<T>;
  /** Returns the rows as arrays of column values; shares its position with the cursor. */
  raw<U extends SqlStorageValue[] = SqlStorageValue[]>(): AsyncIterableIterator<U> & {
    toArray(): Promise<U[]>;
    one(): Promise<U>;
  };
  /** The names of the columns, known after the first row was pulled or after `ready`. */
  readonly columnNames: string[];
  /** The number of rows that SQLite has read for the rows pulled so far. */
  readonly rowsRead: number;
  readonly rowsWritten: number;
  /** Resolves once the statement has run; rejects with its error. */
  readonly ready: Promise<void>;
  /** Ends the cursor early and frees it in the worker. A second call does nothing. */
  close(): Promise<void>;
}

/** The type of `sql` of a page's storage. */
export interface RemoteSqlStorage {
  /** Runs the text at once, as in the worker. An error of the text rejects `ready` and every pull. */
  exec<T extends object = SqlRow>(query: string, ...bindings: unknown[]): RemoteSqlCursor<T>;
  /**
   * Runs one statement once for each row of bindings, as one transaction: all or nothing, whatever the source of the
   * rows is. Rows that the statement returns are dropped. The rows are read in slices of a few milliseconds, so that
   * the page stays responsive. The object is used only once all rows are read, and then without a pause. Joins an open
   * `transaction`. A call takes at most 128 MiB, and 30 s in SQLite.
   *
   * A call of more than one slice is sent later than other calls of its turn. Await such a call, and do not change its
   * rows until then.
   *
   * @throws StorageError INVALID_ARGUMENT and the errors of `exec`, with the number of the row, counted from 0;
   *   MESSAGE_TOO_LARGE; errors of the source of the rows
   */
  execMany(
    statement: string,
    rows: BulkSource<readonly unknown[]>,
    options?: BulkOptions,
  ): Promise<BulkResult>;
  /**
   * Returns the rows of a query that only reads, and returns them again after every commit of any tab that changes
   * them. The live read continues when the object is reset and when another tab's worker takes over; it ends with
   * `close`.
   */
  live<T extends object = SqlRow>(query: string, ...bindings: unknown[]): Live<T[]>;
  /** The size of the database, in bytes. */
  readonly databaseSize: Promise<number>;
}

/** The result of one statement of `batch`. */
export interface BatchResult<T extends object = SqlRow> {
  readonly rows: T[];
  readonly columnNames: string[];
  readonly rowsRead: number;
  readonly rowsWritten: number;
}

/** The type of `kv` of a page's storage, which is like `ctx.storage.kv` with promises. */
export interface RemoteKvStorage {
  get<T = unknown>(key: string): Promise<T | undefined>;
  put<T>(key: string, value: T): Promise<void>;
  delete(key: string): Promise<boolean>;
  list<T = unknown>(options?: SyncListOptions): AsyncIterableIterator<[string, T]>;
  /**
   * Stores any number of entries as one transaction, all or nothing, with the rules of `sql.execMany`. Resolves to the
   * number of entries. Of several entries with one key, the last entry is stored.
   */
  putMany<T>(
    entries:
      | ReadonlyMap<string, T>
      | BulkSource<readonly [string, T]>
      | Readonly<Record<string, T>>,
    options?: BulkOptions & WriteOptions,
  ): Promise<number>;
}

/** Options that select the commits which `history` lists. Times are Dates, or milliseconds since the epoch. */
export interface HistoryOptions {
  /** The time of the oldest commit that is listed. @default as far as the history goes back */
  from?: number | Date;
  /** The time of the newest commit that is listed. @default now */
  to?: number | Date;
  /** Lists only commits before this bookmark's. To continue a list, give the bookmark of its last commit. */
  before?: string;
  /** How many commits are listed at most, from 1 to 1,000. @default 100 */
  limit?: number;
}

/**
 * The kinds of authors of commits, by their number in the log. `storage`: a call of a handle. `call`, `fetch`,
 * `socket`, `alarm`, `constructor`: code of the object, by the way in which it was entered. Other kinds: an operation
 * of that name.
 */
export const COMMIT_KINDS = [
  'storage',
  'call',
  'fetch',
  'socket',
  'alarm',
  'constructor',
  'import',
  'merge',
  'revert',
  'restore',
  'promote',
  'follow',
] as const;

/** The author of a commit. */
export interface CommitAuthor {
  readonly kind: (typeof COMMIT_KINDS)[number];
  /** The first 128 bytes of the called method's name, if the kind is `call`. */
  readonly method?: string;
  /** The connection that the call came over, as in `connection` of a handle. */
  readonly connection?: string;
  /** The label that `labelled` gave the commit. */
  readonly label?: string;
}

/** A commit of an object, which is a transaction or all writes of one turn. */
export interface StorageCommit {
  /** The bookmark of the state after the commit, for `at` and `restore`. */
  readonly bookmark: string;
  /**
   * The time of the commit by the device's clock. If that was set back, it may be before the time of an earlier commit.
   */
  readonly time: Date;
  /** How many bytes of the log the commit takes, with the old and the new content of its changes. */
  readonly bytes: number;
  /** How many pages of 4,096 bytes the database has after the commit. */
  readonly pages: number;
  /** Whether the commit restored an earlier state. */
  readonly isRestore: boolean;
  /** Whether the commit replaced the object's data by a branch's (`promote`). */
  readonly isPromote: boolean;
  /** The author of the commit; absent if it is internal. Writes of different authors are different commits. */
  readonly by?: CommitAuthor;
}

/** The options of forking an object. */
export interface ForkOptions {
  /** The moment that the branch begins with, as a bookmark or a time. @default now */
  at?: string | Date;
  /** The name of the branch, which a kept branch must have. */
  name?: string;
  /**
   * Keeps the branch until it is deleted by its name, so that the branch outlives its handle, the page and the worker.
   * Otherwise the branch ends with its handle or with the worker that holds it. An object may have 64 kept branches.
   *
   * @default false
   */
  keep?: boolean;
}

/** A branch that is kept. */
export interface BranchSummary {
  readonly name: string;
  /** The bookmark of the origin's moment that the branch began with. */
  readonly bookmark: string;
  readonly created: Date;
}

/** The methods for branches of an object. Each is a writable object of its own that began as a moment of this one. */
export interface Branching {
  /**
   * Forks the object. Nothing is copied: the branch takes space only for its own changes. The handle of a branch is
   * like any other handle; its bookmarks and its history are its own and begin with the fork. The branch's alarms are
   * stored but do not run. The object keeps the history that the branch needs, and ends its branches when it is
   * deleted.
   *
   * @throws StorageError `BOOKMARK_INVALID`, `BOOKMARK_UNAVAILABLE`, `INVALID_ARGUMENT`, `DISK_FULL`
   */
  fork(options?: ForkOptions): Promise<StorageBranch>;
  /** Lists the kept branches, the oldest first. */
  branches(): Promise<BranchSummary[]>;
  /** Opens a handle on a kept branch. @throws StorageError `BRANCH_ENDED` if no kept branch has this name */
  openBranch(name: string): Promise<StorageBranch>;
  /** Deletes a kept branch and its own branches. Resolves to false if no kept branch has this name. */
  deleteBranch(name: string): Promise<boolean>;
  /**
   * Replaces the object's data by the branch's data as one commit, if the object has not changed since the branch
   * began. Calls under way reject with OBJECT_RESET, which is `retryable`. Resolves to the bookmark that undoes the
   * replacement. The branch stays open.
   *
   * @throws StorageError `CONFLICT` if the object has changed: nothing is changed then; `INVALID_ARGUMENT` if `branch`
   *   is not a branch of this object; `TRANSACTION_NESTING` inside this handle's transaction; `BRANCH_ENDED`,
   *   `DISK_FULL`
   */
  promote(branch: StorageBranch): Promise<string>;
}

/**
 * The storage of a branch. `close` ends the branch, unless it is kept or has another handle or stub.
 *
 * @throws StorageError `BRANCH_ENDED` once the branch does not exist any more
 */
export interface StorageBranch extends StorageHandle {
  /** The moment of the origin that the branch began with. */
  readonly forkedAt: string;
  /** The name of the branch, or null. */
  readonly branchName: string | null;
  /**
   * Compares two states. Without `from`, it returns what `merge(branch)` would change: all changes of the branch so
   * far.
   */
  diff(from?: ComparedState, to?: ComparedState): StorageDiff;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * An earlier moment of an object, which can be read while the object changes. The moment itself never changes. Close it
 * when it is no longer needed; it also ends with its handle.
 *
 * @throws StorageError `READ_ONLY` for a statement that writes; `BOOKMARK_UNAVAILABLE` if the moment had to be opened
 *   again (after a reset, or because it was closed for other moments) and its history was deleted meanwhile;
 *   `MOMENT_CLOSED` after `close`
 */
export interface StorageMoment extends Pick<KeyValueOperations, 'get' | 'list' | 'getAlarm'> {
  /** The bookmark of the moment. */
  readonly bookmark: string;
  /** The methods that query the moment as they would the object; a statement that would write is READ_ONLY. */
  readonly sql: Pick<RemoteSqlStorage, 'exec' | 'databaseSize'>;
  readonly kv: Pick<RemoteKvStorage, 'get' | 'list'>;
  /** Returns the database at that moment as a plain SQLite file. */
  exportDatabase(): Promise<Uint8Array<ArrayBuffer>>;
  /** Frees the memory that the moment takes in the worker. A second call does nothing. */
  close(): Promise<void>;
}

/** A state to compare: a moment of the object, or an open branch of it. */
export type ComparedState = string | Date | StorageBranch;

/** The methods that read the past of an object. */
export interface PastReading {
  /**
   * Lists the commits of the last 30 days, the newest first, a part at a time, with the author of each (`by`). The log
   * does not know which statement made a commit.
   *
   * @throws StorageError `INVALID_ARGUMENT`; `BOOKMARK_INVALID`; `CORRUPT` if the history of that part is damaged
   */
  history(options?: HistoryOptions): Promise<StorageCommit[]>;
  /**
   * Opens an earlier moment for reading. The cost is that of the changes since then. The moment keeps the pages that
   * differ in memory: 64 MiB for all moments of an object. An object has four open moments at once; opening another
   * moment closes the least recently used one, whose handle opens it again when it is used.
   *
   * @throws StorageError `BOOKMARK_INVALID`; `BOOKMARK_UNAVAILABLE` for a moment in the future or whose history is
   *   gone; `MEMORY_FULL` if too much has changed since; `CORRUPT`
   */
  at(moment: string | Date): Promise<StorageMoment>;
  /**
   * Returns the differences between two states. Each state is a moment of the object, as a bookmark or a time, or a
   * branch of the object, in its state when the walk begins. Without the second state, returns the differences between
   * the first state and now. The cost is that of the differences, and of the changes since the first moment
   * ([branches](branches.md)).
   *
   * A walk over the differences throws the errors of `at`, and `BRANCH_ENDED`.
   *
   * @throws StorageError `INVALID_ARGUMENT`, also for another object's branch; `TRANSACTION_NESTING` while the branch's
   *   handle has a transaction open
   */
  diff(from: ComparedState, to?: ComparedState): StorageDiff;
}

/**
 * An object's storage on a page. The promise of a write resolves once the write is durable, except
 * with `allowUnconfirmed`, and for a write that joins an open `transaction` (described there).
 */
export interface RemoteStorage extends StorageHandle, ConnectionStatus {}

/** An object's storage from outside of the object: on a page, or in the process that runs the object. */
export interface StorageHandle
  extends KeyValueOperations,
    LiveKeyValue,
    Recovery,
    PastReading,
    Branching {
  /** The name by which the object was opened. */
  readonly name: string;
  /**
   * A random text, which all handles and stubs of one connection share, such as those of a tab, for as long as the
   * connection lasts. Commits made over the connection have this text in `by` of `history()`.
   */
  readonly connection: string;
  /**
   * Runs the task with a view of this handle, whose commits have the label in `by` of `history()`. Resolves or rejects
   * as the task does. In a `transaction`, the first label counts.
   *
   * @throws StorageError `INVALID_ARGUMENT` for a label that is not a string, or of more than 256 bytes in UTF-8
   */
  labelled<T>(label: string, task: (view: this) => T | PromiseLike<T>): Promise<T>;
  readonly sql: RemoteSqlStorage;
  readonly kv: RemoteKvStorage;
  deleteAll(options?: WriteOptions): Promise<void>;
  sync(): Promise<void>;
  /**
   * Runs the statements in order as one transaction, all or nothing, in one message: faster than `transaction` when
   * no statement depends on the result of another. Resolves to their results, at most 32 MiB in total. Joins an
   * open `transaction`. At most 10,000 statements.
   *
   * @throws StorageError INVALID_ARGUMENT and the errors of `exec`, with the number of the statement, counted from 0;
   *   MESSAGE_TOO_LARGE
   */
  batch(statements: Iterable<BatchStatement>): Promise<BatchResult[]>;
  /**
   * Runs the closure, on this page, as one transaction. Calls on this handle join the transaction until it ends; calls
   * of other handles and other tabs wait. A transaction may last 30 s.
   *
   * A write that joins the transaction, through `txn` or through the handle, resolves when the transaction has accepted
   * it, so that the closure can await the write. The write is on disk when the promise of `transaction` resolves, and
   * is undone when this promise rejects or after `txn.rollback()`. `sync()` inside the closure waits only for earlier
   * writes.
   *
   * A handle has one transaction at a time: a second call waits until the first transaction has ended. A second call
   * inside the closure can therefore only fail: with TRANSACTION_NESTING before the closure's first await, and, if the
   * closure waits for it, with TRANSACTION_TIMEOUT after 30 s. Rejects with the closure's own error.
   */
  transaction<T>(closure: (txn: Transaction) => T | PromiseLike<T>): Promise<T>;
  /**
   * Returns the database as a plain SQLite file, in its committed state at this moment: tables, keys (`_cf_KV`) and the
   * alarm (`_cf_METADATA`, key 1, in nanoseconds). The file needs no `-wal` beside it, and workerd opens it. Its pages
   * have 4,096 bytes. An object that was never written gives a file of one page.
   */
  exportDatabase(): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Replaces everything in the object by a SQLite file: a result of `exportDatabase`, or a file of
   * workerd's local storage (`<id>.sqlite`), with the bytes of its `-wal` when there is one.
   *
   * The file is checked before anything is touched. The import is one commit; the object is then
   * reset and starts again with the file's data and alarm: calls made before the import resolves
   * see the old data, or reject with OBJECT_RESET. Resolves to the bookmark of the moment before:
   * restoring it undoes the import.
   *
   * Values are not decoded: a value that cannot be decoded is CORRUPT when it is read.
   *
   * @throws StorageError `IMPORT_INVALID` if the file is not a SQLite database of 4,096-byte pages
   *   in UTF-8, is damaged or incomplete, or contains something that an object may not have: the message names all such
   *   faults, and a program that mends them;
   *   `TRANSACTION_NESTING` inside this handle's transaction; `INPUT_CHANGED` if a chosen file was changed before it
   *   was read; `DISK_FULL`. The old data stays.
   */
  importDatabase(database: BinarySource, wal?: BinarySource | null): Promise<string>;
  /**
   * Throws NOT_ON_PAGE, which names the replacement, because a synchronous transaction is not possible across threads.
   */
  transactionSync(callback: () => unknown): never;
  /**
   * Restores the object to a bookmark, or to a time within the last 30 days: keys, tables and alarm. Resolves once the
   * restore is done, to the bookmark of the moment before: restoring this bookmark undoes the restore.
   *
   * The restore is `onNextSessionRestoreBookmark` and a restart of the object in one event. It is made even if this tab
   * is closed meanwhile, and each of several concurrent restores undoes the one before it. Calls that have begun, also
   * those of other tabs, reject with OBJECT_RESET, which is `retryable`; waiting calls run on the restored object.
   *
   * @throws StorageError `BOOKMARK_INVALID`; `BOOKMARK_UNAVAILABLE` for a moment in the future or whose history is
   *   gone; `TRANSACTION_NESTING` inside this handle's transaction; `DISK_FULL`
   */
  restore(moment: string | Date): Promise<string>;
  /**
   * Reverts the commit that the bookmark names, and keeps all later commits. The revert is a commit of its own.
   * Resolves to the bookmark of this commit: reverting it makes the changes again. Triggers do not run
   * ([branches](branches.md)). Several commits, at most 1,000, are reverted in one commit or not at all, the newest
   * first.
   *
   * If there is nothing to revert, makes no commit and resolves to null.
   *
   * @throws StorageError `CONFLICT` if later commits have changed the same keys, rows or definitions, which
   *   `error.conflicts` lists; `BOOKMARK_INVALID`; `BOOKMARK_UNAVAILABLE`; `TRANSACTION_NESTING` inside this handle's
   *   transaction; `MEMORY_FULL` for a commit of more than 64 MiB; `DISK_FULL`; `INVALID_ARGUMENT`
   */
  revert(bookmarks: string | readonly string[]): Promise<string | null>;
  /**
   * Makes changes to the present object, as one commit: either repeats the changes between two moments, or makes all
   * changes that a branch of the object has made since it began (`branch.diff()`). Resolves to the bookmark of the
   * commit, or to null, without a commit, if there was nothing to change. The branch stays open, and its beginning does
   * not change.
   *
   * @throws StorageError as `revert`; for a branch also `BRANCH_ENDED`, `INVALID_ARGUMENT` if it is not a branch of
   *   this object, and `OBJECT_RESET`, which is `retryable`, if the object or the branch restarted before the changes
   *   were made
   */
  merge(changes: MergedMoments | StorageBranch, options?: MergeOptions): Promise<string | null>;
  /**
   * Durably cancels a restore that `onNextSessionRestoreBookmark` has requested and that is not made yet. Resolves to
   * true if a restore was pending; to false if none was, or if the object has restarted since and made it.
   * `ctx.storage` and workerd have no such method.
   *
   * @throws StorageError `TRANSACTION_NESTING` inside this handle's transaction; `DISK_FULL`
   */
  cancelRestore(): Promise<boolean>;
  /** Resets the object: unconfirmed writes are lost, and the next call starts it again. */
  abort(reason?: string): Promise<void>;
  /**
   * Ends this handle: later calls reject, and an open transaction is undone. Resolves once the calls before it are
   * answered. Stored data stays.
   */
  close(): Promise<void>;
}
