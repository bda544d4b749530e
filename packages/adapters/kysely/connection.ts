// The connection that Kysely uses for one query, or for one transaction from its beginning to its end.
//
// Invariant: `whenFree` settles once, when Kysely gives the connection back or, before that, when the storage has ended
// the transaction. The connection then refuses everything, since its statements would no longer be part of a transaction.

import { storageError } from '@ctx-storage/core/errors';
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';

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

const COUNTS = 'SELECT changes() AS changed, CAST(last_insert_rowid() AS TEXT) AS id';

export class StorageConnection implements DatabaseConnection {
  readonly whenFree: Promise<void>;
  readonly #storage: QueryableStorage;
  /** The open transactions, the outermost first. */
  #levels: Level[] = [];
  /** Why its transaction has ended before Kysely ended it. */
  #failure: { readonly error: unknown } | undefined;
  #free = () => {};

  constructor(storage: QueryableStorage) {
    this.#storage = storage;
    this.whenFree = new Promise((resolve) => {
      this.#free = resolve;
    });
  }

  /** Kysely needs it no longer. */
  release(): void {
    this.#free();
  }

  /** Begins a transaction, or one in it. @throws the storage's error */
  async begin(name: string | null): Promise<void> {
    this.#mustBeAlive();
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
    if (name === null) done.catch((error) => this.#fail(error));
  }

  /** Ends the transaction of this depth, and those inside it, the innermost first. */
  async end(depth: number, how: 'commit' | 'rollback'): Promise<void> {
    if (how === 'commit') this.#mustBeAlive();
    while (this.#levels.length > depth) {
      const { txn, end, done } = this.#levels.pop()!;
      if (how === 'rollback') txn.rollback();
      end();
      // A transaction that failed is undone, as a rollback wants it; the query that met the failure reports it.
      await (how === 'rollback' ? done.catch(() => {}) : done);
    }
  }

  /** @throws TRANSACTION_ENDED */
  depthOf(savepoint: string): number {
    const depth = this.#levels.findLastIndex(({ name }) => name === savepoint);
    if (depth !== -1) return depth;
    throw storageError('TRANSACTION_ENDED', `There is no savepoint "${savepoint}" any more.`);
  }

  async executeQuery<Row>(compiled: CompiledQuery): Promise<QueryResult<Row>> {
    this.#mustBeAlive();
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
    this.#mustBeAlive();
    const cursor = this.#storage.sql.exec(sql, ...parameters);
    try {
      for await (const row of cursor) yield { rows: [row as Row] };
    } finally {
      await cursor.close?.();
    }
  }

  /** The storage has ended the transaction: its time was over, or its worker or handle has ended. */
  #fail(error: unknown): void {
    this.#failure = { error };
    for (const { end } of this.#levels) end();
    this.#levels = [];
    // Until its closure has returned, every call of a handle belongs to the transaction.
    setTimeout(() => this.#free());
  }

  #mustBeAlive(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
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
