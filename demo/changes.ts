// Announces that stored data may have changed: `revision` counts up, and every part of the page that shows
// data reads it again.
//
// It announces every commit of the object, whether of this tab or another. A hidden tab does not read; it catches up
// when it is shown.

import { signal } from '@preact/signals';
import type { RemoteStorage } from '../src/index.ts';

/** A live query that reports every commit: its counter makes it run again, and its random number differs each time. */
const EVERY_COMMIT = 'SELECT total_changes(), random()';

export const revision = signal(0);

let missed = false;

/** Calls back after every commit of any tab. It drops errors, because other readers of the storage show them. */
export function followCommits(
  storage: Pick<RemoteStorage, 'sql'>,
  onCommit: () => void,
): () => void {
  return storage.sql.live(EVERY_COMMIT).subscribe(onCommit, { onError: () => {} });
}

/** Starts to announce every commit of the storage. */
export function followChanges(storage: RemoteStorage): void {
  followCommits(storage, () => {
    if (document.hidden) missed = true;
    else refresh();
  });
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden && missed) refresh();
  });
}

/** Makes every part of the page read its data again. */
export function refresh(): void {
  missed = false;
  revision.value += 1;
}
