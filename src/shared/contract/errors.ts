// Defines the errors of this package, in one table of codes with their classes and meanings.
//
// Callers test `error.code`, not the class, because class identity is lost between threads. The
// class is the same as on workerd (Error, TypeError or RangeError), so the same `catch` works there
// and here.
//
// wire/errors-on-wire.ts converts errors for messages.

type ErrorClass = 'Error' | 'TypeError' | 'RangeError';

interface Meaning {
  readonly class: ErrorClass;
  /** True if the same call may succeed when it is repeated. */
  readonly retryable?: true;
  readonly meaning: string;
}

export const ERROR_CODES = {
  // Wrong use. The call has had no effect.
  INVALID_ARGUMENT: { class: 'TypeError', meaning: 'An argument or option has the wrong type.' },
  KEY_TOO_LARGE: { class: 'RangeError', meaning: 'A key is longer than the limit.' },
  VALUE_TOO_LARGE: { class: 'RangeError', meaning: 'A serialized value is larger than the limit.' },
  MESSAGE_TOO_LARGE: {
    class: 'Error',
    meaning: "A call's arguments or result exceed the limit.",
  },
  TOO_MANY_KEYS: { class: 'RangeError', meaning: 'One call has more keys than the limit.' },
  ILLEGAL_INVOCATION: { class: 'TypeError', meaning: 'A method was called on a foreign object.' },
  NOT_ON_PAGE: {
    class: 'TypeError',
    meaning: 'The member exists only in the worker.',
  },
  NOT_ON_SERVER: {
    class: 'Error',
    meaning: "A hook that needs the browser's data was rendered on a server.",
  },

  WRONG_BACKEND: {
    class: 'Error',
    meaning: 'The class uses the key-value backend.',
  },

  // Errors of SQL.
  SQL: {
    class: 'Error',
    meaning: 'SQLite refused the statement, or it failed.',
  },
  SQL_FORBIDDEN: {
    class: 'Error',
    meaning: 'Objects may not run this statement, or use a name in it.',
  },
  SQL_TIMEOUT: {
    class: 'Error',
    meaning: 'A statement ran for too long and was stopped. Its writes are undone.',
  },
  SQL_TOO_LARGE: {
    class: 'Error',
    meaning: 'A statement compiles to more instructions than the limit.',
  },
  SQL_MEMORY: {
    class: 'Error',
    meaning: 'A statement needed more memory than an object may use.',
  },
  CANCELLED: {
    class: 'Error',
    meaning: "The caller's signal cancelled the call: it did not run, or its statement was undone.",
  },
  CURSOR_ROWS: { class: 'Error', meaning: 'one() found no row, or more than one.' },
  CURSOR_CLOSED: { class: 'Error', meaning: 'A later operation ended the cursor.' },

  // Errors of transactions.
  TRANSACTION_ENDED: { class: 'Error', meaning: 'The transaction was committed or rolled back.' },
  TRANSACTION_NESTING: {
    class: 'Error',
    meaning: 'Not possible inside a transaction, or while an inner one is open.',
  },
  TRANSACTION_ASYNC: {
    class: 'TypeError',
    meaning: 'transactionSync() was given an asynchronous callback, which was rolled back.',
  },
  TRANSACTION_TIMEOUT: {
    class: 'Error',
    retryable: true,
    meaning: 'A transaction or critical section held the object for too long and was ended.',
  },

  // Errors of live reads.
  LIVE_READ_ONLY: {
    class: 'Error',
    meaning: 'A live read tried to write. Nothing was written.',
  },

  // Errors of classes and their methods.
  CLASS_INVALID: {
    class: 'TypeError',
    meaning: 'A value passed to serve() is not a class, or names none.',
  },
  SOURCE_INVALID: {
    class: 'TypeError',
    meaning: 'Code passed as source cannot be loaded, or exports no class.',
  },
  SOURCE_TIMEOUT: {
    class: 'Error',
    meaning: 'Code passed as source did not finish loading in time.',
  },
  UNKNOWN_CLASS: { class: 'TypeError', meaning: 'The worker serves no class of this name.' },
  UNKNOWN_METHOD: {
    class: 'TypeError',
    meaning: 'The class has no public method of this name, or no handler for the event.',
  },

  // Errors of the object.
  ALARM_TIMEOUT: {
    class: 'Error',
    retryable: true,
    meaning: 'An alarm handler ran for too long. The object was reset.',
  },
  FACET_NESTING: {
    class: 'Error',
    meaning: 'Facets are nested too deep.',
  },
  OBJECT_RESET: {
    class: 'Error',
    retryable: true,
    meaning: 'The object was reset. Unconfirmed writes are lost.',
  },
  OBJECT_MISSING: {
    class: 'Error',
    meaning: 'The files of a stored object are missing.',
  },
  TOO_MANY_OPEN: {
    class: 'Error',
    retryable: true,
    meaning: 'The limit of open files is reached, and all such objects are in use.',
  },
  DISK_FULL: {
    class: 'Error',
    meaning: "The disk or the origin's quota is full. The transaction was rolled back.",
  },
  MEMORY_FULL: {
    class: 'Error',
    meaning:
      'On IndexedDB, files in use are in memory, which is full. The transaction was rolled back.',
  },
  IO: { class: 'Error', meaning: 'Reading or writing the file failed.' },
  CORRUPT: { class: 'Error', meaning: 'Stored bytes differ from the bytes that were written.' },
  FORMAT_TOO_NEW: {
    class: 'Error',
    meaning: 'A newer version of this package wrote the files.',
  },
  NOT_WRITABLE: {
    class: 'Error',
    meaning: 'The folder of the objects, or its disk, is read-only.',
  },
  PATH_CONFLICT: {
    class: 'Error',
    meaning: 'A folder has the path of a file, or the reverse.',
  },

  // Errors of point-in-time recovery.
  BOOKMARK_INVALID: { class: 'Error', meaning: 'The value is not a bookmark of this object.' },
  BOOKMARK_UNAVAILABLE: {
    class: 'Error',
    meaning:
      "The moment is in the future, its history was pruned or thinned, or the device's clock was set back around it.",
  },

  READ_ONLY: {
    class: 'Error',
    meaning: 'A write to an earlier moment was refused.',
  },
  MOMENT_CLOSED: {
    class: 'Error',
    retryable: true,
    meaning: 'The handle of an earlier moment was closed, or its state made room for others.',
  },

  // Errors of branches.
  BRANCH_ENDED: {
    class: 'Error',
    meaning: 'The branch was closed or deleted, or its origin or its worker has ended.',
  },
  BRANCH_ISOLATED: {
    class: 'Error',
    meaning: 'Code on a branch tried to reach something outside of it.',
  },
  CONFLICT: {
    class: 'Error',
    meaning:
      'The object has changed in a way that the operation does not expect. Nothing was changed.',
  },

  // Errors of following an object on a server.
  FOLLOW_UNSUPPORTED: {
    class: 'Error',
    meaning:
      'A followable class created something whose changes cannot be recorded, or read `ctx.caller` where the runtime, or a copy without `identity`, cannot tell.',
  },
  CALL_INTERRUPTED: {
    class: 'Error',
    meaning: 'The server was restarted in the middle of a call, which is not run again.',
  },
  CALL_ABANDONED: {
    class: 'Error',
    meaning: 'Each attempt of a call ended the object on the server. The call has changed nothing.',
  },
  FOLLOW_STOPPED: {
    class: 'Error',
    meaning:
      'The copy of an object has stopped, so its server gets no call. The call is kept, unless `forget()` has returned it.',
  },
  OUTCOME_LOST: {
    class: 'Error',
    meaning: 'The server has run the call, but no longer has its result.',
  },

  // Errors of migrations.
  MIGRATION_CONFLICT: {
    class: 'Error',
    meaning:
      'The object has had migrations that the list contradicts, or a breaking one of a newer build.',
  },
  MIGRATION_FAILED: {
    class: 'Error',
    meaning: 'A migration threw an error, and was undone.',
  },

  // Errors of moving a database.
  IMPORT_INVALID: {
    class: 'Error',
    meaning: 'The file is not a SQLite file that an object can take.',
  },
  INPUT_CHANGED: {
    class: 'Error',
    meaning: 'A chosen file was changed, moved or deleted before it was read.',
  },

  // Errors of opening and reaching the worker.
  BROWSER_TOO_OLD: {
    class: 'Error',
    meaning: 'The browser lacks a function that this package needs.',
  },
  OPFS_UNAVAILABLE: {
    class: 'Error',
    meaning: 'The browser offers neither OPFS nor IndexedDB, or not the requested medium.',
  },
  MEDIUM_CONFLICT: {
    class: 'Error',
    meaning: 'The directory is kept on another medium than the one requested, or available now.',
  },
  INSECURE_CONTEXT: { class: 'Error', meaning: 'The page is not a secure context (https).' },
  STORAGE_LOCKED: {
    class: 'Error',
    retryable: true,
    meaning: 'Another worker or process holds the files.',
  },
  VERSION_MISMATCH: {
    class: 'Error',
    meaning: 'The leading worker and this page share no version of the protocol.',
  },
  WORKER_BUSY: {
    class: 'Error',
    retryable: true,
    meaning:
      'The worker has not answered for 45 s: it is busy or suspended. The call did not run, and never will.',
  },
  SITE_DATA_CLEARED: {
    class: 'Error',
    meaning: "The site's data was cleared or evicted while it was open.",
  },
  WORKER_FAILED: { class: 'Error', meaning: 'The worker or its WebAssembly could not be loaded.' },
  CONNECTION_CLOSED: {
    class: 'Error',
    retryable: true,
    meaning:
      'The worker ended, or stopped answering, while it had the call, so the call may have taken effect; or the call came after `close()`.',
  },
  INTERNAL: { class: 'Error', meaning: 'This package has a defect.' },
} as const satisfies Record<string, Meaning>;

/** The code of an error. Codes are stable; the table above explains each. */
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
 * Creates the error of a code. The message states the fact, the limit and the way out.
 *
 * `cause` becomes the standard property `cause`.
 */
export function storageError(
  code: StorageErrorCode,
  message: string,
  options?: ErrorOptions,
): StorageError {
  const meaning: Meaning = ERROR_CODES[code];
  const error = new CLASSES[meaning.class](message, options);
  // The code is not enumerable, like `message`, so that errors can be listed and compared like other errors.
  Object.defineProperty(error, 'code', { value: code, configurable: true });
  if (meaning.retryable) {
    Object.defineProperty(error, 'retryable', { value: true, configurable: true });
  }
  if (code === 'OBJECT_RESET' || code === 'ALARM_TIMEOUT') {
    Object.defineProperty(error, 'durableObjectReset', { value: true, configurable: true });
  }
  return error as StorageError;
}

/** Returns true for an error with one of this package's codes. */
export function isStorageError(error: unknown): error is StorageError {
  return (
    error instanceof Error && 'code' in error && Object.hasOwn(ERROR_CODES, error.code as string)
  );
}
