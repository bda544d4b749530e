// Compiles the text of one `exec`, statement by statement.
//
// A later statement may need the effect of an earlier one (a table it creates), so each is compiled only
// on request. Statements that only another build of SQLite could parse are rewritten.

import { isStorageError, storageError } from '../../../src/shared/contract/errors.ts';
import { SQL_BYTES_MAX } from '../../../src/shared/contract/limits.ts';
import { utf8Bytes } from '../../../src/shared/contract/utf8.ts';
import type { Pointer } from '../vfs/sqlite-module.ts';
import type { Connection, Prepared } from './connection.ts';
import { type DescribeTable, rewriteOrderLimit } from './order-limit.ts';

/** A compiled statement of the text. */
export interface TextStatement {
  readonly statement: Pointer;
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

export class QueryText {
  readonly #connection: Connection;
  readonly #describe: DescribeTable;
  readonly #start: Pointer;
  readonly #end: Pointer;
  #at: Pointer;

  /**
   * Copies the text into SQLite's memory, apart from scratch memory, until `free`.
   *
   * @throws SQL when it is too long
   */
  constructor(connection: Connection, text: string, describe: DescribeTable) {
    const { memory } = connection.sqlite;
    const sizeBytes = utf8Bytes(text);
    if (sizeBytes > SQL_BYTES_MAX) {
      throw storageError(
        'SQL',
        `exec(): the text is ${sizeBytes} bytes, at most ${SQL_BYTES_MAX}; ` +
          'split it or bind its values: SQLITE_TOOBIG',
      );
    }
    this.#connection = connection;
    this.#describe = describe;
    this.#start = memory.allocate(sizeBytes + 1);
    this.#at = this.#start;
    this.#end = this.#start + memory.write(text, this.#start);
  }

  /** Compiles the next statement. @throws SQL, also when there is none; SQL_FORBIDDEN */
  next(): TextStatement {
    const isFirst = this.#at === this.#start;
    const { statement, tail } = this.#prepareNext();
    if (statement === 0) {
      throw storageError('SQL', 'exec(): SQL code did not contain a statement.');
    }
    this.#at = this.#skipWhitespace(tail);
    return { statement, isFirst, isLast: this.#at === this.#end };
  }

  free(): void {
    this.#connection.sqlite.memory.free(this.#start);
  }

  #prepareNext(): Prepared {
    try {
      return this.#prepare(this.#at, this.#end - this.#at);
    } catch (error) {
      if (!isStorageError(error) || !error.message.includes('syntax error')) throw error;
      return this.#prepareRewritten() ?? raise(error);
    }
  }

  #prepareRewritten(): Prepared | undefined {
    const { memory } = this.#connection.sqlite;
    const text = memory.readText(this.#at, this.#end - this.#at);
    const rewritten = rewriteOrderLimit(text, this.#describe);
    if (rewritten === undefined) return undefined;
    const sql = memory.allocate(3 * rewritten.sql.length + 1);
    try {
      const { statement } = this.#prepare(sql, memory.write(rewritten.sql, sql));
      return { statement, tail: this.#at + utf8Bytes(text.slice(0, rewritten.end)) };
    } finally {
      memory.free(sql);
    }
  }

  #prepare(at: Pointer, sizeBytes: number): Prepared {
    const { regulator, sqlite } = this.#connection;
    regulator.begin();
    try {
      const prepared = this.#connection.prepare(at, sizeBytes);
      const refusal = regulator.refusalOf(() => sqlite.memory.readText(at, prepared.tail - at));
      if (refusal === undefined) return prepared;
      sqlite.exports.sqlite3_finalize(prepared.statement);
      throw refusal;
    } finally {
      regulator.regulating = false;
    }
  }

  #skipWhitespace(from: Pointer): Pointer {
    const { u8 } = this.#connection.sqlite.memory;
    let at = from;
    // Skip white space: space, \t, \n, \v, \f, \r.
    while (at < this.#end && (u8[at] === 0x20 || (u8[at]! >= 0x09 && u8[at]! <= 0x0d))) at += 1;
    return at;
  }
}

function raise(error: unknown): never {
  throw error;
}
