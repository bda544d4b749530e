// One object's storage: synchronous operations on converted arguments and serialized values.
//
// All access to the data passes through here, from the object's own code (durable-object-storage)
// and from pages (sessions/page-session). It opens the implicit transaction before a write, keeps
// the tickets of the output gate, and refuses every operation once the object is broken.
//
// Invariant: `#broken` is set once and thrown by every later operation; a broken storage never writes.
//
// Does not know events or callers; the input gate decides when this code may run.

import { type StorageError, storageError } from '../../src/contract/errors.ts';
import type { KeyRange } from '../../src/contract/key-range.ts';
import type { SqlStorage } from '../../src/contract/storage.ts';
import { type LiveReading, liveQuery } from '../../src/live/live-result.ts';
import { LiveValue } from '../../src/live/live-value.ts';
import { emptyDatabase } from '../import/database-header.ts';
import type { ForeignDatabase } from '../import/foreign-database.ts';
import { type EntryCursor, KvStore } from '../kv/kv-store.ts';
import type { ObjectFiles } from '../log/object-files.ts';
import type { Cursor } from '../sql/cursor.ts';
import type { Database } from '../sql/database.ts';
import { createSqlStorage } from '../sql/sql-storage.ts';
import { Accesses } from './accesses.ts';
import { Alarm } from './alarm.ts';
import { Commits, type Confirmation } from './commits.ts';
import { Metadata } from './metadata.ts';
import type { OpenDatabase } from './moment.ts';
import { deleteAllDeletesAlarm, type StorageOptions } from './options.ts';
import { Past } from './past.ts';
import type { StorageEnvironment } from './storage-environment.ts';
import { type Frame, Transactions } from './transactions.ts';
import { Upkeep } from './upkeep.ts';
import type { WriteSet } from './write-set.ts';

const CONFIRMED: Confirmation = { confirmed: true };

export class ObjectStorage {
  /** `ctx.storage.sql`. */
  readonly sql: SqlStorage;
  readonly environment: StorageEnvironment;
  readonly options: StorageOptions;
  /** What is read and written, for live reads. */
  readonly accesses: Accesses;
  readonly past: Past;
  readonly #database: Database;
  readonly #closeDatabase: () => void;
  readonly #log: ObjectFiles;
  readonly #kv: KvStore;
  readonly #metadata: Metadata;
  readonly #alarm: Alarm;
  readonly #transactions: Transactions;
  readonly #commits: Commits;
  readonly #upkeep: Upkeep;
  #broken: StorageError | undefined;
  /** The error of every operation after the database was replaced and closed. */
  #replaced: StorageError | undefined;
  #alarmChanged = false;
  #hasBookmark = false;

  constructor(
    log: ObjectFiles,
    openDatabase: OpenDatabase,
    environment: StorageEnvironment,
    options: StorageOptions = {},
  ) {
    this.environment = environment;
    this.options = options;
    this.#log = log;
    this.#commits = new Commits(
      log,
      (error) => environment.onBroken(error),
      () => {
        this.accesses.flushed();
        environment.onFlushed?.();
      },
      environment.afterRealTime,
    );
    const { database, close } = openDatabase(log, {
      beforeWrite: () => this.#beforeWrite(CONFIRMED),
      onCritical: (error) => environment.onBroken(error),
      isCancelled: () => environment.isCancelled?.() ?? false,
    });
    this.#database = database;
    this.#closeDatabase = close;
    this.accesses = new Accesses(database);
    this.#kv = new KvStore(this.#database);
    this.#metadata = new Metadata(this.#database);
    this.#alarm = new Alarm(this.#metadata);
    this.#transactions = new Transactions(this.#database, {
      committed: () => this.#committed(),
      rolledBack: ({ implicit }) => {
        if (implicit) this.#commits.forgotten();
        if (!this.#database.inTransaction) this.accesses.rolledBack();
        this.#forgetSchema({ closeWalk: false });
        this.#alarm.rolledBack();
      },
      nextTurn: (task) =>
        environment.nextTurn(() => {
          if (this.#broken === undefined) task();
        }),
      failed: (error) => environment.onBroken(error),
    });
    this.past = new Past(log, openDatabase, environment, () => this.#settle());
    this.sql = createSqlStorage(
      () => this.#databaseForQuery(),
      (args) => this.live(liveQuery(args)),
    );
    this.#upkeep = new Upkeep(log, environment, this.#commits, () => this.#broken !== undefined);
  }

  /**
   * The result of `decode` for the stored bytes, a view that it must not keep; undefined if
   * missing.
   */
  get<T>(key: string, decode: (value: Uint8Array) => T): T | undefined {
    this.#mustBeAlive();
    this.accesses.reads?.addKey(key);
    return this.#kv.get(key, decode);
  }

  /** Stores the entries, all or none. */
  put(entries: readonly (readonly [string, Uint8Array])[], write: Confirmation = CONFIRMED): void {
    const writes = this.#beforeWrite(write);
    if (writes !== undefined) for (const [key] of entries) writes.addKey(key);
    this.#kv.createTable();
    const putAll = () => this.#kv.put(entries);
    // One statement is all or nothing by itself.
    if (entries.length <= 1) putAll();
    else this.#transactions.group(putAll);
  }

  /** Deletes the keys and returns how many of them existed. */
  delete(keys: readonly string[], write: Confirmation = CONFIRMED): number {
    const writes = this.#beforeWrite(write);
    if (writes !== undefined) for (const key of keys) writes.addKey(key);
    let count = 0;
    for (const key of keys) if (this.#kv.delete(key)) count += 1;
    return count;
  }

  /** Starts a walk over the range, and ends an unfinished one. */
  list(range: KeyRange): EntryCursor {
    this.#mustBeAlive();
    this.accesses.reads?.addRange(range);
    return this.#kv.list(range);
  }

  /**
   * Removes everything, all or nothing, including earlier writes of this turn. The alarm stays,
   * unless the compatibility date says otherwise.
   *
   * @throws TRANSACTION_NESTING inside a transaction
   */
  deleteAll(): void {
    this.#mustBeAlive();
    this.accesses.checkWrite();
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
    // One commit replaces all database pages, so what is cached of the old ones is dropped first.
    this.#forgetSchema({ closeWalk: true });
    this.#atomically(() => {
      this.#database.reset();
      if (alarm !== null) this.#metadata.setAlarm(alarm);
    });
    this.accesses.writes?.addEverything();
    this.#alarmChanged = true;
    this.#committed();
  }

  /** Runs the work as a turn of its own: its writes are committed when it ends, and need no later turn. */
  turn<T>(work: () => T): T {
    const result = this.#transactions.turn(work);
    if (this.#broken === undefined) this.#transactions.endTurn();
    return result;
  }

  /** Size of the database, in bytes. */
  get databaseSize(): number {
    this.#mustBeAlive();
    return this.#database.sizeBytes;
  }

  /** The alarm's time in milliseconds, or null; null while its handler runs. */
  get alarm(): number | null {
    this.#mustBeAlive();
    this.accesses.reads?.addAlarm();
    return this.#alarm.timeMs;
  }

  /** The stored time, even while its handler runs. */
  get storedAlarm(): number | null {
    this.#mustBeAlive();
    return this.#alarm.storedMs;
  }

  /** Sets or (null) removes the alarm. A time in the past becomes now. */
  setAlarm(timeMs: number | null, write: Confirmation = CONFIRMED): void {
    this.#mustBeAlive();
    if (timeMs !== null) this.environment.checkAlarm();
    const time = timeMs === null ? null : Math.max(timeMs, Math.floor(this.environment.now()));
    this.accesses.checkWrite();
    if (this.#alarm.isSetTo(time)) return;
    this.#beforeWrite(write)?.addAlarm();
    this.#alarm.set(time);
    this.#alarmChanged = true;
  }

  /** Begins a run of the alarm's handler; false if no alarm is stored. */
  beginAlarm(): boolean {
    this.#mustBeAlive();
    return this.#alarm.begin();
  }

  /** Ends the run. After success the alarm is deleted, unless a new one was set meanwhile. */
  endAlarm(outcome: 'succeeded' | 'failed'): void {
    this.#mustBeAlive();
    if (this.#alarm.end(outcome)) this.setAlarm(null);
  }

  /** A live read for the object's own code. */
  live({ read, value }: LiveReading): LiveValue<unknown> {
    this.#mustBeAlive();
    return new LiveValue(this.environment.live(read), value);
  }

  /** Runs user SQL; the sessions of pages pull its rows. */
  exec(query: string, bindings: readonly unknown[]): Cursor {
    return this.#databaseForQuery().exec(query, [...bindings]);
  }

  /** Runs the closure as a transaction of its own; see Transaction in the contract. */
  transaction<T>(closure: (frame: Frame) => T | PromiseLike<T>): Promise<T> {
    this.#mustBeAlive();
    this.accesses.checkWrite();
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
      // Where flushes end later, so does a transaction: once it has resolved, no abort undoes it.
      const durable = frame.parent === null ? this.#commits.durability() : undefined;
      if (durable !== undefined) await durable;
      return result;
    });
  }

  /** Undoes an open transaction; does nothing if it has ended. @throws TRANSACTION_NESTING */
  rollback(frame: Frame): void {
    this.#mustBeAlive();
    this.#transactions.rollback(frame);
  }

  /** Runs the callback as one transaction. @throws TRANSACTION_ASYNC, and what it throws */
  transactionSync<T>(callback: () => T): T {
    this.#mustBeAlive();
    this.accesses.checkWrite();
    return this.#transactions.sync(callback);
  }

  /** Ends the implicit transaction; later writes begin a new one. */
  commitImplicit(): void {
    this.#mustBeAlive();
    this.#transactions.commitImplicit();
  }

  /** Settles when every confirmed write so far is durable; undefined if they all are. */
  confirmation(): Promise<void> | undefined {
    return this.#commits.confirmation();
  }

  /** Settles when every write so far is durable; undefined if they all are. */
  durability(): Promise<void> | undefined {
    if (this.#broken !== undefined) throw this.#broken;
    return this.#commits.durability();
  }

  /** A bookmark of this moment, including the writes of this turn, which the reply waits for. */
  currentBookmark(): string {
    this.#hasBookmark = true;
    this.accesses.reads?.addEverything();
    this.#settle();
    return this.#log.currentBookmark();
  }

  /** Restores at the next start. Returns the bookmark that undoes it. @throws BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE */
  restoreAtNextStart(bookmark: string): string {
    this.accesses.checkWrite();
    this.commitImplicit();
    const undo = this.#log.scheduleRestore(bookmark);
    this.#committed();
    return undo;
  }

  /** The committed database as a plain SQLite file, including the writes of this turn. */
  databaseBytes(): Uint8Array<ArrayBuffer> {
    this.commitImplicit();
    const image = this.#log.databaseBytes();
    return image.length === 0 ? emptyDatabase() : image;
  }

  /**
   * Becomes a copy of another database, as one commit. Returns the bookmark that undoes it. SQLite
   * has cached the old database, so it is closed, which ends cursors and lists; from now on, every
   * operation except `durability` throws `reason`.
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
   * Ends the storage: uncommitted and unflushed writes are lost, every later operation throws
   * `reason`, and waits for a flush reject with it. Idempotent.
   */
  async break(reason: StorageError): Promise<void> {
    if (this.#broken !== undefined) return;
    this.#broken = reason;
    this.#commits.fail(reason);
    this.past.end();
    this.#closeDatabase();
    this.#log.discardUnflushed();
    await this.#log.close();
  }

  /** True if nothing was ever committed, and no bookmark of that state was given out. */
  get isUnwritten(): boolean {
    return this.#log.committedSequence === 0 && !this.#hasBookmark;
  }

  /** True once a commit is durable: from then on the object has files. */
  get isStored(): boolean {
    return this.#log.durableSequence > 0;
  }

  /** Makes sure that the object exists, although it has stored nothing itself. */
  write(): void {
    this.#mustBeAlive();
    if (!this.isUnwritten || this.#metadata.exists) return;
    this.#beforeWrite(CONFIRMED);
    this.#metadata.create();
  }

  /** Closes an unused storage once its last write is durable. */
  async close(): Promise<void> {
    if (this.#broken !== undefined) return;
    this.#transactions.commitImplicit();
    await this.#commits.flush();
    await this.break(storageError('OBJECT_RESET', 'The object was closed while idle.'));
  }

  /** Returns where to note what is written; undefined: nobody wants to know. */
  #beforeWrite(write: Confirmation): WriteSet | undefined {
    this.#mustBeAlive();
    this.accesses.checkWrite();
    this.#transactions.beforeWrite();
    if (this.#transactions.isImplicit) this.#commits.written(write);
    return this.accesses.writes;
  }

  // A query may write in an implicit transaction that an unconfirmed write has opened. Whether it does
  // is not known before it runs, so the transaction counts as confirmed, which only delays a reply.
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

  // The key-value backend has no tables, so there is nothing else to delete.
  #deleteAllKeys(): void {
    this.#beforeWrite(CONFIRMED)?.addEverything();
    this.#kv.clear();
    if (deleteAllDeletesAlarm(this.options)) this.setAlarm(null);
  }

  /** Commits the writes of this turn, and has the reply wait for every commit so far: it will name one. */
  #settle(): void {
    this.commitImplicit();
    this.#log.commitRestore();
    this.#commits.named();
  }

  #committed(): void {
    this.accesses.committed();
    this.#commits.committed({ isAwaited: this.accesses.isWatched }); // live reads wait for it
    if (this.#broken !== undefined) return; // its flush has failed, and the database is closed
    if (this.#alarmChanged) {
      this.#alarmChanged = false;
      this.environment.onAlarm(this.#alarm.storedMs);
    }
    this.#upkeep.committed();
  }

  #forgetSchema(options: { closeWalk: boolean }): void {
    this.#kv.invalidate(options);
    this.#database.schemaChanged();
    this.#metadata.invalidate();
  }

  #mustBeAlive(): void {
    const refusal = this.#broken ?? this.#replaced;
    if (refusal !== undefined) throw refusal;
  }
}
