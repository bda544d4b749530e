// Tells of every commit of an object, of whichever tab, as soon as it is durable.

import type { StorageHandle } from '../contract/storage.ts';

/**
 * A live query that depends on a counter of the connection runs after every commit, and after a reset or a
 * restore; a random number differs each time, so each run is told.
 */
const EVERY_COMMIT = 'SELECT total_changes(), random()';

/** Calls back now, and after each commit. `onError` is told why none are heard; they are again once that is over. */
export function followCommits(
  storage: Pick<StorageHandle, 'sql'>,
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
