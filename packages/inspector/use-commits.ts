// The hook that reads an object again after every commit of any tab.

import { type CommitReading, readAfterCommits } from '@ctx-storage/core/live';
import type { StorageHandle } from '@ctx-storage/core/storage';
import { useEffect } from 'preact/hooks';

/** The pause after each reading, because the object may have many commits. */
const PAUSE_MS = 200;

const pause = () => new Promise<void>((resolve) => setTimeout(resolve, PAUSE_MS));

/** Calls `read` at once and after each commit. One reading runs at a time, and at most five in a second. */
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
