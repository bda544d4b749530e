// Stores the changes of files in one transaction at a time; changes that arrive while one runs share the next.
//
// Invariant: `save` resolves when all bytes that the file contained at the call are durable. After a failure, the
// changes count as not stored, and each file's `save` rejects with that file's own error.

import type { FileChange, FileRows } from './file-rows.ts';

/** The part of ChunkedContent that the queue uses. */
export interface Saved {
  takeChange(): FileChange | null;
  putBack(change: FileChange): void;
}

interface Waiting {
  readonly done: Promise<void>;
  readonly settle: (outcome: Promise<void>) => void;
}

export class SaveQueue {
  readonly #rows: Pick<FileRows, 'save'>;
  /** The files to store in the next transaction. */
  #waiting = new Map<Saved, Waiting>();
  /** The files in the running transaction. */
  #running: ReadonlyMap<Saved, Waiting> = new Map();
  #isRunning = false;

  constructor(rows: Pick<FileRows, 'save'>) {
    this.#rows = rows;
  }

  /** True while changes that were taken from the file may still be put back. */
  isStoring(file: Saved): boolean {
    return this.#running.has(file) || this.#waiting.has(file);
  }

  /** Stores the file's changes. @throws DISK_FULL, IO */
  save(file: Saved): Promise<void> {
    const known = this.#waiting.get(file);
    if (known !== undefined) return known.done;
    let settle: Waiting['settle'] = () => {};
    const done = new Promise<void>((resolve) => {
      settle = resolve;
    });
    this.#waiting.set(file, { done, settle });
    if (!this.#isRunning) void this.#run();
    return done;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.size > 0) {
      const files = this.#waiting;
      this.#waiting = new Map();
      this.#running = files;
      const together = this.#store([...files.keys()]);
      const isStored = await together.then(
        () => true,
        () => false,
      );
      for (const [file, { settle }] of files) {
        // If there was no room for all files together, store each alone, so that one does not block the others.
        const outcome = isStored || files.size === 1 ? together : this.#store([file]);
        settle(outcome);
        await outcome.catch(() => {}); // `done` reports the error.
      }
    }
    this.#running = new Map();
    this.#isRunning = false;
  }

  /** Stores the changes of several files in one transaction; it takes the changes during the call. */
  async #store(files: readonly Saved[]): Promise<void> {
    const taken = files.flatMap((file) => {
      const change = file.takeChange();
      return change === null ? [] : [{ file, change }];
    });
    if (taken.length === 0) return;
    try {
      await this.#rows.save(taken.map(({ change }) => change));
    } catch (error) {
      for (const { file, change } of taken) file.putBack(change);
      throw error;
    }
  }
}
