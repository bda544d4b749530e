// Work on an object's files that nobody waits for: segments opened ahead, old ones removed, and the checkpoint
// of a restore, for which the events that the object was opened for do not wait.
//
// Invariant: a disk that is full leaves the work for later; any other failure resets the object.

import { isDiskFull, type ObjectFiles } from '../log/object-files.ts';
import type { StorageEnvironment } from './storage-environment.ts';

/** How long the checkpoint of a restore waits. */
const CHECKPOINT_DELAY_MS = 1000;

export class Upkeep {
  readonly #log: ObjectFiles;
  readonly #onBroken: StorageEnvironment['onBroken'];
  readonly #isOver: () => boolean;

  constructor(log: ObjectFiles, environment: StorageEnvironment, isOver: () => boolean) {
    this.#log = log;
    this.#onBroken = (error) => environment.onBroken(error);
    this.#isOver = isOver;
    if (!log.owesCheckpoint) return;
    environment.afterRealTime?.(CHECKPOINT_DELAY_MS, () => this.#attempt(() => log.checkpoint()));
  }

  /** Something was committed. */
  committed(): void {
    if (this.#log.needsMaintenance) this.#attempt(() => this.#log.maintain());
  }

  #attempt(work: () => unknown): void {
    if (this.#isOver()) return;
    new Promise((resolve) => resolve(work())).catch((error: unknown) => {
      if (!isDiskFull(error)) this.#onBroken(error);
    });
  }
}
