// A reading of an object that is made again after every commit, of whichever tab.

import { type CommitReading, readAfterCommits } from '@ctx-storage/core/live';
import type { StorageHandle } from '@ctx-storage/core/storage';
import { useEffect } from 'preact/hooks';

/** A reading of a busy object is followed by a pause. */
const PAUSE_MS = 200;

const pause = () => new Promise<void>((resolve) => setTimeout(resolve, PAUSE_MS));

/** Reads something of an object, again after each commit; one reading at a time, five in a second at most. */
export function useCommits(
  storage: StorageHandle | null,
  read: CommitReading['read'],
  onError: (error: unknown) => void,
): void {
  useEffect(() => {
    if (storage === null) return;
    return readAfterCommits(storage, { read, onError, pause });
  }, [storage]);
}
