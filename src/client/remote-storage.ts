// An object's storage on a page: the asynchronous counterpart of `ctx.storage`. Methods that do
// more than convert their arguments are written here; the others come from the table of operations.

import {
  checkArgumentCount,
  convertBinary,
  convertString,
  convertTimestamp,
} from '../contract/arguments.ts';
import type {
  ConnectionState,
  PersistedState,
  StatusEvents,
  StorageSpace,
} from '../contract/connection-status.ts';
import { storageError } from '../contract/errors.ts';
import type { Live, LiveKeys } from '../contract/live.ts';
import type { StorageMedium } from '../contract/medium.ts';
import type { MethodName } from '../contract/operations.ts';
import type {
  BinarySource,
  RemoteKvStorage,
  RemoteSqlStorage,
  RemoteStorage as RemoteStorageInterface,
  StorageMoment,
  Transaction,
} from '../contract/storage.ts';
import { liveKeys } from '../live/live-result.ts';
import { setWithSignal } from '../stubs/with-signal.ts';
import type { PageEnvironment } from './environment.ts';
import { LiveClient } from './live-client.ts';
import { MomentSession } from './moment-session.ts';
import { RemoteKeyValue } from './remote-key-value.ts';
import { RemoteKv } from './remote-kv.ts';
import { defineRemoteMethods, type SendCall } from './remote-methods.ts';
import { RemoteMoment } from './remote-moment.ts';
import { RemoteSql } from './remote-sql.ts';
import { RemoteTransactions } from './remote-transaction.ts';
import { type SessionCalls, SignalledSession } from './signalled-session.ts';

type HandleEnvironment = Pick<PageEnvironment, 'after' | 'whenCollected'>;

/** The methods of the table, which the static block defines. */
export interface RemoteStorage
  extends Pick<RemoteStorageInterface, MethodName<'storage' | 'page'>> {}

export class RemoteStorage extends RemoteKeyValue implements RemoteStorageInterface {
  readonly name: string;
  readonly sql: RemoteSqlStorage;
  readonly kv: RemoteKvStorage;
  readonly #send: SendCall;
  readonly #session: SessionCalls;
  readonly #live: LiveClient;
  readonly #transactions: RemoteTransactions;
  readonly #environment: HandleEnvironment;

  /** `base`: the same handle without the signal of the session. */
  constructor(session: SessionCalls, environment: HandleEnvironment, base?: RemoteStorage) {
    const send: SendCall = (call) => session.call(call);
    super(send);
    this.#send = send;
    this.name = session.name;
    this.#live = base ? base.#live : new LiveClient(session, environment.after);
    this.sql = new RemoteSql(session, this.#live, environment.whenCollected);
    this.kv = new RemoteKv(send);
    this.#session = session;
    this.#environment = environment;
    this.#transactions = base
      ? base.#transactions
      : new RemoteTransactions(session, environment.after);
    setWithSignal(
      this,
      (signal) =>
        new RemoteStorage(new SignalledSession(session, signal), environment, base ?? this),
    );
  }

  transaction<T>(closure: (txn: Transaction) => T | PromiseLike<T>): Promise<T> {
    return this.#session.status.write(this.#transactions.run(closure, this.#session.signal));
  }

  get state(): ConnectionState {
    return this.#session.status.state;
  }

  get stateReason(): Error | null {
    return this.#session.status.stateReason;
  }

  get medium(): StorageMedium | null {
    return this.#session.status.medium;
  }

  get pendingWrites(): number {
    return this.#session.status.pendingWrites;
  }

  get savedAt(): number | null {
    return this.#session.status.savedAt;
  }

  get isOutdated(): boolean {
    return this.#session.status.isOutdated;
  }

  get persisted(): PersistedState {
    return this.#session.status.persisted;
  }

  estimate(): Promise<StorageSpace> {
    return this.#session.status.estimate();
  }

  addEventListener<Type extends keyof StatusEvents>(
    type: Type,
    listener: (event: StatusEvents[Type]) => void,
  ): void {
    this.#session.status.addEventListener(type, listener as (event: Event) => void);
  }

  removeEventListener<Type extends keyof StatusEvents>(
    type: Type,
    listener: (event: StatusEvents[Type]) => void,
  ): void {
    this.#session.status.removeEventListener(type, listener as (event: Event) => void);
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
    return this.#live.read(liveKeys(args), this.#session.signal);
  }

  importDatabase(database: BinarySource, wal?: BinarySource | null): Promise<string>;
  async importDatabase(...args: unknown[]): Promise<string> {
    checkArgumentCount('importDatabase', args.length, 1);
    const file = convertBinary('importDatabase', args[0]);
    const log = args[1] == null ? null : convertBinary('importDatabase', args[1]);
    // Only a Blob is awaited; otherwise the call keeps its place among those of this turn.
    const isBlob = file instanceof Promise || log instanceof Promise;
    const [database, wal] = isBlob ? await Promise.all([file, log]) : [file, log];
    return this.#session.call({ op: 'importDatabase', database, wal });
  }

  restore(moment: string | Date): Promise<string>;
  async restore(...args: unknown[]): Promise<string> {
    checkArgumentCount('restore', args.length, 1);
    const [moment] = args;
    const given = moment instanceof Date ? moment : convertString('restore', moment);
    if (this.#session.isInTransaction) {
      throw storageError(
        'TRANSACTION_NESTING',
        'restore: not inside transaction(); call it before or after.',
      );
    }
    const bookmark = given instanceof Date ? await this.getBookmarkForTime(given) : given;
    const undo = await this.onNextSessionRestoreBookmark(bookmark);
    // Not cancelled half-way: a restore that was requested would come later.
    const reason = 'restore: the object goes back to an earlier moment.';
    await this.#session.call({ op: 'abort', reason }, null, null);
    await this.#session.call({ op: 'sync' }, null, null); // starts the object, which makes the restore
    return undo;
  }

  at(moment: string | Date): Promise<StorageMoment>;
  async at(...args: unknown[]): Promise<StorageMoment> {
    checkArgumentCount('at', args.length, 1);
    const [moment] = args;
    const at =
      moment instanceof Date
        ? { timeMs: convertTimestamp('at', moment) }
        : { bookmark: convertString('at', moment) };
    return new RemoteMoment(await MomentSession.open(this.#session, at), this.#environment);
  }

  async abort(reason?: string): Promise<void> {
    const text = reason === undefined ? 'The page called abort().' : convertString('abort', reason);
    await this.#session.call({ op: 'abort', reason: text }, null);
  }

  close(): Promise<void> {
    const closed = this.#session.close();
    this.#live.end();
    return closed;
  }

  static {
    const owners = ['storage', 'page'] as const;
    defineRemoteMethods(RemoteStorage.prototype, owners, (self: RemoteStorage) => self.#send);
  }
}
