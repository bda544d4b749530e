// Decides when an object's history is thinned, and does one part of the work at a time with folding.ts.
//
// Invariant: thinning never fails the object, except if a file fails. On a full disk, if late.js cannot be loaded, or
// if the history is damaged, thinning waits until the next segment ends.

import { isStorageError } from '../../../src/shared/contract/errors.ts';
import { isDiskFull } from '../file/file.ts';
import type { CommitLog } from './commit-log.ts';
import { EarlierPages } from './earlier-pages.ts';
import type { Folding, FoldingParts, ThinningBounds } from './folding.ts';
import { encodeEarlier } from './page-delta.ts';
import { annotationIn, markerBody, RecordWriter } from './record.ts';

// One writer serves all objects, because every use ends within one turn of the event loop.
const FOLDING_PARTS: FoldingParts = {
  writer: new RecordWriter(),
  earlierPages: (pageCount) => new EarlierPages(pageCount),
  encodeEarlier: ({ pages, sourcePages }) => encodeEarlier(pages, sourcePages),
  annotationIn,
  markerBody,
};

/** Loads folding.ts. */
export type LoadFolding = () => Promise<{ readonly Folding: typeof Folding }>;

export class Thinning {
  readonly #log: CommitLog;
  readonly #load: LoadFolding;
  #folding: Folding | null = null;
  /** Number of the active segment when the last work was done. */
  #doneAt = 0;

  constructor(log: CommitLog, load: LoadFolding) {
    this.#log = log;
    this.#load = load;
  }

  get isDue(): boolean {
    const { active, sealed } = this.#log;
    return active.number !== this.#doneAt && sealed.spans.countOf(sealed.oldest, active.number) > 1;
  }

  /** Does the next part of the work, if any. @throws IO */
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
