// An earlier state of the database as a file that SQLite reads, beside the running one.
//
// A page is looked up in `#kept` (pages that differ from the committed ones), then in the committed
// state. Opening fills `#kept` by undoing the records after the moment; from then on, a commit that is
// about to replace a page has it kept first. So neither pruning, nor checkpoints, nor rotation of the
// log concern a state that is open.
//
// Invariant: its pages never change. Ended, it throws the reason.

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { DatabaseFile } from '../file/file.ts';
import type { EarlierPages } from './earlier-pages.ts';
import type { KeptPages } from './kept-pages.ts';
import type { PageLayer } from './page-layer.ts';
import { type EachPage, PAGE_BYTES } from './pages.ts';
import { Slab } from './slab.ts';
import type { UndonePages } from './undo.ts';

/** The present state's functions for a past state. */
export interface PresentPages extends PageLayer {
  /** @throws CORRUPT */
  read(pageIndex: number, target: Uint8Array): void;
  /** Passes each page to `use`, with bytes that are valid until it returns. The indexes are in order. @throws CORRUPT */
  readAll(pageIndexes: readonly number[], use: EachPage): void;
}

// Shared by all past states: never in use across turns of the event loop.
const wholePage = new Uint8Array(PAGE_BYTES);

export class PastState implements DatabaseFile, UndonePages, PageLayer {
  readonly #present: PresentPages;
  /** Asked before one more page is kept. @throws MEMORY_FULL */
  readonly #makeRoom: (state: PastState) => void;
  readonly #kept: KeptPages;
  #pageCount: number;
  /** Pages from here on are not those of the present state, even if it has them. */
  #sharedPages: number;
  #ended: Error | undefined;
  #onEnd = () => {};

  /** It begins as the present state; undoing takes it back from there. */
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

  /** How many pages it keeps. */
  get keptPages(): number {
    return this.#kept.size;
  }

  /** The present state. */
  get below(): PresentPages {
    return this.#present;
  }

  *ownPages(): Generator<number> {
    yield* this.#kept.keys();
    const end = Math.max(this.#pageCount, this.#present.pageCount);
    for (let i = this.#sharedPages; i < end; i++) yield i;
  }

  /** Why it can no longer be read; undefined while it can. */
  get ended(): Error | undefined {
    return this.#ended;
  }

  /** The last call here but reads, which throw the reason. Idempotent. */
  end(reason: Error): void {
    if (this.#ended) return;
    this.#ended = reason;
    this.#kept.clear();
    this.#onEnd();
  }

  /** Calls the task when it ends, perhaps while SQLite commits: it must not call SQLite. */
  whenEnded(task: () => void): void {
    this.#onEnd = task;
  }

  /** A commit is about to replace or remove this page. Ends the state if it cannot be kept. */
  keep(pageIndex: number): void {
    if (this.#ended || pageIndex >= this.#sharedPages || this.#kept.has(pageIndex)) return;
    try {
      this.#kept.set(pageIndex, this.#keptPage(pageIndex));
    } catch (error) {
      this.end(error as Error);
    }
  }

  // ---- Called while records are undone.

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

  /** A page that is kept, or about to be. */
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
