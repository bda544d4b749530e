// The past states of one object that are open, and the memory that they share.
//
// Invariant: before a commit replaces a page, every open state gets the old page. When memory runs out, the least
// recently used state is ended; its user can open it again. The states that branches begin with are pinned: their pages
// are stored elsewhere, so they are never ended to make room, and take no memory here.

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { PendingRestore } from './checkpoint-file.ts';
import type { CommitLog } from './commit-log.ts';
import type { KeptPages } from './kept-pages.ts';
import { PAGE_BYTES } from './pages.ts';
import { PastState, type PresentPages } from './past-state.ts';
import { findTarget, type Place } from './target-search.ts';
import { undoBackTo } from './undo.ts';

/** Maximum number of open states per object, because each has a connection of SQLite. */
export const PAST_STATES_MAX = 4;

/** Maximum memory for the pages of one object's open states, in bytes. */
export const PAST_BYTES = 64 << 20;

export class PastStates {
  readonly #present: PresentPages;
  readonly #pagesMax: number;
  readonly #undoBytes: number;
  /** The open states in order of use, the most recently used last. */
  readonly #open = new Set<PastState>();
  readonly #pinned = new Set<PastState>();

  constructor(present: PresentPages, bytesMax: number, undoBytes: number) {
    this.#present = present;
    this.#undoBytes = undoBytes;
    this.#pagesMax = Math.floor(bytesMax / PAGE_BYTES);
  }

  /** True while a commit must offer the pages that it replaces. */
  get areOpen(): boolean {
    return this.#open.size + this.#pinned.size > 0;
  }

  /**
   * Opens the state after the target's commit; commits made during the opening do not change it.
   *
   * @throws BOOKMARK_UNAVAILABLE, BOOKMARK_INVALID, CORRUPT, MEMORY_FULL
   */
  async open(target: PendingRestore, log: CommitLog): Promise<PastState> {
    const place = await findTarget(target, log);
    while (this.#open.size >= PAST_STATES_MAX) this.#endOldest();
    const state = new PastState(this.#present, (asking) => this.#makeRoom(asking));
    this.#open.add(state);
    return this.#undo(state, place, log);
  }

  /**
   * Opens the state that a branch begins with. It is not ended to make room for others, nor are others ended for it.
   *
   * @throws BOOKMARK_UNAVAILABLE, BOOKMARK_INVALID, CORRUPT, DISK_FULL, MEMORY_FULL
   */
  async pin(target: PendingRestore, log: CommitLog, kept: KeptPages): Promise<PastState> {
    const place = await findTarget(target, log);
    const state = new PastState(this.#present, () => {}, kept);
    this.#pinned.add(state);
    return this.#undo(state, place, log);
  }

  async #undo(state: PastState, place: Place, log: CommitLog): Promise<PastState> {
    try {
      state.undo(await undoBackTo(place, log, state, this.#undoBytes));
    } catch (error) {
      this.end(state, error as Error);
      throw error;
    }
    if (state.ended) throw state.ended;
    return state;
  }

  /** Marks a state as used, so that others are ended before it. */
  use(state: PastState): void {
    if (this.#open.delete(state)) this.#open.add(state);
  }

  /** Offers the pages that a commit is about to replace or remove to every open state. */
  keep(pageIndexes: Iterable<number>): void {
    for (const pageIndex of pageIndexes) {
      for (const states of [this.#open, this.#pinned]) {
        for (const state of states) {
          state.keep(pageIndex);
          if (state.ended) states.delete(state);
        }
      }
    }
  }

  end(state: PastState, reason: Error = closedPast()): void {
    this.#open.delete(state);
    this.#pinned.delete(state);
    state.end(reason);
  }

  endAll(reason: Error): void {
    for (const state of [...this.#open, ...this.#pinned]) this.end(state, reason);
  }

  #makeRoom(asking: PastState): void {
    const kept = () => [...this.#open].reduce((pages, state) => pages + state.keptPages, 0);
    while (kept() >= this.#pagesMax) {
      const [oldest] = [...this.#open].filter((state) => state !== asking);
      if (oldest === undefined) throw this.#memoryFull();
      this.end(oldest);
    }
  }

  #endOldest(): void {
    const [oldest] = this.#open;
    if (oldest !== undefined) this.end(oldest);
  }

  #memoryFull(): Error {
    const megabytes = (this.#pagesMax * PAGE_BYTES) / 2 ** 20;
    return storageError(
      'MEMORY_FULL',
      `at: more than ${megabytes} MiB of pages differ between that moment and now; restore it instead, or ` +
        'choose a later one.',
    );
  }
}

/** Makes the error of a state that was ended to make room, or whose handle was closed. */
export function closedPast(): Error {
  return storageError(
    'MOMENT_CLOSED',
    'The earlier state was closed, or made room for others that were opened later; open it again.',
  );
}
