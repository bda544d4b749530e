// An object's storage as a page has it: the asynchronous mirror of `ctx.storage`.

import {
  checkArgumentCount,
  convertBinary,
  convertString,
  convertTimestamp,
  convertWriteOptions,
} from '../contract/arguments.ts';
import { storageError } from '../contract/errors.ts';
import type {
  BinarySource,
  RemoteKvStorage,
  RemoteSqlStorage,
  RemoteStorage as RemoteStorageInterface,
  Transaction,
  WriteOptions,
} from '../contract/storage.ts';
import type { PageEnvironment } from './environment.ts';
import { RemoteKeyValue, type SendCall } from './remote-key-value.ts';
import { RemoteKv } from './remote-kv.ts';
import { RemoteSql } from './remote-sql.ts';
import { Transactions } from './remote-transaction.ts';
import type { Session } from './session.ts';

export class RemoteStorage extends RemoteKeyValue implements RemoteStorageInterface {
  readonly name: string;
  readonly sql: RemoteSqlStorage;
  readonly kv: RemoteKvStorage;
  readonly #session: Session;
  readonly #transactions: Transactions;

  constructor(session: Session, environment: Pick<PageEnvironment, 'after' | 'whenCollected'>) {
    const send: SendCall = (call) => session.call(call);
    super(send);
    this.name = session.name;
    this.sql = new RemoteSql(session, environment.whenCollected);
    this.kv = new RemoteKv(send);
    this.#session = session;
    this.#transactions = new Transactions(session, environment.after);
  }

  async deleteAll(options?: WriteOptions): Promise<void> {
    const unconfirmed = convertWriteOptions('deleteAll', options).allowUnconfirmed;
    await this.#session.call({ op: 'deleteAll', unconfirmed });
  }

  async sync(): Promise<void> {
    await this.#session.call({ op: 'sync' });
  }

  transaction<T>(closure: (txn: Transaction) => T | PromiseLike<T>): Promise<T> {
    return this.#transactions.run(closure);
  }

  transactionSync(_callback: () => unknown): never {
    throw storageError(
      'NOT_ON_PAGE',
      'transactionSync: a page cannot wait for the worker; use transaction() here, or run the code ' +
        'in the worker, where ctx.storage is synchronous.',
    );
  }

  async getCurrentBookmark(): Promise<string> {
    return this.#session.call({ op: 'getCurrentBookmark' });
  }

  getBookmarkForTime(timestamp: number | Date): Promise<string>;
  async getBookmarkForTime(...args: unknown[]): Promise<string> {
    checkArgumentCount('getBookmarkForTime', args.length, 1);
    const timeMs = convertTimestamp('getBookmarkForTime', args[0]);
    return this.#session.call({ op: 'getBookmarkForTime', timeMs });
  }

  onNextSessionRestoreBookmark(bookmark: string): Promise<string>;
  async onNextSessionRestoreBookmark(...args: unknown[]): Promise<string> {
    checkArgumentCount('onNextSessionRestoreBookmark', args.length, 1);
    const bookmark = convertString('onNextSessionRestoreBookmark', args[0]);
    return this.#session.call({ op: 'onNextSessionRestoreBookmark', bookmark });
  }

  async exportDatabase(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#session.call({ op: 'exportDatabase' });
  }

  importDatabase(database: BinarySource, wal?: BinarySource | null): Promise<string>;
  async importDatabase(...args: unknown[]): Promise<string> {
    checkArgumentCount('importDatabase', args.length, 1);
    const file = convertBinary('importDatabase', args[0]);
    const log = args[1] == null ? null : convertBinary('importDatabase', args[1]);
    // Only a Blob has to be waited for; else the call keeps its place among those of this turn.
    const isBlob = file instanceof Promise || log instanceof Promise;
    const [database, wal] = isBlob ? await Promise.all([file, log]) : [file, log];
    return this.#session.call({ op: 'importDatabase', database, wal });
  }

  async abort(reason?: string): Promise<void> {
    const text = reason === undefined ? 'The page called abort().' : convertString('abort', reason);
    await this.#session.call({ op: 'abort', reason: text }, null);
  }

  close(): Promise<void> {
    return this.#session.close();
  }
}
