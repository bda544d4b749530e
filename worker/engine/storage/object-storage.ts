// One object's storage: synchronous operations on converted arguments and serialized values.
//
// All access to the data passes through here, from the object's own code (durable-object-storage) and from pages
// (sessions/page-session). It opens the implicit transaction before a write, and holds the tickets of the output gate.
// Invariant: `#broken` is set once and thrown by every later operation; a broken storage never writes.
// The input gate decides when this code may run.

import type { Binding } from '../../../src/shared/contract/bindings.ts';
import type { BulkResult } from '../../../src/shared/contract/bulk.ts';
import type { MergeResult } from '../../../src/shared/contract/changes.ts';
import type { Decisions } from '../../../src/shared/contract/decisions.ts';
import { type StorageError, storageError } from '../../../src/shared/contract/errors.ts';
import { isDefect } from '../../../src/shared/contract/invariant.ts';
import type { KeyRange } from '../../../src/shared/contract/key-range.ts';
import type { SqlStorage } from '../../../src/shared/contract/storage.ts';
import type { LiveReading } from '../../../src/shared/live/live-result.ts';
import { LiveValue } from '../../../src/shared/live/live-value.ts';
import { emptyDatabase } from '../import/database-header.ts';
import type { ForeignDatabase } from '../import/foreign-database.ts';
import { type EntryCursor, KvStore } from '../kv/kv-store.ts';
import type { Annotation } from '../log/annotation.ts';
import type { ObjectFiles } from '../log/object-files.ts';
import type { PastState } from '../log/past-state.ts';
import type { Cursor } from '../sql/cursor.ts';
import type { Database } from '../sql/database.ts';
import { createSqlStorage } from '../sql/sql-storage.ts';
import { type AccessPolicy, UNRESTRICTED } from './access-policy.ts';
import { Accesses, type WriteSet } from './accesses.ts';
import { Alarm } from './alarm.ts';
import { BranchPoint } from './branch-point.ts';
import { CommitAuthors } from './commit-authors.ts';
import { CONFIRMED, Commits, type Confirmation } from './commits.ts';
import type { Comparison } from './comparison.ts';
import { type Copy, writeCopied } from './copied-content.ts';
import { lateCode } from './load-late.ts';
import type { MergeTarget } from './merge.ts';
import { Metadata } from './metadata.ts';
import type { OpenDatabase } from './moment.ts';
import { Past } from './past.ts';
import { rememberSection } from './remembered-section.ts';
import {
  deleteAllDeletesAlarm,
  type StorageEnvironment,
  type StorageOptions,
} from './storage-environment.ts';
import { type Frame, Transactions } from './transactions.ts';
import { Upkeep } from './upkeep.ts';

export class ObjectStorage {
  /** The object that programs see as `ctx.storage.sql`. */
  readonly sql: SqlStorage;
  readonly environment: StorageEnvironment;
  readonly options: StorageOptions;
  /** Notes reads and writes for live reads. */
  readonly accesses: Accesses;
  readonly past: Past;
  readonly branchPoint: BranchPoint;
  readonly #database: Database;
  readonly #closeDatabase: () => void;
  readonly #files: ObjectFiles;
  readonly #kv: KvStore;
  readonly #metadata: Metadata;
  readonly #alarm: Alarm;
  readonly #transactions: Transactions;
  readonly #commits: Commits;
  readonly #upkeep: Upkeep;
  readonly #authors: CommitAuthors;
  #broken: StorageError | undefined;
  /** The error of every operation after the database was replaced and closed. */
  #replaced: StorageError | undefined;
  #alarmChanged = false;
  #hasBookmark = false;

  constructor(
    files: ObjectFiles,
    openDatabase: OpenDatabase,
    environment: StorageEnvironment,
    options: StorageOptions = {},
  ) {
    this.environment = environment;
    this.options = options;
    this.#files = files;
    this.#authors = new CommitAuthors(files, environment);
    this.#commits = new Commits(
      files,
      (error) => environment.onBroken(error),
      () => {
        this.accesses.notes?.flushed();
        environment.onFlushed?.();
      },
      environment.afterRealTime,
    );
    const { database, close } = openDatabase(files, {
      // The database has asked the policy of the query.
      beforeWrite: () => this.#beforeWrite(CONFIRMED, UNRESTRICTED),
      mustHaveAsked: () => this.#authors.mustHaveAsked(this.#transactions),
      tableCreated: () => this.accesses.notes?.tableCreated(),
      onCritical: (error) => environment.onBroken(error),
      isCancelled: () => environment.isCancelled?.() ?? false,
    });
    this.#database = database;
    this.#closeDatabase = close;
    this.accesses = new Accesses(database);
    this.#kv = new KvStore(this.#database);
    this.#metadata = new Metadata(this.#database);
    this.#alarm = new Alarm(this.#metadata);
    this.#transactions = new Transactions(this.#database.control, {
      begins: () => this.#authors.begin(),
      committed: () => this.#orReset(() => this.#committed()),
      rolledBack: ({ implicit }) => {
        if (implicit) this.#commits.forgotten();
        if (!this.#database.inTransaction) this.accesses.notes?.rolledBack();
        this.#forgetSchema({ closeWalk: false });
        this.#alarm.rolledBack();
      },
      nextTurn: (task) => environment.nextTurn(() => this.#broken ?? task()),
      failed: (error) => environment.onBroken(error),
    });
    this.past = new Past(files, openDatabase, environment, () => this.#settle());
    this.branchPoint = new BranchPoint(files, {
      currentBookmark: () => this.currentBookmark(),
      bookmarkForTime: (timeMs) => this.past.bookmarkForTime(timeMs),
      durability: () => this.durability(),
    });
    this.sql = createSqlStorage(this);
    this.#upkeep = new Upkeep(files, environment, this.#commits, () => this.#broken !== undefined);
  }

  /** Returns the result of `decode` for the stored bytes, a view that it must not keep; undefined if there are none. */
  get<T>(key: string, decode: (value: Uint8Array) => T): T | undefined {
    this.#mustBeAlive();
    this.environment.scope?.().policy.reads?.addKey(key);
    return this.#kv.get(key, decode);
  }

  /** Stores the entries, all or none. */
  put(entries: readonly (readonly [string, Uint8Array])[], write: Confirmation = CONFIRMED): void {
    const writes = this.#beforeWrite(write);
    if (writes !== undefined) for (const [key] of entries) writes.addKey(key);
    this.#kv.createTable();
    const putAll = () => this.#kv.put(entries);
    if (entries.length <= 1) putAll();
    else this.#transactions.group(putAll);
  }

  /** Deletes the keys, all or none, and returns how many of them existed. */
  delete(keys: readonly string[], write: Confirmation = CONFIRMED): number {
    const writes = this.#beforeWrite(write);
    if (writes !== undefined) for (const key of keys) writes.addKey(key);
    const deleteEach = () => keys.filter((key) => this.#kv.delete(key)).length;
    // A single statement needs no group: it is all or nothing by itself.
    return keys.length <= 1 ? deleteEach() : this.#transactions.group(deleteEach);
  }

  /** Starts a walk over the range, and ends an unfinished one. */
  list(range: KeyRange): EntryCursor {
    this.#mustBeAlive();
    this.environment.scope?.().policy.reads?.addRange(range);
    return this.#kv.list(range);
  }

  /** Deletes everything or nothing; the compatibility date decides about the alarm. @throws TRANSACTION_NESTING */
  deleteAll(write: Confirmation = CONFIRMED): void {
    this.#mustBeAlive();
    this.#transactions.mustBeImplicit('deleteAll()');
    this.#ask();
    if (this.options.backend === 'kv') {
      // The key-value backend has no tables of programs that would have to be deleted.
      this.#beforeWrite(write)?.addEverything();
      this.environment.onReplaced?.();
      this.#kv.clear();
      if (deleteAllDeletesAlarm(this.options)) this.setAlarm(null, write);
      return;
    }
    this.environment.onReplaced?.();
    const alarm = deleteAllDeletesAlarm(this.options) ? null : this.#alarm.storedMs;
    this.#transactions.discard();
    // One commit replaces all database pages, so drop cached data of the old ones first.
    this.#forgetSchema({ closeWalk: true });
    this.#authors.begin();
    this.#orReset(() => {
      this.#files.atomically(() => {
        this.#database.reset();
        if (alarm !== null) this.#metadata.setAlarm(alarm);
      });
      this.#alarm.rolledBack();
      this.accesses.notes?.writes.addEverything();
      if (alarm === null) this.#alarmChanged = true;
      this.#commits.written(write);
      this.#committed();
    });
  }

  /** Runs the work as a turn of its own: its writes are committed when it ends, not in a later turn. */
  turn<T>(work: () => T): T {
    const result = this.#transactions.turn(work);
    if (this.#broken === undefined) this.#transactions.endTurn();
    return result;
  }

  /** The version number of the schema; each change of the schema increases it. */
  get schemaVersion(): number {
    return this.#database.schemaVersion;
  }

  /** Size of the database, in bytes. */
  get databaseSize(): number {
    this.#mustBeAlive();
    this.#authors.policy.reads?.addEverything(); // Every commit may change the result.
    return this.#database.sizeBytes;
  }

  /** The alarm's time in milliseconds, or null; null while its handler runs. */
  get alarm(): number | null {
    this.#mustBeAlive();
    this.#authors.policy.reads?.addAlarm();
    return this.#alarm.timeMs;
  }

  /** The stored time of the alarm, even while its handler runs. */
  get storedAlarm(): number | null {
    this.#mustBeAlive();
    return this.#alarm.storedMs;
  }

  /** Sets or (null) removes the alarm. A time in the past becomes now. */
  setAlarm(timeMs: number | null, write: Confirmation = CONFIRMED): void {
    this.#mustBeAlive();
    if (timeMs !== null) this.environment.checkAlarm();
    const time = timeMs === null ? null : Math.max(timeMs, Math.floor(this.environment.now()));
    this.#mustBeWritable();
    if (this.#alarm.isSetTo(time)) return;
    this.#beforeWrite(write)?.addAlarm();
    this.#alarm.set(time);
    this.#alarmChanged = true;
  }

  /** Begins a run of the alarm's handler; returns false if no alarm is stored. */
  beginAlarm(): boolean {
    this.#mustBeAlive();
    return this.#alarm.begin();
  }

  /** Ends the run. After success the alarm is deleted, unless a new one was set meanwhile. */
  endAlarm(outcome: 'succeeded' | 'failed'): void {
    this.#mustBeAlive();
    if (this.#alarm.end(outcome)) this.setAlarm(null);
  }

  /** Starts a live read for the object's own code. */
  live({ read, value }: LiveReading): LiveValue<unknown> {
    this.#mustBeAlive();
    return new LiveValue(this.environment.live(read), value);
  }

  /** Runs user SQL; the sessions of pages pull its rows. */
  exec(query: unknown, bindings: readonly unknown[]): Cursor {
    const database = this.#databaseForQuery();
    return database.exec(query, bindings, this.#authors.policy, this.accesses.notes);
  }

  /** Runs user SQL once for each row of bindings, as part of `together`. */
  execEach(query: string, rows: Iterable<readonly Binding[]>): BulkResult {
    const database = this.#databaseForQuery();
    return database.execEach(query, rows, this.#authors.policy, this.accesses.notes);
  }

  /** Runs writes that succeed or fail together, in the open transaction or in the turn's. */
  together<T>(writes: () => T): T {
    this.#beforeWrite(CONFIRMED);
    return this.#transactions.group(writes);
  }

  /** Runs the closure as a transaction of its own; see Transaction in the contract. */
  transaction<T>(closure: (frame: Frame) => T | PromiseLike<T>): Promise<T> {
    this.#mustBeWritable();
    return this.environment.section(async () => {
      this.#mustBeAlive();
      const frame = this.#transactions.begin();
      let result: T;
      try {
        result = await closure(frame);
      } catch (error) {
        if (this.#broken === undefined) this.#transactions.fail(frame);
        throw error;
      }
      this.#mustBeAlive();
      this.#transactions.commit(frame);
      // Where flushes end later, wait for the flush: once the transaction has resolved, no abort undoes it.
      const durable = frame.parent === null ? this.#commits.durability() : undefined;
      if (durable !== undefined) await durable;
      return result;
    });
  }

  /** Reverts commits and keeps the later ones. @throws BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE, MEMORY_FULL */
  async revert(bookmarks: readonly string[]): Promise<MergeResult> {
    this.#mustBeWritable();
    const author = this.#authors.as('revert');
    const [newest, ...older] = this.past.runsOf(bookmarks);
    const others = older.map((run) => () => this.past.compareBack(run));
    const inSection = rememberSection(this.environment);
    const comparison = await this.past.compareBack(newest!);
    return inSection(() => this.#makeChanges(comparison, null, author, others));
  }

  /** Applies the changes between two moments. @throws BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE, MEMORY_FULL */
  async merge(
    from: string | number,
    to: string | number,
    decisions: Decisions | null,
  ): Promise<MergeResult> {
    this.#mustBeWritable();
    const author = this.#authors.as('merge');
    const inSection = rememberSection(this.environment);
    const comparison = await this.past.compare(from, to);
    return inSection(() => this.#makeChanges(comparison, decisions, author));
  }

  /** Writes content of the object's original, as one commit. @throws the error of `write`: then nothing is changed */
  replicate(write: (copy: Copy) => void): void {
    this.#mustBeAlive();
    try {
      this.#beforeWrite(CONFIRMED, UNRESTRICTED);
      this.#transactions.sync(() => writeCopied({ database: this.#database, kv: this.#kv }, write));
    } finally {
      this.accesses.notes?.writes.addEverything();
      this.#forgetSchema({ closeWalk: true });
    }
    this.commitImplicit();
  }

  /** Undoes an open transaction; does nothing if it has ended. @throws TRANSACTION_NESTING */
  rollback(frame: Frame): void {
    this.#mustBeAlive();
    this.#transactions.rollback(frame);
  }

  /** Runs the callback as one transaction. @throws TRANSACTION_ASYNC, and the callback's error */
  transactionSync<T>(callback: () => T): T {
    this.#ask();
    return this.#transactions.sync(() => {
      const result = callback();
      this.#mustBeAlive(); // the callback may have caught the error
      return result;
    });
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

  /** Returns a bookmark of the present state, including the writes of this turn; the reply waits for their flush. */
  currentBookmark(): string {
    this.#hasBookmark = true;
    this.#authors.policy.reads?.addEverything();
    this.#settle();
    return this.#files.currentBookmark();
  }

  /** Restores at the next start. Returns the bookmark that undoes it. @throws BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE */
  restoreAtNextStart(bookmark: string): string {
    this.#mustBeWritable();
    this.commitImplicit();
    const undo = this.#files.scheduleRestore(bookmark, this.#authors.as('restore'));
    this.environment.onReplaced?.();
    // Inside a synchronous transaction, the end of the turn makes the commit.
    if (this.#transactions.isSync) this.#commits.named();
    else this.#committed();
    return undo;
  }

  /** Cancels the restore of the next start; false if there is none. @throws TRANSACTION_NESTING, DISK_FULL, IO */
  cancelRestore(): boolean {
    this.#transactions.mustBeImplicit('cancelRestore()');
    this.commitImplicit();
    const isTakenBack = this.#files.cancelRestore();
    this.#commits.named();
    return isTakenBack;
  }

  /** The committed database as a plain SQLite file, including the writes of this turn. */
  databaseBytes(): Uint8Array<ArrayBuffer> {
    this.commitImplicit();
    const image = this.#files.databaseBytes();
    return image.length === 0 ? emptyDatabase() : image;
  }

  /**
   * Replaces the database by a copy of another one as one commit, and cancels a requested restore. Returns the undo
   * bookmark. Later operations, except `durability`, throw `reason`. @throws TRANSACTION_NESTING, DISK_FULL, IO
   */
  replaceDatabase(source: ForeignDatabase, reason: StorageError): string {
    const { alarm } = new Metadata(source.database);
    const overwrite = () => this.#files.atomically(() => this.#files.overwrite(source.file));
    return this.#replace('importDatabase', overwrite, alarm, reason);
  }

  /** Replaces the object's state by that of one of its branches, with the branch's alarm, as `replaceDatabase` does. */
  promote(state: PastState, alarm: number | null, reason: StorageError): string {
    return this.#replace('promote', () => this.#files.become(state), alarm, reason);
  }

  #replace(
    operation: string,
    replace: () => void,
    alarm: number | null,
    reason: StorageError,
  ): string {
    this.#mustBeWritable();
    this.#transactions.mustBeImplicit(operation);
    const undo = this.currentBookmark();
    this.#authors.begin(this.#authors.as(operation === 'promote' ? operation : 'import'));
    this.environment.onReplaced?.();
    this.#orReset(() => {
      replace();
      this.#files.cancelRestore(); // Cancel the restore, because it would undo the replacement.
    });
    this.#replaced = reason;
    this.#closeDatabase();
    this.#commits.committed();
    this.environment.onAlarm(alarm);
    return undo;
  }

  /** Ends the storage: unflushed writes are lost; later operations, and waits for a flush, throw `reason`. */
  async break(reason: StorageError): Promise<void> {
    if (this.#broken !== undefined) return;
    this.#broken = reason;
    this.#commits.fail(reason);
    this.past.end();
    this.#closeDatabase();
    this.#files.discardUnflushed();
    await this.#files.close();
  }

  /** True if nothing was ever committed, and no bookmark of that state was given out. */
  get isUnwritten(): boolean {
    return this.#files.committedSequence === 0 && !this.#hasBookmark;
  }

  /** True once a commit is durable: from then on the object has files. */
  get isStored(): boolean {
    return this.#files.durableSequence > 0;
  }

  /** Makes a commit, so that the object exists although its code has stored nothing. */
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
    if (this.#broken !== undefined) throw this.#broken; // The commit may have failed and closed the files.
    await this.#commits.flush();
    await this.break(storageError('OBJECT_RESET', 'The object was closed while idle.'));
  }

  /** Merges the changes between two states, and closes them. Conflicts undo everything. @throws MEMORY_FULL */
  makeChanges(comparison: Comparison, given: Decisions | null): Promise<MergeResult> {
    this.#mustBeWritable();
    return this.#makeChanges(comparison, given, this.#authors.as('merge'));
  }

  #makeChanges(
    comparison: Comparison,
    given: Decisions | null,
    author: Annotation,
    others: readonly (() => Promise<Comparison>)[] = [],
  ): Promise<MergeResult> {
    return this.environment
      .section(async () => {
        this.#mustBeAlive();
        this.#settle();
        const at = this.#files.currentBookmark();
        // Ignore decisions that were made for another state: the conflicts are found again.
        const decisions = given === null || given.at === null || given.at === at ? given : null;
        const frame = this.#transactions.begin();
        this.#authors.begin(author);
        try {
          const target = () => this.#target();
          const merged = await lateCode.loaded.mergeEach(comparison, others, decisions, target);
          if (!merged.hasChanged) {
            this.#transactions.rollback(frame);
            const { conflicts, conflictCount } = merged;
            return { bookmark: conflictCount > 0 ? at : null, conflicts, conflictCount };
          }
          this.#forgetSchema({ closeWalk: false });
          this.accesses.notes?.writes.addEverything();
        } catch (error) {
          if (this.#broken === undefined) this.#transactions.fail(frame);
          throw error;
        }
        this.#transactions.commit(frame);
        const bookmark = this.#files.currentBookmark();
        await this.#commits.durability();
        return { bookmark, conflicts: [], conflictCount: 0 };
      })
      .finally(() => comparison.close());
  }

  /** Returns the present state as the target of a merge; an earlier merge may have changed the schema. */
  #target(): MergeTarget {
    this.#mustBeAlive();
    this.#forgetSchema({ closeWalk: false });
    const setAlarm = (timeMs: number | null) => this.setAlarm(timeMs);
    return { database: this.#database, alarm: this.#alarm.storedMs, setAlarm };
  }

  /** The running code is about to write. What another author has written in this turn is a commit without it. */
  #ask(policy = this.#authors.policy): void {
    this.#mustBeWritable(policy);
    this.#authors.beforeWrite(this.#transactions);
    this.#mustBeAlive(); // A flush that failed may have ended the storage.
  }

  /** Prepares a write; returns the set in which to note it, undefined if there are no live reads. */
  #beforeWrite(write: Confirmation, policy?: AccessPolicy): WriteSet | undefined {
    this.#ask(policy);
    this.#transactions.beforeWrite();
    if (this.#transactions.isImplicit) this.#commits.written(write);
    return this.accesses.notes?.writes;
  }

  // A query may write in the transaction of an unconfirmed write, so confirm that transaction too.
  #databaseForQuery(): Database {
    this.#mustBeAlive();
    if (this.#transactions.isPending) this.#commits.written(CONFIRMED);
    return this.#database;
  }

  /** Runs an action that must not stop half-way: if it fails, the object is reset. */
  #orReset(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.environment.onBroken(error);
      throw error;
    }
  }

  /** Commits the writes of this turn, and makes the reply wait for all commits so far, because it will name one. */
  #settle(): void {
    this.commitImplicit();
    try {
      this.#files.commitRestore();
    } catch (error) {
      if (isDefect(error)) this.environment.onBroken(error);
      throw error;
    }
    this.#commits.named();
  }

  #committed(): void {
    const { notes } = this.accesses;
    notes?.committed();
    this.#commits.committed({ isAwaited: notes !== undefined }); // Live reads wait for the flush.
    if (this.#broken !== undefined) return; // The flush has failed, and the database is closed.
    if (this.#alarmChanged) {
      this.#alarmChanged = false;
      this.environment.onAlarm(this.#alarm.storedMs);
    }
    if (this.#files.needsMaintenance) this.#upkeep.maintain();
  }

  #forgetSchema(options: { closeWalk: boolean }): void {
    this.#kv.invalidate(options);
    this.#database.schemaChanged();
    this.#metadata.invalidate();
  }

  /** @throws why the storage has ended, or the refusal of the policy */
  #mustBeWritable({ refusal } = this.#authors.policy): void {
    this.#mustBeAlive();
    if (refusal !== null) throw refusal();
  }

  #mustBeAlive(): void {
    const refusal = this.#broken ?? this.#replaced;
    if (refusal !== undefined) throw refusal;
  }
}
