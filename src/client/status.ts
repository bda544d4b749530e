// The state of one handle or connection as its user sees it: that of the connection to the worker that leads,
// and the writes made through it.
//
// Invariant: listeners hear of every change, at most once a turn, and read the latest state. A closed handle
// keeps no reference to the page's other state.

import type { ConnectionState, ConnectionStatus } from '../contract/connection-status.ts';

/** The state of the connection, and why. */
export interface Standing {
  readonly state: ConnectionState;
  readonly reason: Error | null;
}

/** What all handles of a directory share. */
export interface StandingSource {
  readonly standing: Standing;
  /** Calls back after each change; the result ends this. */
  onStanding(changed: () => void): () => void;
}

/** How a write is counted. `unconfirmed`: its answer does not say that it is durable. */
export type WriteKind = 'confirmed' | 'unconfirmed';

export class Status extends EventTarget implements ConnectionStatus {
  readonly #now: () => number;
  readonly #unwatch: () => void;
  #source: StandingSource | null;
  #closed: Standing = { state: 'lost', reason: null };
  #pendingWrites = 0;
  #savedAt: number | null = null;
  #isToldLater = false;

  constructor(source: StandingSource, now: () => number) {
    super();
    this.#source = source;
    this.#now = now;
    this.#unwatch = source.onStanding(() => this.#tell());
  }

  get state(): ConnectionState {
    return this.#standing.state;
  }

  get stateReason(): Error | null {
    return this.#standing.reason;
  }

  get pendingWrites(): number {
    return this.#pendingWrites;
  }

  get savedAt(): number | null {
    return this.#savedAt;
  }

  /** Counts a write until it is answered. */
  write<T>(work: Promise<T>, kind: WriteKind = 'confirmed'): Promise<T> {
    this.#pendingWrites += 1;
    this.#tell();
    const settle = (isSaved: boolean) => {
      this.#pendingWrites -= 1;
      // An answer follows the flush of all writes before it.
      if (isSaved && this.#pendingWrites === 0) this.#savedAt = this.#now();
      this.#tell();
    };
    work.then(
      () => settle(kind === 'confirmed'),
      () => settle(false),
    );
    return work;
  }

  /** The handle or connection was closed. */
  close(reason: Error): void {
    if (this.#source === null) return;
    this.#unwatch();
    this.#source = null;
    this.#closed = { state: 'lost', reason };
    this.#tell();
  }

  get #standing(): Standing {
    return this.#source?.standing ?? this.#closed;
  }

  #tell(): void {
    if (this.#isToldLater) return;
    this.#isToldLater = true;
    queueMicrotask(() => {
      this.#isToldLater = false;
      this.dispatchEvent(new Event('statechange'));
    });
  }
}
