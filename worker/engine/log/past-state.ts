// An earlier state of the database as a file that SQLite reads, beside the running one.
//
// A page is looked up in `#kept` (pages that differ from the committed ones), then in the committed
// state. Opening fills `#kept` by undoing the records after the moment. From then on, a commit copies each page into
// `#kept` before it replaces it. So pruning, checkpoints and rotation of the log do not affect an open state.
//
// Invariant: its pages never change. After its end, every read throws the reason.

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { DatabaseFile } from '../file/file.ts';
import type { EarlierPages, ReadPage } from './earlier-pages.ts';
import type { KeptPages } from './kept-pages.ts';
import type { PageLayer } from './page-layer.ts';
import { type EachPage, PAGE_BYTES } from './pages.ts';
import { Slab } from './slab.ts';
import type { UndonePages } from './undo.ts';

/** The functions of the committed pages that a past state uses. */
export interface PresentPages extends PageLayer {
  /** Reads a committed page. @throws CORRUPT */
  read(pageIndex: number, target: Uint8Array): void;
  /**
   * Passes each page to `use`, with bytes that are valid until it returns. The indexes are in order.
   *
   * @throws CORRUPT
   */
  readAll(pageIndexes: readonly number[], use: EachPage): void;
}

// One buffer for all past states: every use ends within one turn of the event loop.
const wholePage = new Uint8Array(PAGE_BYTES);

export class PastState implements DatabaseFile, UndonePages, PageLayer {
  readonly #present: PresentPages;
  /** Called before one more page is kept; it may end other states. @throws MEMORY_FULL */
  readonly #makeRoom: (state: PastState) => void;
  readonly #kept: KeptPages;
  #pageCount: number;
  /** Pages from this index on are never read from the committed state, even if it has them. */
  #sharedPages: number;
  #ended: Error | undefined;
  #onEnd = () => {};

  /** Starts as the committed state; `undo` then takes it back to the earlier one. */
  constructor(
    present: PresentPages,
    makeRoom: (state: PastState) => void,
    kept: KeptPages = new Map(),
  ) {
    this.#present = present;
    this.#kept = kept;
    this.#makeRoom = makeRoom;
    this.#pageCount = present.pageCount;
    this.#sharedPages = present.pageCount;
  }

  /** Number of pages in `#kept`. */
  get keptPages(): number {
    return this.#kept.size;
  }

  /** The committed state. */
  get below(): PresentPages {
    return this.#present;
  }

  *ownPages(): Generator<number> {
    yield* this.#kept.keys();
    const end = Math.max(this.#pageCount, this.#present.pageCount);
    for (let i = this.#sharedPages; i < end; i++) yield i;
  }

  /** The reason why the state can no longer be read; undefined while it can be read. */
  get ended(): Error | undefined {
    return this.#ended;
  }

  /** Ends the state: later reads throw the reason. Idempotent. */
  end(reason: Error): void {
    if (this.#ended) return;
    this.#ended = reason;
    this.#kept.clear();
    this.#onEnd();
  }

  /** Runs the task when the state ends. That may happen while SQLite commits, so the task must not call SQLite. */
  whenEnded(task: () => void): void {
    this.#onEnd = task;
  }

  /** Copies a page that a commit is about to replace or remove. Ends the state if there is no room for the copy. */
  keep(pageIndex: number): void {
    if (this.#ended || pageIndex >= this.#sharedPages || this.#kept.has(pageIndex)) return;
    try {
      this.#kept.set(pageIndex, this.#keptPage(pageIndex));
    } catch (error) {
      this.end(error as Error);
    }
  }

  // ---- Called while records are undone.

  /** Reads a page as the records undone so far have left it. */
  readonly readPage: ReadPage = (pageIndex, target) => {
    target.set(this.#kept.get(pageIndex) ?? this.#readPresent(pageIndex));
  };

  get pageCount(): number {
    return this.#pageCount;
  }

  undo(earlier: EarlierPages): void {
    this.#mustBeOpen();
    const slab = new Slab();
    const isShared = (pageIndex: number) =>
      pageIndex < this.#sharedPages && !this.#kept.has(pageIndex);
    const pageIndexes = earlier.pageIndexes();
    const shared = pageIndexes.filter(isShared);
    const others = pageIndexes.filter((pageIndex) => !isShared(pageIndex));
    this.#present.readAll(shared, (bytes, pageIndex) => {
      this.#makeRoom(this);
      const page = slab.copy(bytes);
      earlier.apply(page, pageIndex);
      this.#kept.set(pageIndex, page);
    });
    for (const pageIndex of others) {
      const page = this.#keptPage(pageIndex);
      earlier.apply(page, pageIndex);
      this.#kept.set(pageIndex, page);
    }
    this.#setPageCount(earlier.pageCount);
  }

  // ---- Called by SQLite.

  read(target: Uint8Array, offset: number): boolean {
    this.#mustBeOpen();
    const pageIndex = Math.floor(offset / PAGE_BYTES);
    if (pageIndex >= this.#pageCount) {
      target.fill(0);
      return false;
    }
    const start = offset - pageIndex * PAGE_BYTES;
    const page = this.#kept.get(pageIndex) ?? this.#readPresent(pageIndex);
    target.set(page.subarray(start, start + target.length));
    return true;
  }

  sizeBytes(): number {
    return this.#pageCount * PAGE_BYTES;
  }

  write(): never {
    throw pastWritten();
  }

  truncate(): never {
    throw pastWritten();
  }

  commit(): never {
    throw pastWritten();
  }

  endRollback(): void {}

  #setPageCount(pageCount: number): void {
    if (pageCount < this.#pageCount) {
      for (const pageIndex of this.#kept.keys()) {
        if (pageIndex >= pageCount) this.#kept.delete(pageIndex);
      }
    }
    this.#pageCount = pageCount;
    this.#sharedPages = Math.min(this.#sharedPages, pageCount);
  }

  /** Returns the kept copy of a page, or makes one. */
  #keptPage(pageIndex: number): Uint8Array {
    const known = this.#kept.get(pageIndex);
    if (known !== undefined) return known;
    this.#makeRoom(this);
    const page = new Uint8Array(PAGE_BYTES);
    if (pageIndex < this.#sharedPages) this.#present.read(pageIndex, page);
    this.#pageCount = Math.max(this.#pageCount, pageIndex + 1);
    return page;
  }

  #readPresent(pageIndex: number): Uint8Array {
    if (pageIndex < this.#sharedPages) this.#present.read(pageIndex, wholePage);
    else wholePage.fill(0);
    return wholePage;
  }

  #mustBeOpen(): void {
    if (this.#ended) throw this.#ended;
  }
}

function pastWritten(): Error {
  return storageError('INTERNAL', 'A past state was written to, which its connection refuses.');
}
