// The connection that Kysely uses for one query, or for one transaction from begin to end.
//
// Invariant: `whenFree` settles when Kysely releases the connection, or earlier, when the storage ends its transaction.
// After the latter, the connection refuses every statement, because it would no longer be part of a transaction.

import { storageError } from '@ctx-storage/core/errors';
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';

/** The members of a storage that the dialect uses. All handles have them, and `ctx.storage` here and on workerd. */
export interface QueryableStorage {
  readonly sql: { exec(query: string, ...bindings: unknown[]): Cursor };
  transaction<T>(closure: (txn: { rollback(): void }) => Promise<T>): Promise<T>;
  /** Runs statements together; only handles have it. */
  batch?(statements: Iterable<Statement>): Promise<readonly { readonly rows: Rows }[]>;
}

type Statement = readonly [query: string, ...bindings: unknown[]];
type Rows = readonly object[];
type Cursor = (Iterable<object> | AsyncIterable<object>) & {
  toArray(): Rows | Promise<Rows>;
  /** Frees the cursor; only cursors of handles have it. */
  close?(): Promise<void>;
};

/** An open transaction of the storage. An inner one has the name of its savepoint; the outermost has none. */
interface OpenTransaction {
  readonly name: string | null;
  readonly txn: { rollback(): void };
  /** Lets the closure of the transaction return, which commits it. */
  readonly end: () => void;
  readonly done: Promise<void>;
}

const SELECT_COUNTS = 'SELECT changes() AS changed, CAST(last_insert_rowid() AS TEXT) AS id';

export class StorageConnection implements DatabaseConnection {
  readonly whenFree: Promise<void>;
  readonly #storage: QueryableStorage;
  /** The open transactions, the outermost first. */
  #openTransactions: OpenTransaction[] = [];
  /** The reason why the storage ended the transaction before Kysely did. */
  #failure: { readonly error: unknown } | undefined;
  #markFree = () => {};

  constructor(storage: QueryableStorage) {
    this.#storage = storage;
    this.whenFree = new Promise((resolve) => {
      this.#markFree = resolve;
    });
  }

  /** Frees the connection once Kysely no longer needs it. */
  release(): void {
    this.#markFree();
  }

  /** Begins a transaction, or an inner one with the name of a savepoint. @throws the error of the storage */
  async begin(name: string | null): Promise<void> {
    this.#checkNotEnded();
    let done!: Promise<void>;
    const opened = new Promise<Pick<OpenTransaction, 'txn' | 'end'>>((resolve, reject) => {
      done = this.#storage.transaction(
        (txn) => new Promise<void>((end) => resolve({ txn, end: () => end() })),
      );
      // A failure before the transaction is open rejects `begin`; a later one is reported by its commit.
      done.catch(reject);
    });
    const { txn, end } = await opened;
    this.#openTransactions.push({ name, txn, end, done });
    if (name === null) done.catch((error) => this.#onEndedByStorage(error));
  }

  /** Ends the transaction of this depth and the transactions inside of it, the innermost first. */
  async end(depth: number, how: 'commit' | 'rollback'): Promise<void> {
    if (how === 'commit') this.#checkNotEnded();
    while (this.#openTransactions.length > depth) {
      const { txn, end, done } = this.#openTransactions.pop()!;
      if (how === 'rollback') txn.rollback();
      end();
      // A transaction that failed is rolled back already, and its error was reported by the query that failed.
      await (how === 'rollback' ? done.catch(() => {}) : done);
    }
  }

  /** Returns the depth of a savepoint's transaction. @throws TRANSACTION_ENDED if there is no such savepoint */
  depthOf(savepoint: string): number {
    const depth = this.#openTransactions.findLastIndex(({ name }) => name === savepoint);
    if (depth !== -1) return depth;
    throw storageError('TRANSACTION_ENDED', `There is no savepoint "${savepoint}" any more.`);
  }

  async executeQuery<Row>(compiled: CompiledQuery): Promise<QueryResult<Row>> {
    this.#checkNotEnded();
    const { sql, parameters } = compiled;
    const change = changeKind(compiled);
    if (change === null) {
      return { rows: (await this.#storage.sql.exec(sql, ...parameters).toArray()) as Row[] };
    }
    const [rows, [counts]] = await this.#runTogether([sql, ...parameters], [SELECT_COUNTS]);
    const { changed, id } = counts as { changed: number; id: string };
    return {
      rows: rows as Row[],
      numAffectedRows: BigInt(changed),
      ...(change === 'insert' && changed > 0 && { insertId: BigInt(id) }),
    };
  }

  async *streamQuery<Row>({ sql, parameters }: CompiledQuery): AsyncGenerator<QueryResult<Row>> {
    this.#checkNotEnded();
    const cursor = this.#storage.sql.exec(sql, ...parameters);
    try {
      for await (const row of cursor) yield { rows: [row as Row] };
    } finally {
      await cursor.close?.();
    }
  }

  /** Handles a transaction that the storage ended: it took too long, or its worker or handle has ended. */
  #onEndedByStorage(error: unknown): void {
    this.#failure = { error };
    for (const { end } of this.#openTransactions) end();
    this.#openTransactions = [];
    // The connection is freed in a later task: until the closure has returned, every call of the handle belongs to the
    // transaction.
    setTimeout(() => this.#markFree());
  }

  #checkNotEnded(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Runs two statements so that no other statement runs between them. */
  async #runTogether(first: Statement, second: Statement): Promise<readonly [Rows, Rows]> {
    if (this.#storage.batch === undefined) {
      const { sql } = this.#storage;
      return Promise.all([sql.exec(...first).toArray(), sql.exec(...second).toArray()]);
    }
    try {
      const [one, two] = await this.#storage.batch([first, second]);
      return [one!.rows, two!.rows];
    } catch (error) {
      // The caller did not call `batch`, so the message must not name it.
      if (error instanceof Error) error.message = error.message.replace('batch: statement 0: ', '');
      throw error;
    }
  }
}

/** Returns the kind of a statement whose changed rows SQLite counts, or null for other statements. */
function changeKind({ query: { kind }, sql }: CompiledQuery): 'insert' | 'other' | null {
  if (kind === 'InsertQueryNode') return 'insert';
  if (kind === 'UpdateQueryNode' || kind === 'DeleteQueryNode') return 'other';
  if (kind !== 'RawNode') return null;
  if (/^\s*(insert|replace)\b/i.test(sql)) return 'insert';
  return /^\s*(update|delete)\b/i.test(sql) ? 'other' : null;
}
