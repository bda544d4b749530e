// Tells of every commit of an object, of whichever tab, as soon as it is durable.

import { useEffect } from 'preact/hooks';
import type { StorageHandle } from '../contract/storage.ts';

/**
 * A live query that depends on a counter of the connection runs after every commit, and after a reset or a
 * restore; a random number differs each time, so each run is told.
 */
const EVERY_COMMIT = 'SELECT total_changes(), random()';

/** A reading of a busy object is followed by a pause. */
const PAUSE_MS = 200;

/** Calls back now, and after each commit. `onError` is told why none are heard; they are again once that is over. */
export function followCommits(
  storage: StorageHandle,
  onCommit: () => void,
  onError: (error: unknown) => void,
): () => void {
  return storage.sql.live(EVERY_COMMIT).subscribe(
    (rows) => {
      if (rows !== undefined) onCommit();
    },
    { onError },
  );
}

/** Reads something of an object, again after each commit; one reading at a time, five in a second at most. */
export function useCommits(
  storage: StorageHandle | null,
  read: (isOver: () => boolean) => Promise<void>,
  onError: (error: unknown) => void,
): void {
  useEffect(() => {
    if (storage === null) return;
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
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
      isReading = false;
    };
    const end = followCommits(storage, () => void update(), onError);
    return () => {
      isOver = true;
      end();
    };
  }, [storage]);
}
