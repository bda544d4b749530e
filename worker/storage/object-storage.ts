// One object's storage, as synchronous operations on compiled arguments and serialized values.
//
// Everything that reaches the data passes here, from the object's own code (durable-object-storage)
// and from pages (runtime/page-sessions): it opens the implicit transaction before a write, keeps
// the tickets of the output gate, and refuses every operation once the object is broken.
//
// Invariant: `#broken` is set once and rethrown ever after; a broken storage never writes.
//
// Knows nothing of events or of who calls; the gate of the runtime decides when this code may run.

import { isStorageError, type StorageError, storageError } from '../../src/contract/errors.ts';
import type { KeyRange } from '../../src/contract/key-range.ts';
import type { SqlStorage } from '../../src/contract/storage.ts';
import { emptyDatabase } from '../import/database-header.ts';
import type { ForeignDatabase } from '../import/foreign-database.ts';
import { type EntryCursor, KvStore } from '../kv/kv-store.ts';
import type { ObjectStore } from '../log/object-store.ts';
import type { Cursor } from '../sql/cursor.ts';
import type { Database, DatabaseEvents } from '../sql/database.ts';
import { createSqlStorage } from '../sql/sql-storage.ts';
import { Alarm } from './alarm.ts';
import { Commits } from './commits.ts';
import type { LogDatabase } from './log-database.ts';
import { Metadata } from './metadata.ts';
import { deleteAllDeletesAlarm, type StorageOptions } from './options.ts';
import { type Frame, Transactions } from './transactions.ts';

/** What storage asks of the runtime around it. */
export interface StorageEnvironment {
  now(): number;
  /** Runs the task in the next turn of the event loop, in order of the calls. */
  nextTurn(task: () => void): void;
  /** Runs the closure as a critical section: other events of the object wait until it settles. */
  section<T>(closure: () => T | PromiseLike<T>): Promise<T>;
  /** Remembers the running event; the result delivers the continuation of its I/O to it. */
  continuation(): (task: () => void) => void;
  /** The storage can no longer be relied on: the object must be reset. */
  onBroken(error: unknown): void;
  /** The alarm was committed anew: its time in milliseconds, or null. */
  onAlarm(timeMs: number | null): void;
  /** Throws when nothing would handle an alarm. */
  checkAlarm(): void;
}

/** Whether replies wait for a write. */
export interface Confirmation {
  readonly confirmed: boolean;
}

const CONFIRMED: Confirmation = { confirmed: true };

export class ObjectStorage {
  /** `ctx.storage.sql`. */
  readonly sql: SqlStorage;
  readonly environment: StorageEnvironment;
  readonly options: StorageOptions;
  readonly #database: Database;
  readonly #closeDatabase: () => void;
  readonly #log: ObjectStore;
  readonly #kv: KvStore;
  readonly #metadata: Metadata;
  readonly #alarm: Alarm;
  readonly #transactions: Transactions;
  readonly #commits: Commits;
  #broken: StorageError | undefined;
  /** What every operation throws once the database was replaced and closed. */
  #replaced: StorageError | undefined;
  #alarmChanged = false;
  #hasBookmark = false;

  /** `openDatabase` opens SQLite on the log's file and reports to the events it is given. */
  constructor(
    log: ObjectStore,
    openDatabase: (events: DatabaseEvents) => LogDatabase,
    environment: StorageEnvironment,
    options: StorageOptions = {},
  ) {
    this.environment = environment;
    this.options = options;
    this.#log = log;
    this.#commits = new Commits(log, (error) => environment.onBroken(error));
    const { database, close } = openDatabase({
      beforeWrite: () => this.#beforeWrite(CONFIRMED),
      onCritical: (error) => environment.onBroken(error),
    });
    this.#database = database;
    this.#closeDatabase = close;
    this.#kv = new KvStore(this.#database);
    this.#metadata = new Metadata(this.#database);
    this.#alarm = new Alarm(this.#metadata);
    this.#transactions = new Transactions(this.#database, {
      committed: () => this.#committed(),
      rolledBack: ({ implicit }) => {
        if (implicit) this.#commits.forgotten();
        this.#forgetSchema({ closeWalk: false });
        this.#alarm.rolledBack();
      },
      nextTurn: (task) =>
        environment.nextTurn(() => {
          if (this.#broken === undefined) task();
        }),
      failed: (error) => environment.onBroken(error),
    });
    this.sql = createSqlStorage(() => this.#databaseForQuery());
  }

  /** What `decode` makes of the stored bytes, a view it must not keep; undefined when missing. */
  get<T>(key: string, decode: (value: Uint8Array) => T): T | undefined {
    this.#mustBeAlive();
    return this.#kv.get(key, decode);
  }

  /** Stores the entries, all or none. */
  put(entries: readonly (readonly [string, Uint8Array])[], write: Confirmation = CONFIRMED): void {
    this.#beforeWrite(write);
    this.#kv.createTable();
    const putAll = () => this.#kv.put(entries);
    // One statement is all or nothing by itself.
    if (entries.length <= 1) putAll();
    else this.#transactions.group(putAll);
  }

  /** Deletes the keys; how many of them existed. */
  delete(keys: readonly string[], write: Confirmation = CONFIRMED): number {
    this.#beforeWrite(write);
    let count = 0;
    for (const key of keys) if (this.#kv.delete(key)) count += 1;
    return count;
  }

  /** Starts a walk over the range, and ends an unfinished one. */
  list(range: KeyRange): EntryCursor {
    this.#mustBeAlive();
    return this.#kv.list(range);
  }

  /**
   * Removes everything, all or nothing; the alarm stays, unless the compatibility date says
   * otherwise. What was written before in this turn is gone with the rest.
   *
   * @throws TRANSACTION_NESTING inside a transaction
   */
  deleteAll(): void {
    this.#mustBeAlive();
    if (this.#transactions.isExplicit) {
      throw storageError(
        'TRANSACTION_NESTING',
        'deleteAll(): not inside transaction(); call it before or after.',
      );
    }
    if (this.options.backend === 'kv') {
      this.#deleteAllKeys();
      return;
    }
    const alarm = deleteAllDeletesAlarm(this.options) ? null : this.#alarm.storedMs;
    this.#transactions.discard();
    // Other pages in one commit: what was known of the old ones is forgotten first.
    this.#forgetSchema({ closeWalk: true });
    this.#atomically(() => {
      this.#database.reset();
      if (alarm !== null) this.#metadata.setAlarm(alarm);
    });
    this.#alarmChanged = true;
    this.#committed();
  }

  /** Size of the database, in bytes. */
  get databaseSize(): number {
    this.#mustBeAlive();
    return this.#database.sizeBytes;
  }

  /** The alarm's time in milliseconds, or null; null while its handler runs. */
  get alarm(): number | null {
    this.#mustBeAlive();
    return this.#alarm.timeMs;
  }

  /** The time that is stored, also while its handler runs. */
  get storedAlarm(): number | null {
    this.#mustBeAlive();
    return this.#alarm.storedMs;
  }

  /** Sets or (null) removes the alarm. A time in the past becomes now. */
  setAlarm(timeMs: number | null, write: Confirmation = CONFIRMED): void {
    this.#mustBeAlive();
    if (timeMs !== null) this.environment.checkAlarm();
    const time = timeMs === null ? null : Math.max(timeMs, Math.floor(this.environment.now()));
    if (this.#alarm.isSetTo(time)) return;
    this.#beforeWrite(write);
    this.#alarm.set(time);
    this.#alarmChanged = true;
  }

  /** Begins a run of the alarm's handler; false when no alarm is stored any more. */
  beginAlarm(): boolean {
    this.#mustBeAlive();
    return this.#alarm.begin();
  }

  /** Ends the run: after success the alarm is gone, unless a new one was set meanwhile. */
  endAlarm(outcome: 'succeeded' | 'failed'): void {
    this.#mustBeAlive();
    if (this.#alarm.end(outcome)) this.setAlarm(null);
  }

  /** Runs user SQL; the runtime's page sessions pull its rows. */
  exec(query: string, bindings: readonly unknown[]): Cursor {
    return this.#databaseForQuery().exec(query, [...bindings]);
  }

  /** Runs the closure as a transaction of its own; see Transaction in the contract. */
  transaction<T>(closure: (frame: Frame) => T | PromiseLike<T>): Promise<T> {
    this.#mustBeAlive();
    return this.environment.section(async () => {
      this.#mustBeAlive();
      const frame = this.#transactions.begin();
      let result: T;
      try {
        result = await closure(frame);
      } catch (error) {
        if (this.#broken === undefined) this.#transactions.rollback(frame);
        throw error;
      }
      this.#mustBeAlive();
      this.#transactions.commit(frame);
      return result;
    });
  }

  /** Undoes an open transaction; nothing when it has ended. @throws TRANSACTION_NESTING */
  rollback(frame: Frame): void {
    this.#mustBeAlive();
    this.#transactions.rollback(frame);
  }

  /** Runs the callback as one transaction. @throws TRANSACTION_ASYNC, and what it throws */
  transactionSync<T>(callback: () => T): T {
    this.#mustBeAlive();
    return this.#transactions.sync(callback);
  }

  /** Ends the implicit transaction: what follows is a new one. */
  commitImplicit(): void {
    this.#mustBeAlive();
    this.#transactions.commitImplicit();
  }

  /** Settles when every confirmed write so far is on disk; undefined when they all are. */
  confirmation(): Promise<void> | undefined {
    return this.#commits.confirmation();
  }

  /** Settles when every write so far is on disk; undefined when they all are. */
  durability(): Promise<void> | undefined {
    if (this.#broken !== undefined) throw this.#broken;
    return this.#commits.durability();
  }

  /** A bookmark of this moment, the writes of this turn included. The reply waits for the disk. */
  currentBookmark(): string {
    this.#hasBookmark = true;
    this.commitImplicit();
    this.#commits.named();
    return this.#log.currentBookmark();
  }

  /** @throws BOOKMARK_UNAVAILABLE */
  bookmarkForTime(timeMs: number): string | Promise<string> {
    this.commitImplicit();
    this.#commits.named();
    return this.#log.bookmarkForTime(timeMs);
  }

  /**
   * Restores at the next start; the bookmark that undoes it.
   *
   * @throws BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE
   */
  restoreAtNextStart(bookmark: string): string {
    this.commitImplicit();
    const undo = this.#log.scheduleRestore(bookmark);
    this.#committed();
    return undo;
  }

  /** A plain SQLite image of what is committed, the writes of this turn included. */
  databaseBytes(): Uint8Array<ArrayBuffer> {
    this.commitImplicit();
    const image = this.#log.databaseBytes();
    return image.length === 0 ? emptyDatabase() : image;
  }

  /**
   * Becomes a copy of another database, as one commit; the bookmark that undoes it. SQLite remembers
   * the old one and is closed, which ends cursors and lists; every operation but `durability` throws
   * `reason` from now on.
   *
   * @throws TRANSACTION_NESTING, DISK_FULL, IO
   */
  replaceDatabase(source: ForeignDatabase, reason: StorageError): string {
    this.#mustBeAlive();
    if (this.#transactions.isExplicit) {
      throw storageError(
        'TRANSACTION_NESTING',
        'importDatabase: not inside transaction(); call it before or after.',
      );
    }
    const undo = this.currentBookmark();
    const { alarm } = new Metadata(source.database);
    this.#atomically(() => this.#log.overwrite(source.file));
    this.#replaced = reason;
    this.#closeDatabase();
    this.#commits.committed();
    this.environment.onAlarm(alarm);
    return undo;
  }

  /**
   * Ends the storage: uncommitted and unflushed writes are gone, every later operation throws
   * `reason`, and who waits for a flush is rejected with it. Idempotent.
   */
  async break(reason: StorageError): Promise<void> {
    if (this.#broken !== undefined) return;
    this.#broken = reason;
    this.#commits.fail(reason);
    this.#closeDatabase();
    this.#log.discardUnflushed();
    await this.#log.close();
  }

  /** True when nothing was ever committed, and nobody holds a bookmark of that. */
  get isUnwritten(): boolean {
    return this.#log.committedSequence === 0 && !this.#hasBookmark;
  }

  /** Closes a storage nobody uses any more, after its last write is on disk. */
  async close(): Promise<void> {
    if (this.#broken !== undefined) return;
    this.#transactions.commitImplicit();
    this.#commits.flush();
    await this.#commits.durability();
    await this.break(storageError('OBJECT_RESET', 'The object was closed while idle.'));
  }

  #beforeWrite(write: Confirmation): void {
    this.#mustBeAlive();
    this.#transactions.beforeWrite();
    if (this.#transactions.isImplicit) this.#commits.written(write);
  }

  // A query may write in an implicit transaction that an unconfirmed write has opened; whether it
  // does is not known before it runs, so its turn counts as confirmed. That only delays a reply.
  #databaseForQuery(): Database {
    this.#mustBeAlive();
    if (this.#transactions.isImplicit && this.#database.inTransaction) {
      this.#commits.written(CONFIRMED);
    }
    return this.#database;
  }

  #atomically(action: () => void): void {
    try {
      this.#log.atomically(action);
    } catch (error) {
      this.environment.onBroken(error);
      throw error;
    }
  }

  // The key-value backend knows no tables, so nothing else can be there.
  #deleteAllKeys(): void {
    this.#beforeWrite(CONFIRMED);
    this.#kv.clear();
    if (deleteAllDeletesAlarm(this.options)) this.setAlarm(null);
  }

  #committed(): void {
    this.#commits.committed();
    if (this.#broken !== undefined) return; // its flush has failed, and the database is closed
    if (this.#alarmChanged) {
      this.#alarmChanged = false;
      this.environment.onAlarm(this.#alarm.storedMs);
    }
    if (this.#log.needsMaintenance) {
      this.#log.maintain().catch((error: unknown) => {
        // On a full disk upkeep has to wait; it is asked for again by the next commit.
        if (!isDiskFull(error)) this.environment.onBroken(error);
      });
    }
  }

  #forgetSchema(options: { closeWalk: boolean }): void {
    this.#kv.invalidate(options);
    this.#metadata.invalidate();
  }

  #mustBeAlive(): void {
    const refusal = this.#broken ?? this.#replaced;
    if (refusal !== undefined) throw refusal;
  }
}

function isDiskFull(error: unknown): boolean {
  return isStorageError(error) && error.code === 'DISK_FULL';
}
