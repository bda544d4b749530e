// The errors of this package: one table of codes, each with its class and its meaning.
//
// Callers test `error.code`, not the class, because class identity is lost between threads. The
// class is the same as on workerd (Error, TypeError or RangeError), so the same `catch` works there
// and here.
//
// Does not know who throws. rpc/errors-on-wire.ts converts errors for messages.

type ErrorClass = 'Error' | 'TypeError' | 'RangeError';

interface Meaning {
  readonly class: ErrorClass;
  /** True if the same call may succeed when it is repeated. */
  readonly retryable?: true;
  readonly meaning: string;
}

export const ERROR_CODES = {
  // Wrong use: nothing was done.
  INVALID_ARGUMENT: { class: 'TypeError', meaning: 'An argument or option has the wrong type.' },
  KEY_TOO_LARGE: { class: 'RangeError', meaning: 'A key is longer than the limit.' },
  VALUE_TOO_LARGE: { class: 'RangeError', meaning: 'A serialized value is larger than the limit.' },
  MESSAGE_TOO_LARGE: {
    class: 'Error',
    meaning: 'The arguments or the result of a call are larger than the limit.',
  },
  TOO_MANY_KEYS: { class: 'RangeError', meaning: 'More keys in one call than the limit.' },
  ILLEGAL_INVOCATION: { class: 'TypeError', meaning: 'A method was called on a foreign object.' },
  NOT_ON_PAGE: {
    class: 'TypeError',
    meaning: 'A synchronous member that exists only in the worker, beside SQLite.',
  },
  NOT_ON_SERVER: {
    class: 'Error',
    meaning: 'A hook that needs the data of the browser was rendered on a server.',
  },

  WRONG_BACKEND: {
    class: 'Error',
    meaning: 'The member exists on the SQL backend only, and the class is on the key-value one.',
  },

  // SQL.
  SQL: { class: 'Error', meaning: 'SQLite refused or failed the statement; the message says why.' },
  SQL_FORBIDDEN: { class: 'Error', meaning: 'The statement touches what objects may not touch.' },
  SQL_TIMEOUT: {
    class: 'Error',
    meaning: 'A statement ran for longer than it may, was stopped, and what it wrote is undone.',
  },
  SQL_MEMORY: {
    class: 'Error',
    meaning: "A statement needed more of SQLite's memory than an object may have.",
  },
  CANCELLED: {
    class: 'Error',
    meaning:
      'The caller cancelled the call by its signal: it was not made, or its statement was undone.',
  },
  CURSOR_ROWS: { class: 'Error', meaning: 'one() met zero rows, or more than one.' },
  CURSOR_CLOSED: { class: 'Error', meaning: 'The cursor was invalidated by a later operation.' },

  // Transactions.
  TRANSACTION_ENDED: { class: 'Error', meaning: 'The transaction was committed or rolled back.' },
  TRANSACTION_NESTING: {
    class: 'Error',
    meaning: 'The operation is not possible inside, or with an inner, transaction open.',
  },
  TRANSACTION_ASYNC: {
    class: 'TypeError',
    meaning: 'transactionSync() was given an asynchronous callback; it was rolled back.',
  },
  TRANSACTION_TIMEOUT: {
    class: 'Error',
    retryable: true,
    meaning: 'A transaction or critical section held the object for too long and was ended.',
  },

  // Live reads.
  LIVE_READ_ONLY: {
    class: 'Error',
    meaning: 'A live read tried to write, which it may not: nothing was written.',
  },

  // Classes and their methods.
  CLASS_INVALID: {
    class: 'TypeError',
    meaning: 'What was given to serve() is not a class, or names one that is not there.',
  },
  SOURCE_INVALID: {
    class: 'TypeError',
    meaning: 'Code that was given as source cannot be loaded, or exports no class of objects.',
  },
  SOURCE_TIMEOUT: {
    class: 'Error',
    meaning: 'Code that was given as source did not end while it was loaded.',
  },
  UNKNOWN_CLASS: { class: 'TypeError', meaning: 'The worker serves no class of this name.' },
  UNKNOWN_METHOD: {
    class: 'TypeError',
    meaning: 'The class has no public method of this name, or no handler for the event.',
  },

  // The object.
  ALARM_TIMEOUT: {
    class: 'Error',
    retryable: true,
    meaning: 'An alarm handler ran for too long; the object was reset.',
  },
  FACET_NESTING: {
    class: 'Error',
    meaning: 'A facet would lie too deep in facets of facets.',
  },
  OBJECT_RESET: {
    class: 'Error',
    retryable: true,
    meaning:
      'The object was reset: unconfirmed writes are gone, and the next call starts it again.',
  },
  OBJECT_MISSING: {
    class: 'Error',
    meaning:
      'The object was stored, and its files are gone: evicted by the browser, or deleted from outside.',
  },
  TOO_MANY_OPEN: {
    class: 'Error',
    retryable: true,
    meaning:
      'As many files are open as may be, all of objects in use, so no other object can be opened.',
  },
  DISK_FULL: {
    class: 'Error',
    meaning: 'The disk or the quota of the origin is full; the transaction was rolled back.',
  },
  MEMORY_FULL: {
    class: 'Error',
    meaning:
      'On IndexedDB, files in use lie in memory, and have no more room in it; the transaction was rolled back.',
  },
  IO: { class: 'Error', meaning: 'Reading or writing the file failed.' },
  CORRUPT: { class: 'Error', meaning: 'Stored bytes are not what was written.' },

  // Point-in-time recovery.
  BOOKMARK_INVALID: { class: 'Error', meaning: 'Not a bookmark of this object.' },
  BOOKMARK_UNAVAILABLE: {
    class: 'Error',
    meaning: 'The moment lies outside the window, in the future, or its history was pruned.',
  },

  READ_ONLY: {
    class: 'Error',
    meaning: 'An earlier moment was asked to write, which it cannot; nothing was written.',
  },
  MOMENT_CLOSED: {
    class: 'Error',
    retryable: true,
    meaning: 'The handle of an earlier moment was closed, or its state made room for others.',
  },

  // Migrations.
  MIGRATION_CONFLICT: {
    class: 'Error',
    meaning: 'The object has had other migrations than the program begins with.',
  },

  // Moving a database.
  IMPORT_INVALID: {
    class: 'Error',
    meaning: 'Not a SQLite file that an object can take; the object keeps its data.',
  },

  // Opening and reaching the worker.
  OPFS_UNAVAILABLE: {
    class: 'Error',
    meaning:
      'The browser offers neither of the media on which files can be kept, or not the one asked for.',
  },
  MEDIUM_CONFLICT: {
    class: 'Error',
    meaning:
      'What the directory holds is kept on another medium than the one that was asked for, or is offered now.',
  },
  INSECURE_CONTEXT: { class: 'Error', meaning: 'The page is not a secure context (https).' },
  STORAGE_LOCKED: {
    class: 'Error',
    retryable: true,
    meaning: 'Another worker holds the files and did not let go in time.',
  },
  VERSION_MISMATCH: {
    class: 'Error',
    meaning:
      'The worker that leads and this page speak no common version of the protocol; reload the older one.',
  },
  WORKER_BUSY: {
    class: 'Error',
    retryable: true,
    meaning:
      'The worker that holds the files does not answer: a long query keeps it busy, or it is suspended.',
  },
  SITE_DATA_CLEARED: {
    class: 'Error',
    meaning:
      'The data of the site was cleared or evicted while it was open; nothing of it is left. Reload.',
  },
  WORKER_FAILED: { class: 'Error', meaning: 'The worker or its WebAssembly could not be loaded.' },
  CONNECTION_CLOSED: {
    class: 'Error',
    retryable: true,
    meaning: 'The worker or the handle was closed; it is not known whether the call took effect.',
  },
  INTERNAL: { class: 'Error', meaning: 'A defect of this package.' },
} as const satisfies Record<string, Meaning>;

/** Why an operation failed. Codes are stable; the table above explains each. */
export type StorageErrorCode = keyof typeof ERROR_CODES;

/** An error of this package: a plain Error, TypeError or RangeError with a code. */
export type StorageError = Error & {
  readonly code: StorageErrorCode;
  /** True if the same call may succeed when it is repeated. */
  readonly retryable?: boolean;
  /** True if the object was reset while the call was under way. */
  readonly durableObjectReset?: boolean;
};

const CLASSES = { Error, TypeError, RangeError } as const;

/**
 * Creates the error of a code. The message states the fact, the limit and what to do.
 *
 * `cause` is kept as the standard `cause` property.
 */
export function storageError(
  code: StorageErrorCode,
  message: string,
  options?: ErrorOptions,
): StorageError {
  const meaning: Meaning = ERROR_CODES[code];
  const error = new CLASSES[meaning.class](message, options);
  // Not enumerable, like `message`, so that listing or comparing errors works as for other errors.
  Object.defineProperty(error, 'code', { value: code, configurable: true });
  if (meaning.retryable) {
    Object.defineProperty(error, 'retryable', { value: true, configurable: true });
  }
  if (code === 'OBJECT_RESET' || code === 'ALARM_TIMEOUT') {
    Object.defineProperty(error, 'durableObjectReset', { value: true, configurable: true });
  }
  return error as StorageError;
}

/** True for an error that carries one of this package's codes. */
export function isStorageError(error: unknown): error is StorageError {
  return (
    error instanceof Error && 'code' in error && Object.hasOwn(ERROR_CODES, error.code as string)
  );
}
