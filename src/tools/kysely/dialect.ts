// `ctx-storage/kysely`: Kysely's SQLite dialect on an object's storage, of a page or `ctx.storage`.
//
// Invariant: a transaction of Kysely is one of `storage.transaction`, which is open from the begin to the commit or
// rollback. Kysely has one connection here (`supportsMultipleConnections` of its adapter, since 0.29), so its other queries
// wait for the end of the transaction.
//
// Uses nothing but SQL, `transaction` and, where there is one, `batch`.

import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { storageError } from '../../shared/contract/errors.ts';

/** The members that the dialect needs; `ctx.storage` has them, here and on workerd, and so have all handles. */
export interface QueryableStorage {
  readonly sql: { exec(query: string, ...bindings: unknown[]): Cursor };
  transaction<T>(closure: (txn: { rollback(): void }) => Promise<T>): Promise<T>;
  /** Of handles only. */
  batch?(statements: Iterable<Statement>): Promise<readonly { readonly rows: Rows }[]>;
}

type Statement = readonly [query: string, ...bindings: unknown[]];
type Rows = readonly object[];
type Cursor = (Iterable<object> | AsyncIterable<object>) & {
  toArray(): Rows | Promise<Rows>;
  /** Of handles only. */
  close?(): Promise<void>;
};

/** A transaction of the storage that is held open. The first one has no name, inner ones that of a savepoint. */
interface Level {
  readonly name: string | null;
  readonly txn: { rollback(): void };
  /** Lets its closure return. */
  readonly end: () => void;
  readonly done: Promise<void>;
}

/**
 * A dialect for `new Kysely({ dialect: storageDialect(storage) })`.
 *
 * A transaction takes 30 s at most. On a page, every other call of the same handle joins it: give the dialect a handle
 * of its own. Savepoints exist with `ctx.storage`; on a page they are `TRANSACTION_NESTING`. Errors are those of the
 * storage.
 */
export function storageDialect(storage: QueryableStorage): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new StorageDriver(storage),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

class StorageDriver implements Driver {
  readonly #storage: QueryableStorage;
  readonly #connection: DatabaseConnection;
  /** The open transactions, the outermost first. */
  readonly #levels: Level[] = [];

  constructor(storage: QueryableStorage) {
    this.#storage = storage;
    this.#connection = new StorageConnection(storage);
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  async beginTransaction(): Promise<void> {
    await this.#begin(null);
  }

  commitTransaction(): Promise<void> {
    return this.#end(0, 'commit');
  }

  rollbackTransaction(): Promise<void> {
    return this.#end(0, 'rollback');
  }

  async savepoint(_connection: DatabaseConnection, name: string): Promise<void> {
    if (this.#storage.batch !== undefined) {
      throw storageError(
        'TRANSACTION_NESTING',
        `savepoint: "${name}" cannot be set, because a handle has no transactions in transactions. Use the dialect ` +
          'with `ctx.storage`, in a class.',
      );
    }
    await this.#begin(name);
  }

  async rollbackToSavepoint(_connection: DatabaseConnection, name: string): Promise<void> {
    await this.#end(this.#depthOf(name), 'rollback');
    await this.#begin(name); // it can be rolled back to again
  }

  async releaseSavepoint(_connection: DatabaseConnection, name: string): Promise<void> {
    await this.#end(this.#depthOf(name), 'commit');
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {}

  async #begin(name: string | null): Promise<void> {
    let done!: Promise<void>;
    const opened = new Promise<Pick<Level, 'txn' | 'end'>>((resolve, reject) => {
      done = this.#storage.transaction(
        (txn) => new Promise<void>((end) => resolve({ txn, end: () => end() })),
      );
      // Before it is open, this is why; later, its commit reports it.
      done.catch(reject);
    });
    const { txn, end } = await opened;
    this.#levels.push({ name, txn, end, done });
  }

  /** Ends the transaction of this depth, and those inside it, the innermost first. */
  async #end(depth: number, how: 'commit' | 'rollback'): Promise<void> {
    while (this.#levels.length > depth) {
      const { txn, end, done } = this.#levels.pop()!;
      if (how === 'rollback') txn.rollback();
      end();
      // A transaction that failed is undone, as a rollback wants it; the query that met the failure reports it.
      await (how === 'rollback' ? done.catch(() => {}) : done);
    }
  }

  #depthOf(savepoint: string): number {
    const depth = this.#levels.findLastIndex(({ name }) => name === savepoint);
    if (depth !== -1) return depth;
    throw storageError('TRANSACTION_ENDED', `There is no savepoint "${savepoint}" any more.`);
  }
}

const COUNTS = 'SELECT changes() AS changed, CAST(last_insert_rowid() AS TEXT) AS id';

class StorageConnection implements DatabaseConnection {
  readonly #storage: QueryableStorage;

  constructor(storage: QueryableStorage) {
    this.#storage = storage;
  }

  async executeQuery<Row>(compiled: CompiledQuery): Promise<QueryResult<Row>> {
    const { sql, parameters } = compiled;
    const change = changeOf(compiled);
    if (change === null) {
      return { rows: (await this.#storage.sql.exec(sql, ...parameters).toArray()) as Row[] };
    }
    const [rows, [counts]] = await this.#both([sql, ...parameters], [COUNTS]);
    const { changed, id } = counts as { changed: number; id: string };
    return {
      rows: rows as Row[],
      numAffectedRows: BigInt(changed),
      ...(change === 'insert' && changed > 0 && { insertId: BigInt(id) }),
    };
  }

  async *streamQuery<Row>({ sql, parameters }: CompiledQuery): AsyncGenerator<QueryResult<Row>> {
    const cursor = this.#storage.sql.exec(sql, ...parameters);
    try {
      for await (const row of cursor) yield { rows: [row as Row] };
    } finally {
      await cursor.close?.();
    }
  }

  /** Runs both, so that nothing comes between them. */
  async #both(first: Statement, second: Statement): Promise<readonly [Rows, Rows]> {
    if (this.#storage.batch === undefined) {
      const { sql } = this.#storage;
      return Promise.all([sql.exec(...first).toArray(), sql.exec(...second).toArray()]);
    }
    try {
      const [one, two] = await this.#storage.batch([first, second]);
      return [one!.rows, two!.rows];
    } catch (error) {
      // The caller knows of no batch.
      if (error instanceof Error) error.message = error.message.replace('batch: statement 0: ', '');
      throw error;
    }
  }
}

/** Whether it is a statement whose rows SQLite counts. */
function changeOf({ query: { kind }, sql }: CompiledQuery): 'insert' | 'other' | null {
  if (kind === 'InsertQueryNode') return 'insert';
  if (kind === 'UpdateQueryNode' || kind === 'DeleteQueryNode') return 'other';
  if (kind !== 'RawNode') return null;
  if (/^\s*(insert|replace)\b/i.test(sql)) return 'insert';
  return /^\s*(update|delete)\b/i.test(sql) ? 'other' : null;
}
