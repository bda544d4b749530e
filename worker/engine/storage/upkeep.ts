// Work on an object's files that no caller waits for: opening segments ahead, removing old ones, and committing and
// checkpointing a restore after the object was opened. The events for which the object was opened do not wait for the
// restore.
//
// Invariant: if the disk is full, the work is left for later; any other failure resets the object.

import { isDiskFull, type ObjectFiles } from '../log/object-files.ts';
import type { Commits } from './commits.ts';
import type { StorageEnvironment } from './storage-environment.ts';

/** Milliseconds after which a restore that the opening has shown is committed. */
const RESTORE_DELAY_MS = 1000;

export class Upkeep {
  readonly #files: ObjectFiles;
  readonly #onBroken: StorageEnvironment['onBroken'];
  readonly #isOver: () => boolean;

  constructor(
    files: ObjectFiles,
    environment: StorageEnvironment,
    commits: Pick<Commits, 'flush'>,
    isOver: () => boolean,
  ) {
    this.#files = files;
    this.#onBroken = (error) => environment.onBroken(error);
    this.#isOver = isOver;
    if (!files.owesRestore) return;
    const finish = async () => {
      files.commitRestore();
      await commits.flush();
      if (!isOver()) await files.checkpoint();
    };
    environment.afterRealTime?.(RESTORE_DELAY_MS, () => this.#attempt(finish));
  }

  /** Called after a commit if the files need maintenance: opens segments ahead, and removes old ones. */
  maintain(): void {
    this.#attempt(() => this.#files.maintain());
  }

  #attempt(work: () => unknown): void {
    if (this.#isOver()) return;
    new Promise((resolve) => resolve(work())).catch((error: unknown) => {
      if (!isDiskFull(error)) this.#onBroken(error);
    });
  }
}
