// Detects a worker that does not answer at all, and which calls the worker has read before.
//
// While calls wait, the page pings the worker. Any message counts as an answer: a worker whose calls only wait for each
// other still answers pings. A worker that runs one long query, or that the browser has suspended, does not.
//
// A ping is also sent before some calls, so that the page knows later whether the worker has read the call
// (worker-end.ts): before a call that follows unanswered calls, and before the first call after a pause, because the
// worker would otherwise have to ask for a ping.
//
// Invariant: a page that was suspended itself does not blame the worker. Silence is counted in pings that this page
// sent, never by a clock. Each ping is a permit with a promise, which the page keeps: it gives up PERMIT_BEATS_LESS
// beats after the permit ends, or later. No assertion keeps this: timers of a suspended page come late, which is no
// defect.

import type { PageEnd } from '../../shared/wire/page-end.ts';
import type { PageEnvironment } from './environment.ts';

export const HEARTBEAT_MS = 5000;

/**
 * How many beats a worker may be silent: 45 s. That is longer than a statement may run (30 s), so a
 * slow worker is not mistaken for a hanging one.
 */
export const SILENT_BEATS_MAX = 9;

/**
 * The number of beats between the end of a permit and the moment when the page gives up: 15 s, in which messages
 * arrive.
 */
const PERMIT_BEATS_LESS = 3;

/** Minimum time between two pings before calls that follow unanswered calls. */
export const APART_MS = 20;

/**
 * After a pause of this length, a ping is sent before the next call. The pause is shorter than the shortest permit of a
 * ping that is sent while no call waits.
 */
const PAUSE_MS = 10_000;

export class Heartbeat {
  readonly #connection: PageEnd;
  readonly #environment: Pick<PageEnvironment, 'after' | 'elapsed'>;
  readonly #silent: () => void;
  /** The number of beats for which the worker has been silent; null if there are no beats, because no call waits. */
  #silentBeats: number | null = null;
  #pingMs = Number.NEGATIVE_INFINITY;

  /** Calls `silent` once, if calls wait and the worker has been silent for too long. */
  constructor(
    connection: PageEnd,
    environment: Pick<PageEnvironment, 'after' | 'elapsed'>,
    silent: () => void,
  ) {
    this.#connection = connection;
    this.#environment = environment;
    this.#silent = silent;
    connection.onCall = () => this.#beforeCall();
    // The worker has just sent a message, so the silence begins again.
    connection.onAsked = () => this.#ping(0, true);
  }

  #beforeCall(): void {
    const sinceMs = this.#environment.elapsed() - this.#pingMs;
    if (sinceMs >= (this.#connection.isWaiting ? APART_MS : PAUSE_MS)) this.#ping();
    if (this.#silentBeats === null) this.#waitFrom(0);
  }

  /** Checks after a beat whether the worker has sent a message. */
  #waitFrom(silentBeats: number): void {
    this.#silentBeats = silentBeats;
    const { heardCount } = this.#connection;
    this.#environment.after(HEARTBEAT_MS, () => {
      this.#beat(this.#connection.heardCount === heardCount ? silentBeats + 1 : 0);
    });
  }

  #beat(silentBeats: number): void {
    const { failure, isWaiting } = this.#connection;
    if (failure !== null || !isWaiting) {
      this.#silentBeats = null;
    } else if (silentBeats === SILENT_BEATS_MAX) {
      this.#silent();
    } else {
      this.#silentBeats = silentBeats;
      this.#ping();
      this.#waitFrom(silentBeats);
    }
  }

  /** Sends a ping whose permit lasts as long as the page certainly waits, even if the next beat comes at once. */
  #ping(silentBeats = (this.#silentBeats ?? -1) + 1, isAnswer = false): void {
    const atMs = this.#environment.elapsed();
    this.#pingMs = atMs;
    const forMs = (SILENT_BEATS_MAX - PERMIT_BEATS_LESS - silentBeats) * HEARTBEAT_MS;
    this.#connection.ping({ atMs, forMs, ...(isAnswer && { isAnswer }) });
  }
}
