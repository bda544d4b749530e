// Detects a worker that does not answer at all, and which calls it has read before.
//
// While calls wait, the page pings the worker. Any message counts as an answer: a worker whose
// calls only wait for each other still answers pings. A worker that runs one long query, or that
// the browser has suspended, does not.
//
// A ping also goes before a call, so that the page knows later whether the call was read (worker-end.ts): before a call that
// follows unanswered ones, and before the first call after a pause: otherwise the worker would have to ask for a ping.
//
// Invariant: a page that was suspended itself does not blame the worker. Silence is counted in
// pings that this page sent, never by a clock. The page keeps the promise of each ping: it gives up PERMIT_BEATS_LESS
// beats later, or later than that. No assertion keeps this: timers of a suspended page come late, which is no defect.

import type { PageEnd } from '../../shared/wire/page-end.ts';
import type { PageEnvironment } from './environment.ts';

export const HEARTBEAT_MS = 5000;

/**
 * How many beats a worker may be silent: 45 s. That is longer than a statement may run (30 s), so a
 * slow worker is not mistaken for a hanging one.
 */
export const SILENT_BEATS_MAX = 9;

/** How long before the page gives up a permit ends: 15 s, in which messages arrive. */
const PERMIT_BEATS_LESS = 3;

/** How long there is no ping between calls that follow unanswered ones. */
export const APART_MS = 20;

/** Shorter than the shortest permit of a ping while nothing waits. */
const PAUSE_MS = 10_000;

export class Heartbeat {
  readonly #connection: PageEnd;
  readonly #environment: Pick<PageEnvironment, 'after' | 'elapsed'>;
  readonly #silent: () => void;
  /** For how many beats the worker has been silent; null: there are no beats, because no call waits. */
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

  /** Looks after a beat whether the worker has spoken. */
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

  /** Permits for as long as the page certainly waits: the next beat may come at once. */
  #ping(silentBeats = (this.#silentBeats ?? -1) + 1, isAnswer = false): void {
    const atMs = this.#environment.elapsed();
    this.#pingMs = atMs;
    const forMs = (SILENT_BEATS_MAX - PERMIT_BEATS_LESS - silentBeats) * HEARTBEAT_MS;
    this.#connection.ping({ atMs, forMs, ...(isAnswer && { isAnswer }) });
  }
}
