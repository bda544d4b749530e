// Thinning of one object's history: when it is due, and one part of it at a time (folding.ts).
//
// Invariant: nothing that goes wrong here concerns the object, except a file that fails: on a full disk, without the late
// part, or at damaged history, thinning waits for the end of the next segment.

import { isStorageError } from '../../../src/shared/contract/errors.ts';
import { isDiskFull } from '../file/file.ts';
import type { CommitLog } from './commit-log.ts';
import { EarlierPages } from './earlier-pages.ts';
import type { Folding, FoldingParts, ThinningBounds } from './folding.ts';
import { annotationIn, markerBody, RecordWriter } from './record.ts';

// The writer is shared by all objects: never in use across turns of the event loop.
const FOLDING_PARTS: FoldingParts = {
  writer: new RecordWriter(),
  earlierPages: (pageCount) => new EarlierPages(pageCount),
  annotationIn,
  markerBody,
};

/** Loads the code that thins. */
export type LoadFolding = () => Promise<{ readonly Folding: typeof Folding }>;

export class Thinning {
  readonly #log: CommitLog;
  readonly #load: LoadFolding;
  #folding: Folding | null = null;
  /** The active segment when nothing was left to do. */
  #doneAt = 0;

  constructor(log: CommitLog, load: LoadFolding) {
    this.#log = log;
    this.#load = load;
  }

  get isDue(): boolean {
    const { active, sealed } = this.#log;
    return active.number !== this.#doneAt && sealed.spans.countOf(sealed.oldest, active.number) > 1;
  }

  /** Does the next part of the work. @throws IO */
  async step(bounds: () => ThinningBounds): Promise<void> {
    if (!this.isDue) return;
    const { number } = this.#log.active;
    try {
      this.#folding ??= new (await this.#load()).Folding(this.#log, FOLDING_PARTS);
      if (!(await this.#folding.step(bounds))) this.#doneAt = number;
    } catch (error) {
      const isLate = isStorageError(error) && error.code === 'WORKER_FAILED';
      if (!isLate && !isDiskFull(error)) throw error;
      this.#doneAt = number;
    }
  }

  close(): void {
    this.#folding?.close();
  }
}
