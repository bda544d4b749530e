// Announces that stored data may have changed: `revision` counts up, and everything that shows data
// reads it again.
//
// The source is every commit of the object, of this tab or another. A hidden tab does not read; it
// catches up when it is shown.

import { signal } from '@preact/signals';
import type { RemoteStorage } from '../src/index.ts';

/** A live query on a counter of the connection runs after every commit, and a random number differs each time. */
const EVERY_COMMIT = 'SELECT total_changes(), random()';

export const revision = signal(0);

let missed = false;

/** Calls back after every commit, of whichever tab. Errors are shown by the other readers of the storage. */
export function followCommits(
  storage: Pick<RemoteStorage, 'sql'>,
  onCommit: () => void,
): () => void {
  return storage.sql.live(EVERY_COMMIT).subscribe(onCommit, { onError: () => {} });
}

/** Reads everything again after every commit. */
export function followChanges(storage: RemoteStorage): void {
  followCommits(storage, () => {
    if (document.hidden) missed = true;
    else refresh();
  });
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden && missed) refresh();
  });
}

/** Reads everything again. */
export function refresh(): void {
  missed = false;
  revision.value += 1;
}
