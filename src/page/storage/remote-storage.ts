// Implements an object's storage on a page, the asynchronous counterpart of `ctx.storage`. Methods that do more than convert
// their arguments are written here; the table of operations defines the others.

import { setWithSignal } from '../../shared/calls/stubs/with-signal.ts';
import {
  checkArgumentCount,
  checkCallback,
  convertString,
} from '../../shared/contract/arguments.ts';
import type { MergedMoments, MergeOptions, StorageDiff } from '../../shared/contract/changes.ts';
import { checkLabel } from '../../shared/contract/commit-label.ts';
import type { ConnectionStatus } from '../../shared/contract/connection-status.ts';
import type { Decisions } from '../../shared/contract/decisions.ts';
import { storageError } from '../../shared/contract/errors.ts';
import { convertBinary } from '../../shared/contract/file-bytes.ts';
import type { Live, LiveKeys } from '../../shared/contract/live.ts';
import { convertReverted } from '../../shared/contract/reverted-commits.ts';
import type { StateName } from '../../shared/contract/state-name.ts';
import type {
  BatchResult,
  BinarySource,
  ComparedState,
  ForkOptions,
  RemoteKvStorage,
  RemoteSqlStorage,
  RemoteStorage as RemoteStorageInterface,
  StorageBranch,
  StorageMoment,
  Transaction,
} from '../../shared/contract/storage.ts';
import { convertTimestamp } from '../../shared/contract/times.ts';
import { liveKeys } from '../../shared/live/live-result.ts';
import type { MethodName } from '../../shared/wire/operations.ts';
import type { PageEnvironment } from '../leader/environment.ts';
import { defineStatus } from '../leader/status.ts';
import type { EarlyReads } from './early-reads.ts';
import { LiveClient } from './live-client.ts';
import { type BranchSession, branchIdIn, forkBranch, openKeptBranch } from './remote-branches.ts';
import { RemoteBulk } from './remote-bulk.ts';
import { RemoteDiff } from './remote-diff.ts';
import { RemoteBulkKv, RemoteKeyValue } from './remote-kv.ts';
import { conflictError, mergeBranch, mergeWith } from './remote-merge.ts';
import { MomentSession, type NamedMoment, RemoteMoment } from './remote-moment.ts';
import { RemoteSql } from './remote-sql.ts';
import { RemoteTransactions } from './remote-transaction.ts';
import { defineRemoteMethods, type Session, type SessionCalls } from './session.ts';
import { LabelledCalls, SignalledCalls } from './session-views.ts';

type HandleEnvironment = Pick<
  PageEnvironment,
  'after' | 'nextTask' | 'now' | 'onPageHide' | 'whenCollected'
>;

/** The methods of the table and the status, which the static block defines. */
export interface RemoteStorage
  extends Pick<RemoteStorageInterface, MethodName<'storage' | 'page'>>,
    ConnectionStatus {}

export class RemoteStorage extends RemoteKeyValue implements RemoteStorageInterface {
  readonly name: string;
  readonly sql: RemoteSqlStorage;
  readonly kv: RemoteKvStorage;
  readonly #session: Session;
  readonly #calls: SessionCalls;
  readonly #live: LiveClient;
  readonly #bulk: RemoteBulk;
  readonly #transactions: RemoteTransactions;
  readonly #environment: HandleEnvironment;
  readonly #base: RemoteStorage | undefined;

  /**
   * `base` is the same handle without the signal and the label of the calls. `early` is given for a handle that was
   * opened before a worker is ready.
   */
  constructor(
    calls: SessionCalls,
    environment: HandleEnvironment,
    base?: RemoteStorage,
    early?: EarlyReads,
  ) {
    super(calls);
    const { session } = calls;
    const { after, nextTask, whenCollected } = environment;
    this.#session = session;
    this.#calls = calls;
    this.name = session.name;
    this.#live = base ? base.#live : new LiveClient(session, after, early);
    this.#bulk = new RemoteBulk(calls, nextTask);
    this.sql = new RemoteSql(calls, this.#live, this.#bulk, whenCollected);
    this.kv = new RemoteBulkKv(calls, this.#bulk);
    this.#environment = environment;
    this.#transactions = base ? base.#transactions : new RemoteTransactions(session, environment);
    this.#base = base;
    setWithSignal(this, (signal) => this.#view(new SignalledCalls(calls, signal)));
  }

  batch(...args: unknown[]): Promise<BatchResult[]> {
    return this.#bulk.batch(args);
  }

  transaction<T>(closure: (txn: Transaction) => T | PromiseLike<T>): Promise<T> {
    return this.#session.status.write(
      this.#transactions.run(closure, this.#calls.signal, this.#calls.label),
    );
  }

  get connection(): string {
    return this.#session.finder.client;
  }

  async labelled<T>(label: string, task: (view: this) => T | PromiseLike<T>): Promise<T> {
    const calls = new LabelledCalls(this.#calls, checkLabel('label', label, 'labelled'));
    checkCallback('labelled', task);
    return task(this.#view(calls));
  }

  transactionSync(_callback: () => unknown): never {
    throw storageError(
      'NOT_ON_PAGE',
      'transactionSync: a page cannot wait for the worker; use transaction() here, or run the code ' +
        'in the worker, where ctx.storage is synchronous.',
    );
  }

  live<T>(options: { readonly key: string }): Live<T | undefined>;
  live<T>(options: LiveKeys): Live<Map<string, T>>;
  live(...args: unknown[]): Live<unknown> {
    return this.#live.read(liveKeys(args), this.#calls.signal);
  }

  importDatabase(database: BinarySource, wal?: BinarySource | null): Promise<string>;
  async importDatabase(...args: unknown[]): Promise<string> {
    checkArgumentCount('importDatabase', args.length, 1);
    // This is checked here, because the worker may get the import before the transaction has begun, and would then wait for
    // the transaction to end.
    this.#mustBeOutside('importDatabase');
    const file = convertBinary('importDatabase', args[0]);
    const log = args[1] == null ? null : convertBinary('importDatabase', args[1]);
    // Only a Blob is awaited, so that otherwise the call keeps its order among the calls of this turn.
    const isBlob = file instanceof Promise || log instanceof Promise;
    if (!isBlob) return this.#calls.call({ op: 'importDatabase', database: file, wal: log });
    const end = this.#session.operate();
    try {
      const [database, wal] = await Promise.all([file, log]);
      const call = { op: 'importDatabase', database, wal } as const;
      return await this.#session.goOn(() => this.#calls.call(call));
    } finally {
      end();
    }
  }

  restore(moment: string | Date): Promise<string>;
  async restore(...args: unknown[]): Promise<string> {
    checkArgumentCount('restore', args.length, 1);
    const [moment] = args;
    const at = convertMoment('restore', moment);
    this.#mustBeOutside('restore');
    return this.#calls.call({ op: 'restore', ...at });
  }

  at(moment: string | Date): Promise<StorageMoment>;
  async at(...args: unknown[]): Promise<StorageMoment> {
    checkArgumentCount('at', args.length, 1);
    const [moment] = args;
    const at = convertMoment('at', moment);
    return new RemoteMoment(await MomentSession.open(this.#calls, at), this.#environment);
  }

  diff(from?: ComparedState, to?: ComparedState): StorageDiff {
    // Without `from`, the comparison begins at the beginning of a branch. The worker refuses that for other objects.
    return new RemoteDiff(this.#calls, {
      from: from === undefined ? null : this.#stateOf('diff', from),
      to: to === undefined ? null : this.#stateOf('diff', to),
    });
  }

  fork(options?: ForkOptions): Promise<StorageBranch>;
  async fork(...args: unknown[]): Promise<StorageBranch> {
    const { now } = this.#environment;
    return new RemoteBranch(await forkBranch(this.#calls, now, args), this.#environment);
  }

  openBranch(name: string): Promise<StorageBranch>;
  async openBranch(...args: unknown[]): Promise<StorageBranch> {
    const { now } = this.#environment;
    return new RemoteBranch(await openKeptBranch(this.#calls, now, args), this.#environment);
  }

  promote(branch: StorageBranch): Promise<string>;
  async promote(...args: unknown[]): Promise<string> {
    checkArgumentCount('promote', args.length, 1);
    const branch = this.#branchOf('promote', args[0]);
    this.#mustBeOutside('promote');
    return this.#calls.call({ op: 'promote', branch });
  }

  revert(bookmarks: string | readonly string[]): Promise<string | null>;
  async revert(...args: unknown[]): Promise<string | null> {
    checkArgumentCount('revert', args.length, 1);
    const bookmarks = convertReverted('revert', args[0]);
    this.#mustBeOutside('revert');
    const result = await this.#calls.call({ op: 'revert', bookmarks });
    if (result.conflictCount > 0) throw conflictError('revert', result);
    return result.bookmark;
  }

  async merge(
    changes: MergedMoments | StorageBranch,
    options: MergeOptions = {},
  ): Promise<string | null> {
    const { onConflict } = options ?? {};
    if (changes instanceof RemoteStorage) {
      const branch = this.#branchOf('merge', changes);
      this.#mustBeOutside('merge');
      return mergeBranch(this.#calls, branch, onConflict);
    }
    const states = convertMerged(changes);
    this.#mustBeOutside('merge');
    const merge = (decisions: Decisions | null) =>
      this.#calls.call({ op: 'merge', ...states, decisions });
    return mergeWith(this.#calls, onConflict, merge);
  }

  async abort(reason?: string): Promise<void> {
    const text = reason === undefined ? 'The page called abort().' : convertString('abort', reason);
    await this.#calls.call({ op: 'abort', reason: text }, null);
  }

  close(): Promise<void> {
    const closed = this.#session.close();
    this.#live.end();
    return closed;
  }

  /** Makes a view of this handle with other calls. */
  #view(calls: SessionCalls): this {
    return new RemoteStorage(calls, this.#environment, this.#base ?? this) as this;
  }

  #stateOf(operation: string, state: unknown): StateName {
    if (!(state instanceof RemoteStorage)) return momentOf(operation, state);
    return { branch: this.#branchOf(operation, state), bookmark: null };
  }

  /** Returns the id of a branch of this object. @throws INVALID_ARGUMENT, TRANSACTION_NESTING */
  #branchOf(operation: string, handle: unknown): string {
    const isHandle = handle instanceof RemoteStorage;
    const id = isHandle ? branchIdIn(this.#session.target, handle.#session.target) : null;
    if (!isHandle || id === null) {
      throw storageError(
        'INVALID_ARGUMENT',
        `${operation}: takes a branch of this object, as fork() and openBranch() give it.`,
      );
    }
    // Inside the transaction, the call would wait for the end of that transaction.
    handle.#mustBeOutside(operation);
    return id;
  }

  #mustBeOutside(operation: string): void {
    if (this.#session.scope === null) return;
    throw storageError(
      'TRANSACTION_NESTING',
      `${operation}: not inside transaction(); call it before or after.`,
    );
  }

  static {
    const owners = ['storage', 'page'] as const;
    defineRemoteMethods(RemoteStorage.prototype, owners, (self: RemoteStorage) => self.#calls);
    defineStatus(RemoteStorage.prototype, (self: RemoteStorage) => self.#session.status);
  }
}

/** The storage of a branch, which also tells when and where the branch was forked. */
class RemoteBranch extends RemoteStorage implements StorageBranch {
  readonly forkedAt: string;
  readonly branchName: string | null;

  constructor({ facts, session }: BranchSession, environment: HandleEnvironment) {
    super(session, environment);
    this.forkedAt = facts.bookmark;
    this.branchName = facts.name;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function convertMerged(changes: unknown): { from: string | number; to: string | number } {
  if (typeof changes !== 'object' || changes === null || !('from' in changes && 'to' in changes)) {
    throw storageError('INVALID_ARGUMENT', 'merge: takes { from, to }, each a bookmark or a Date.');
  }
  return { from: momentOf('merge', changes.from), to: momentOf('merge', changes.to) };
}

function momentOf(operation: string, moment: unknown): string | number {
  const { bookmark, timeMs } = convertMoment(operation, moment);
  return bookmark ?? timeMs!;
}

function convertMoment(operation: string, moment: unknown): NamedMoment {
  return moment instanceof Date
    ? { bookmark: null, timeMs: convertTimestamp(operation, moment) }
    : { bookmark: convertString(operation, moment), timeMs: null };
}
