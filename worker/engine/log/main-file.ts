// The main file: a plain SQLite image of the last checkpoint. Each read verifies the page's checksum.
//
// Invariant: reading a page gives the bytes that were written, or an error. On a full disk, history
// is pruned, oldest first, before a write is refused.

import { type Flush, isDiskFull, type SyncFile } from '../file/file.ts';

import type { BranchMain } from './branch-main.ts';
import type { CheckpointFile } from './checkpoint-file.ts';
import { wordsOf } from './checksum.ts';
import { corruptPage, type EachPage, type LoggedImage, PAGE_BYTES } from './pages.ts';

/** Maximum number of pages (256 KB) that one read covers, and maximum distance between two wanted pages in it. */
const RUN_PAGES = 64;
const NEAR_PAGES = 8;

export class MainFile {
  readonly #file: SyncFile;
  readonly #checkpoints: CheckpointFile;
  readonly #pruneOldest: () => boolean;
  /** True if flushes end inside the call. Only then may a commit depend on pages in this file. */
  readonly flushesAtOnce: boolean;
  /** The main file of a branch; null if the object is not a branch. */
  readonly branch: BranchMain | null;

  constructor(
    file: SyncFile,
    checkpoints: CheckpointFile,
    flushesAtOnce: boolean,
    pruneOldest: () => boolean,
    branch: BranchMain | null = null,
  ) {
    this.#file = branch ?? file;
    this.branch = branch;
    this.#checkpoints = checkpoints;
    // A page of a branch is in the file only once a checkpoint has ended.
    this.flushesAtOnce = flushesAtOnce && branch === null;
    this.#pruneOldest = pruneOldest;
  }

  /** Reads a page. @throws CORRUPT if the page is cut off or differs from the written one. */
  read(pageIndex: number, target: Uint8Array): void {
    const count = this.#file.read(target, pageIndex * PAGE_BYTES);
    this.#verify(pageIndex, target, count);
  }

  /**
   * Passes each page to `use`, with bytes that are valid until it returns. Pages that are near each other are read in
   * one call. The indexes must be in order. @throws CORRUPT
   */
  readAll(pageIndexes: readonly number[], use: EachPage): void {
    let run = new Uint8Array();
    for (let first = 0; first < pageIndexes.length; ) {
      const start = pageIndexes[first]!;
      let next = first + 1;
      while (next < pageIndexes.length && isNear(start, pageIndexes[next - 1]!, pageIndexes[next]!))
        next++;
      const length = (pageIndexes[next - 1]! + 1 - start) * PAGE_BYTES;
      if (run.length < length) run = new Uint8Array(length);
      const count = this.#file.read(run.subarray(0, length), start * PAGE_BYTES);
      for (; first < next; first++) {
        const at = (pageIndexes[first]! - start) * PAGE_BYTES;
        const page = run.subarray(at, at + PAGE_BYTES);
        this.#verify(pageIndexes[first]!, page, count - at);
        use(page, pageIndexes[first]!);
      }
    }
  }

  /** Writes one page or several adjacent ones, whose checksums `setSum` sets. */
  write(pageIndex: number, pages: Uint8Array): void {
    for (;;) {
      try {
        this.#file.write(pages, pageIndex * PAGE_BYTES);
        return;
      } catch (error) {
        if (!isDiskFull(error) || !this.#pruneOldest()) throw error;
      }
    }
  }

  /** Sets the checksum of a page that is in the main file, or will be before anything reads it there. */
  setSum(pageIndex: number, page: Uint8Array | LoggedImage): void {
    const isImage = !(page instanceof Uint8Array);
    const sum = isImage ? page.sum : this.#checkpoints.checksum.ofPage(wordsOf(page), pageIndex);
    this.#checkpoints.setPageSum(pageIndex, sum);
  }

  /** Cuts off everything after a number of pages. */
  cut(pageCount: number): void {
    if (this.#file.sizeBytes() > pageCount * PAGE_BYTES) {
      this.#file.truncate(pageCount * PAGE_BYTES);
    }
  }

  /** Makes pages durable, without their checksums. */
  flush(): Flush {
    return this.#file.flush();
  }

  /** Makes pages and checksums durable inside this call; only allowed if `flushesAtOnce`. */
  flushAtOnce(): void {
    this.#checkpoints.writeSums();
    void this.#file.flush();
    void this.#checkpoints.flush();
  }

  close(): void {
    this.#file.close();
    this.#checkpoints.close();
  }

  /** Verifies the checksum of a page; `count` is the number of its bytes that the file had. */
  #verify(pageIndex: number, page: Uint8Array, count: number): void {
    if (count < PAGE_BYTES) throw corruptPage(pageIndex, 'the main file ends before it');
    const known = this.#checkpoints.pageSum(pageIndex);
    // A page that the branch does not have was verified when the state below read it. It can have a sum here only if a
    // crashed checkpoint was about to write the same bytes.
    if (known === 0 && this.branch?.has(pageIndex) === false) return;
    if (this.#checkpoints.checksum.ofPage(wordsOf(page), pageIndex) !== known) {
      throw corruptPage(
        pageIndex,
        'its bytes in the main file differ from the bytes that were written',
      );
    }
  }
}

/** True if the next page is read together with those from `start` to `last`. */
function isNear(start: number, last: number, next: number): boolean {
  return next - last <= NEAR_PAGES && next - start < RUN_PAGES;
}
