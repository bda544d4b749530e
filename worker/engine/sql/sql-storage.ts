// Implements `ctx.storage.sql`, through which programs run SQL.

import { isStorageError, storageError } from '../../../src/shared/contract/errors.ts';
import type { SqlStorage as SqlStorageInterface } from '../../../src/shared/contract/storage.ts';
import { Cursor } from './cursor.ts';
import type { Database } from './database.ts';
import { asPlatformClass, illegalConstructor, illegalInvocation } from './platform-class.ts';

const INTERNAL = Symbol('internal');

/** A class that exists only as a name, as on workerd: programs cannot prepare statements. */
export class Statement {
  constructor() {
    throw illegalConstructor('Statement');
  }
}

export class SqlStorage {
  readonly #database: () => Database;
  readonly #live: (args: readonly unknown[]) => unknown;

  /** Only this package may construct it. @throws ILLEGAL_INVOCATION */
  constructor(
    token: symbol,
    database: () => Database,
    live: (args: readonly unknown[]) => unknown,
  ) {
    if (token !== INTERNAL) throw illegalConstructor('SqlStorage');
    this.#database = database;
    this.#live = live;
  }

  /**
   * Runs the text; the last statement gets the bindings and returns the cursor.
   *
   * @throws INVALID_ARGUMENT, SQL, SQL_FORBIDDEN
   */
  exec(...args: unknown[]): Cursor {
    if (!(#database in Object(this))) throw illegalInvocation('SqlStorage');
    if (args.length === 0) {
      throw storageError('INVALID_ARGUMENT', 'exec(): the text of the query is missing.');
    }
    const [query, ...bindings] = args;
    try {
      return this.#database().exec(query, bindings);
    } catch (error) {
      throw seenFrom(entrance, error);
    }
  }

  /**
   * Returns a live query: its rows are delivered again after every commit that changes them.
   *
   * @throws INVALID_ARGUMENT
   */
  live(...args: unknown[]): unknown {
    if (!(#database in Object(this))) throw illegalInvocation('SqlStorage');
    return this.#live(args);
  }

  /** Size of the database, in bytes. */
  get databaseSize(): number {
    if (!(#database in Object(this))) throw illegalInvocation('SqlStorage');
    return this.#database().sizeBytes;
  }
}

/** The original `exec`; kept because programs may replace the method. */
const entrance = SqlStorage.prototype.exec;

/**
 * Makes an error's stack begin at the program's call; otherwise this package's own frames would fill the ten that
 * engines keep.
 */
function seenFrom(called: Function, error: unknown): unknown {
  const capture = (Error as { captureStackTrace?(error: object, below: Function): void })
    .captureStackTrace;
  if (isStorageError(error)) capture?.(error, called);
  return error;
}

Object.assign(SqlStorage.prototype, { Cursor, Statement });
asPlatformClass(SqlStorage, 'SqlStorage');
asPlatformClass(Statement, 'Statement');

/** Creates `ctx.storage.sql`; the getter of the database is called on each use and may throw OBJECT_RESET. */
export function createSqlStorage(
  database: () => Database,
  live: (args: readonly unknown[]) => unknown,
): SqlStorageInterface {
  return new SqlStorage(INTERNAL, database, live) as unknown as SqlStorageInterface;
}
