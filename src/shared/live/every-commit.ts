// Tells of every commit of an object, of whichever tab, as soon as it is durable.

import { addressOf } from '../calls/stubs/known-stubs.ts';
import { storageError } from '../contract/errors.ts';
import type { StorageHandle } from '../contract/storage.ts';

/**
 * A live query that depends on a counter of the connection runs after every commit, and after a reset or a
 * restore; a random number differs each time, so each run is told.
 */
const EVERY_COMMIT = 'SELECT total_changes(), random()';

/** Of a stub, every name is callable. @throws INVALID_ARGUMENT */
export function mustBeHandle(caller: string, value: unknown): void {
  if (typeof value === 'object' && value !== null && 'history' in value && !addressOf(value)) {
    return;
  }
  const text = `${caller}: takes a handle: of openStorage() or connect().storage().`;
  throw storageError('INVALID_ARGUMENT', text);
}

/**
 * Calls back now, and after each commit. `onError` is told why none are heard; they are again once that is over. The
 * read is private: its result names no data, so none is kept for the next visit, and none of an earlier one is shown.
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
  /** Reads something of the object. Its errors are told to `onError`, unless the reading is over. */
  readonly read: (isOver: () => boolean) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** Follows each reading: an object may be busy. */
  readonly pause: () => Promise<void>;
}

/** Reads now, and again after commits, one reading at a time. The last commit is never missed. */
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
