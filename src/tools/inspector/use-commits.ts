// A reading of an object that is made again after every commit, of whichever tab.

import { useEffect } from 'preact/hooks';
import type { StorageHandle } from '../../shared/contract/storage.ts';
import { followCommits } from '../../shared/live/every-commit.ts';

/** A reading of a busy object is followed by a pause. */
const PAUSE_MS = 200;

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
