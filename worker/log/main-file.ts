// The main file: a plain SQLite image of the last checkpoint, each page verified by its sum when read.
//
// Keeps true: a page is either the bytes that were written, or an error. A full disk prunes
// history, oldest first, before it refuses a write. Knows nothing of transactions.

import { isDiskFull, type SyncFile } from '../file/file.ts';
import { type Flushing, runFlushing } from '../file/flushing.ts';
import type { CheckpointFile } from './checkpoint-file.ts';
import { corruptPage, PAGE_BYTES, wordsOf } from './pages.ts';

export class MainFile {
  readonly #file: SyncFile;
  readonly #checkpoints: CheckpointFile;
  readonly #pruneOldest: () => boolean;
  /** The medium flushes inside the call, so a commit may depend on pages that lie here. */
  readonly flushesAtOnce: boolean;

  constructor(
    file: SyncFile,
    checkpoints: CheckpointFile,
    flushesAtOnce: boolean,
    pruneOldest: () => boolean,
  ) {
    this.#file = file;
    this.#checkpoints = checkpoints;
    this.flushesAtOnce = flushesAtOnce;
    this.#pruneOldest = pruneOldest;
  }

  /** @throws CORRUPT when the page is cut off or not the one that was written. */
  read(pageIndex: number, target: Uint8Array): void {
    const count = this.#file.read(target, pageIndex * PAGE_BYTES);
    if (count < PAGE_BYTES) throw corruptPage(pageIndex, 'the main file ends before it');
    const sum = this.#checkpoints.checksum.ofPage(wordsOf(target), pageIndex);
    if (sum !== this.#checkpoints.pageSum(pageIndex)) {
      throw corruptPage(pageIndex, 'its bytes in the main file are not the ones that were written');
    }
  }

  /** Writes one page or several neighbours, and notes their sums. */
  write(pageIndex: number, pages: Uint8Array): void {
    for (;;) {
      try {
        this.#file.write(pages, pageIndex * PAGE_BYTES);
        break;
      } catch (error) {
        if (!isDiskFull(error) || !this.#pruneOldest()) throw error;
      }
    }
    for (let i = 0; i * PAGE_BYTES < pages.length; i++) {
      const words = wordsOf(pages.subarray(i * PAGE_BYTES, (i + 1) * PAGE_BYTES));
      const sum = this.#checkpoints.checksum.ofPage(words, pageIndex + i);
      this.#checkpoints.setPageSum(pageIndex + i, sum);
    }
  }

  /** Cuts off everything behind a number of pages. */
  cut(pageCount: number): void {
    if (this.#file.sizeBytes() > pageCount * PAGE_BYTES) {
      this.#file.truncate(pageCount * PAGE_BYTES);
    }
  }

  /** Puts the sums noted so far into their file; the flush covers both. */
  writeSums(): void {
    this.#checkpoints.writeSums();
  }

  /** Makes pages and sums durable. */
  *flush(): Flushing<void> {
    yield this.#file.flush();
    yield this.#checkpoints.flush();
  }

  /** Makes pages and sums durable inside this call. Only on a medium that `flushesAtOnce`. */
  flushAtOnce(): void {
    runFlushing(this.flush());
  }

  close(): void {
    this.#file.close();
    this.#checkpoints.close();
  }
}
