// Stores the keys and values of `ctx.storage` in a hidden table, as serialized bytes: get, put, delete and ranges.
//
// The table is that of workerd (`_cf_KV`, BINARY collation, so keys are in UTF-8 order), so that a
// database file can move to workerd and back. The first put or delete creates it, never a read.
// Only one range is walked at a time: as on workerd, starting another ends an unfinished one.
//
// The caller opens a transaction before any write.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { isEmptyRange, type KeyRange } from '../../../src/shared/contract/key-range.ts';
import { type Database, HiddenTable } from '../sql/database.ts';

import type { PreparedStatement } from '../sql/statement.ts';

const COLUMNS = '( key TEXT PRIMARY KEY, value BLOB ) WITHOUT ROWID';
const GET = 'SELECT value FROM _cf_KV WHERE key = ?';
const PUT = putStatement(1);
// One statement that stores 16 rows takes two thirds of the time of 16 statements.
const ROWS_TOGETHER = 16;
const PUT_ROWS = putStatement(ROWS_TOGETHER);
/**
 * Only values up to this size share a statement, because SQLite keeps bound values in memory until the next binding.
 */
const SMALL_BYTES = 1024;
const DELETE = 'DELETE FROM _cf_KV WHERE key = ?';
const CLEAR = 'DELETE FROM _cf_KV';
const NO_LIMIT = -1;

// Bounds are bound as blobs. The cast turns them into text without changing a byte, so that they compare with the keys;
// SQLite sorts every blob after every text.
const SELECT_FROM = 'SELECT key, value FROM _cf_KV WHERE key >= CAST(?1 AS TEXT)';
const BELOW_END = ' AND key < CAST(?2 AS TEXT)';

/** An entry to store. */
type Entry = readonly [key: string, value: Uint8Array];

/** A stored entry. `value` is a view that the next call on the database invalidates. */
export interface StoredEntry {
  readonly key: string;
  readonly value: Uint8Array;
}

/** A walk over a range, one step at a time. */
export interface EntryCursor {
  /** The next entry; undefined at the end. @throws CURSOR_CLOSED after another list */
  next(): StoredEntry | undefined;
}

const EMPTY_CURSOR: EntryCursor = { next: () => undefined };

export class KvStore {
  readonly #database: Database;
  readonly #table: HiddenTable;
  /** The statements for one entry; undefined until the table is known to exist. */
  #get: PreparedStatement | undefined;
  #put: PreparedStatement | undefined;
  #walk: Walk | undefined;

  constructor(database: Database) {
    this.#database = database;
    this.#table = new HiddenTable(database, '_cf_KV', COLUMNS);
  }

  /**
   * Returns the result of `decode` for the stored bytes, or undefined if the key is missing. `decode` gets a view that
   * it must not keep.
   */
  get<T>(key: string, decode: (value: Uint8Array) => T): T | undefined {
    if (this.#get === undefined && this.#table.exists) this.#get = this.#database.statement(GET);
    const statement = this.#get;
    if (statement === undefined) return undefined;
    statement.bindText(1, key);
    if (!statement.step()) return undefined;
    try {
      return decode(statement.columnBlob(0));
    } finally {
      statement.reset();
    }
  }

  /** Creates the table, as every write does, even one without entries. */
  createTable(): void {
    this.#putOne();
  }

  /** Stores the entries in order; after a failure, the caller undoes those already stored. */
  put(entries: readonly Entry[]): void {
    const putOne = this.#putOne();
    let next = 0;
    while (next < entries.length) {
      const count = canShareStatement(entries, next) ? ROWS_TOGETHER : 1;
      const statement = count === 1 ? putOne : this.#database.statement(PUT_ROWS);
      for (let row = 0; row < count; row++) {
        const [key, value] = entries[next + row]!;
        statement.bindText(2 * row + 1, key);
        statement.bindBlob(2 * row + 2, value);
      }
      statement.step();
      next += count;
    }
  }

  /** Deletes the entry; returns true if the key existed. */
  delete(key: string): boolean {
    this.#table.create();
    const statement = this.#database.statement(DELETE);
    statement.bindText(1, key);
    statement.step();
    return statement.changes() > 0;
  }

  /** Deletes every entry; the table stays. */
  clear(): void {
    if (this.#table.exists) this.#database.run(CLEAR);
  }

  /** Starts a walk over the range and ends an unfinished one, unless the range is empty. */
  list(range: KeyRange): EntryCursor {
    if (isEmptyRange(range) || !this.#table.exists) return EMPTY_CURSOR;
    this.#walk?.close();
    const bound = range.end === null ? SELECT_FROM : SELECT_FROM + BELOW_END;
    const order = range.reverse ? ' ORDER BY key DESC' : ' ORDER BY key';
    const statement = this.#database.statement(`${bound}${order} LIMIT ?3`);
    statement.bindBlob(1, range.start);
    if (range.end !== null) statement.bindBlob(2, range.end);
    statement.bindNumber(3, range.limit ?? NO_LIMIT);
    this.#walk = new Walk(statement);
    return this.#walk;
  }

  /**
   * Forgets that the table exists: after a rollback, or before everything is deleted. `closeWalk` also ends an
   * unfinished walk, whose iterator then reports deleteAll().
   */
  invalidate(options: { closeWalk: boolean }): void {
    this.#table.forget();
    this.#get = undefined;
    this.#put = undefined;
    if (options.closeWalk) this.#walk?.endByDeleteAll();
  }

  /** Returns the statement that stores one entry, after creating the table if it does not exist. */
  #putOne(): PreparedStatement {
    if (this.#put === undefined) {
      this.#table.create();
      this.#put = this.#database.statement(PUT);
    }
    return this.#put;
  }
}

/** True if enough entries for a statement of many rows are left, and all of them are small. */
function canShareStatement(entries: readonly Entry[], next: number): boolean {
  if (entries.length - next < ROWS_TOGETHER) return false;
  for (let row = 0; row < ROWS_TOGETHER; row++) {
    if (entries[next + row]![1].byteLength > SMALL_BYTES) return false;
  }
  return true;
}

function putStatement(rows: number): string {
  const values = Array.from({ length: rows }, () => '(?, ?)').join(', ');
  return `INSERT INTO _cf_KV VALUES ${values} ON CONFLICT (key) DO UPDATE SET value = excluded.value`;
}

// The first entry is fetched when the walk begins, each later one on demand. So, as on workerd, the
// first entry does not reflect writes made since, and later ones do.
class Walk implements EntryCursor {
  readonly #statement: PreparedStatement;
  #state: 'begun' | 'open' | 'finished' | 'replaced' | 'deleted' = 'begun';
  readonly #hasFirst: boolean;

  constructor(statement: PreparedStatement) {
    this.#statement = statement;
    this.#hasFirst = statement.step();
  }

  next(): StoredEntry | undefined {
    switch (this.#state) {
      case 'finished':
        return undefined;
      case 'replaced':
        throw storageError(
          'CURSOR_CLOSED',
          'kv.list() iterator was invalidated because a new call to kv.list() was started. ' +
            'Only one kv.list() iterator can exist at a time.',
        );
      case 'deleted':
        throw storageError(
          'CURSOR_CLOSED',
          'kv.list() iterator was invalidated by deleteAll(). Call kv.list() again.',
        );
      case 'begun':
      case 'open': {
        const hasEntry = this.#state === 'begun' ? this.#hasFirst : this.#statement.step();
        this.#state = hasEntry ? 'open' : 'finished';
        if (!hasEntry) return undefined;
      }
    }
    return { key: this.#statement.columnText(0), value: this.#statement.columnBlob(1) };
  }

  /** Ends the walk because deleteAll() is about to delete the entries. */
  endByDeleteAll(): void {
    if (this.#hasFirst) this.#end('deleted');
  }

  /** Ends the walk because another one begins. */
  close(): void {
    this.#end('replaced');
  }

  #end(state: 'replaced' | 'deleted'): void {
    if (this.#state !== 'begun' && this.#state !== 'open') return;
    this.#statement.reset();
    this.#state = state;
  }
}
