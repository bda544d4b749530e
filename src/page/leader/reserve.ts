// The place of a page in the line of the pages that follow and belong to one deployment. A worker takes memory, so only
// the first page keeps its worker. The others end theirs, and start them again when they become the first, because the
// page before leads or has gone.
//
// Invariant: while pages of a deployment live, the worker of one of them leads or waits to lead. A browser passes a
// lock on however a page ends. No assertion keeps this: it is about several pages; the model of the election has them.

import type { Locks } from '../../shared/wire/control.ts';

export class ReservePlace {
  readonly #locks: Locks;
  readonly #first: () => void;
  #leave = () => {};

  /** Calls `first` when the page is the first in the line. */
  constructor(locks: Locks, first: () => void) {
    this.#locks = locks;
    this.#first = first;
  }

  /**
   * Moves the page to the end of another line, or (null) out of all lines. A line is the name of a lock, which the
   * first page holds.
   */
  move(line: string | null): void {
    this.#leave();
    if (line === null) return;
    const waiting = new AbortController();
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#leave = () => {
      waiting.abort();
      end();
    };
    const { signal } = waiting;
    const first = async () => {
      if (signal.aborted) return;
      this.#first();
      await ended;
    };
    this.#locks.request(line, { signal }, first).catch(() => {
      // The request was aborted, because the page has left the line, or is being closed.
    });
  }
}
