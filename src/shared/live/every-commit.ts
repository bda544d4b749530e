// Calls back after every commit of an object, whichever tab made it, as soon as the commit is durable.

import { addressOf } from '../calls/stubs/known-stubs.ts';
import { storageError } from '../contract/errors.ts';
import type { StorageHandle } from '../contract/storage.ts';

/**
 * A live query that runs after every commit, reset and restore, because it reads a counter of the SQLite connection. The
 * random number makes each result differ from the last one, so that subscribers get all of them.
 */
const EVERY_COMMIT = 'SELECT total_changes(), random()';

/**
 * Checks that a value is a handle. A stub is refused because it has an address: a stub seems to have a member of every
 * name.
 *
 * @throws INVALID_ARGUMENT
 */
export function mustBeHandle(caller: string, value: unknown): void {
  if (typeof value === 'object' && value !== null && 'history' in value && !addressOf(value)) {
    return;
  }
  const text = `${caller}: takes a handle: of openStorage() or connect().storage().`;
  throw storageError('INVALID_ARGUMENT', text);
}

/**
 * Calls `onCommit` now, and after each commit. `onError` gets the reason when commits cannot be observed; the calls
 * resume once commits can be observed again. The read is private: its result is not stored in the browser for the
 * page's next visit.
 */
export function followCommits(
  storage: Pick<StorageHandle, 'sql'>,
  onCommit: () => void,
  onError: (error: unknown) => void,
): () => void {
  return storage.sql
    .live(EVERY_COMMIT)
    .asPrivate()
    .subscribe(
      (rows) => {
        if (rows !== undefined) onCommit();
      },
      { onError },
    );
}

export interface CommitReading {
  /**
   * Reads the caller's data from the object. `onError` gets the errors of reading, until the caller stops the readings.
   */
  readonly read: (isOver: () => boolean) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** Waits after each reading, so that an object with many commits is not read all the time. */
  readonly pause: () => Promise<void>;
}

/** Reads now, and again after commits, one reading at a time. A reading always follows the last commit. */
export function readAfterCommits(
  storage: Pick<StorageHandle, 'sql'>,
  { read, onError, pause }: CommitReading,
): () => void {
  let isOver = false;
  let isReading = false;
  let isDue = false;
  const update = async () => {
    isDue = true;
    if (isReading) return;
    isReading = true;
    while (isDue && !isOver) {
      isDue = false;
      try {
        await read(() => isOver);
      } catch (error) {
        if (!isOver) onError(error);
      }
      if (!isOver) await pause();
    }
    isReading = false;
  };
  const end = followCommits(storage, () => void update(), onError);
  return () => {
    isOver = true;
    end();
  };
}
