// Detects a worker that does not answer at all.
//
// While calls wait, the page pings the worker. Any message counts as an answer: a worker whose
// calls only wait for each other still answers pings. A worker that runs one long query, or that
// the browser has suspended, does not.
//
// Invariant: a page that was suspended itself does not blame the worker. Silence is counted in
// pings that this page sent, never by a clock.

import type { PageEnd } from '../../shared/wire/page-end.ts';

export const HEARTBEAT_MS = 5000;

/**
 * How many beats a worker may be silent: 40 s. That is longer than a statement may run (30 s), so a
 * slow worker is not mistaken for a hanging one.
 */
export const SILENT_BEATS_MAX = 8;

export class Heartbeat {
  readonly #connection: PageEnd;
  readonly #after: (delayMs: number, task: () => void) => () => void;
  readonly #silent: () => void;
  #isBeating = false;

  /** Calls `silent` once, if calls wait and the worker has been silent for too long. */
  constructor(
    connection: PageEnd,
    after: (delayMs: number, task: () => void) => () => void,
    silent: () => void,
  ) {
    this.#connection = connection;
    this.#after = after;
    this.#silent = silent;
    connection.onWaiting = () => this.#start();
  }

  #start(): void {
    if (this.#isBeating) return;
    this.#isBeating = true;
    this.#after(HEARTBEAT_MS, () => this.#beat(this.#connection.heardCount, 0));
  }

  #beat(heardCount: number, silentBeats: number): void {
    const connection = this.#connection;
    if (connection.failure !== null || !connection.isWaiting) {
      this.#isBeating = false;
      return;
    }
    if (silentBeats === SILENT_BEATS_MAX) {
      this.#silent();
      return;
    }
    connection.ping();
    this.#after(HEARTBEAT_MS, () => {
      const heard = connection.heardCount;
      this.#beat(heard, heard === heardCount ? silentBeats + 1 : 0);
    });
  }
}
