// Implements `ctx.storage.sql`, through which programs run SQL.

import { isStorageError, storageError } from '../../../src/shared/contract/errors.ts';
import type { SqlStorage as SqlStorageInterface } from '../../../src/shared/contract/storage.ts';
import { type LiveReading, liveQuery } from '../../../src/shared/live/live-result.ts';
import { Cursor } from './cursor.ts';
import { asPlatformClass, illegalConstructor, illegalInvocation } from './platform-class.ts';

const INTERNAL = Symbol('internal');

/** A class that exists only as a name, as on workerd: programs cannot prepare statements. */
export class Statement {
  constructor() {
    throw illegalConstructor('Statement');
  }
}

/** The functions of an object's storage for its SQL. Each may throw OBJECT_RESET. */
export interface SqlSource {
  exec(query: unknown, bindings: readonly unknown[]): Cursor;
  live(reading: LiveReading): unknown;
  /** In bytes. */
  readonly databaseSize: number;
}

export class SqlStorage {
  readonly #source: SqlSource;

  /** Only this package may construct it. @throws ILLEGAL_INVOCATION */
  constructor(token: symbol, source: SqlSource) {
    if (token !== INTERNAL) throw illegalConstructor('SqlStorage');
    this.#source = source;
  }

  /**
   * Runs the text; the last statement gets the bindings and returns the cursor.
   *
   * @throws INVALID_ARGUMENT, SQL, SQL_FORBIDDEN
   */
  exec(...args: unknown[]): Cursor {
    if (!(#source in Object(this))) throw illegalInvocation('SqlStorage');
    if (args.length === 0) {
      throw storageError('INVALID_ARGUMENT', 'exec(): the text of the query is missing.');
    }
    const [query, ...bindings] = args;
    try {
      return this.#source.exec(query, bindings);
    } catch (error) {
      throw withStackFrom(originalExec, error);
    }
  }

  /**
   * Returns a live query: its rows are delivered again after every commit that changes them.
   *
   * @throws INVALID_ARGUMENT
   */
  live(...args: unknown[]): unknown {
    if (!(#source in Object(this))) throw illegalInvocation('SqlStorage');
    return this.#source.live(liveQuery(args));
  }

  /** Size of the database, in bytes. */
  get databaseSize(): number {
    if (!(#source in Object(this))) throw illegalInvocation('SqlStorage');
    return this.#source.databaseSize;
  }
}

/** The original `exec`; kept because programs may replace the method. */
const originalExec = SqlStorage.prototype.exec;

/**
 * Makes an error's stack begin at the program's call; otherwise this package's own frames would fill the ten that
 * engines keep.
 */
function withStackFrom(called: Function, error: unknown): unknown {
  const capture = (Error as { captureStackTrace?(error: object, below: Function): void })
    .captureStackTrace;
  if (isStorageError(error)) capture?.(error, called);
  return error;
}

Object.assign(SqlStorage.prototype, { Cursor, Statement });
asPlatformClass(SqlStorage, 'SqlStorage');
asPlatformClass(Statement, 'Statement');

/** `ctx.storage.sql` of a storage. */
export function createSqlStorage(source: SqlSource): SqlStorageInterface {
  return new SqlStorage(INTERNAL, source) as unknown as SqlStorageInterface;
}
