// `ctx.storage.sql`: the entrance for user SQL, in the shape of the platform's object.

import { isStorageError, storageError } from '../../../src/shared/contract/errors.ts';
import type { SqlStorage as SqlStorageInterface } from '../../../src/shared/contract/storage.ts';
import { Cursor } from './cursor.ts';
import type { Database } from './database.ts';
import { asPlatformClass, illegalConstructor, illegalInvocation } from './platform-class.ts';

const INTERNAL = Symbol('internal');

/** Only a name: the interface has no prepared statements for programs. */
export class Statement {
  constructor() {
    throw illegalConstructor('Statement');
  }
}

export class SqlStorage {
  readonly #database: () => Database;
  readonly #live: (args: readonly unknown[]) => unknown;

  /** Not for user code. @throws ILLEGAL_INVOCATION */
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
   * Runs the text; the bindings and the cursor are those of its last statement.
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
   * The rows of a query, again after every commit that changes them.
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

/** Kept: programs may put another function in its place. */
const entrance = SqlStorage.prototype.exec;

/** The stack begins with the caller: engines keep ten frames, and those of this package alone are more. */
function seenFrom(called: Function, error: unknown): unknown {
  const capture = (Error as { captureStackTrace?(error: object, below: Function): void })
    .captureStackTrace;
  if (isStorageError(error)) capture?.(error, called);
  return error;
}

Object.assign(SqlStorage.prototype, { Cursor, Statement });
asPlatformClass(SqlStorage, 'SqlStorage');
asPlatformClass(Statement, 'Statement');

/** `ctx.storage.sql` of a database; the getter is called on each use and may throw OBJECT_RESET. */
export function createSqlStorage(
  database: () => Database,
  live: (args: readonly unknown[]) => unknown,
): SqlStorageInterface {
  return new SqlStorage(INTERNAL, database, live) as unknown as SqlStorageInterface;
}
