// The pages of one deployment that follow, in a line: a worker takes memory, so only the first one keeps its worker. The
// others end theirs, and start it again when they are the first, because the one before leads or has gone.
//
// Invariant: while pages of a deployment live, the worker of one of them leads or waits to lead. A browser passes a lock
// on however a page ends.

import type { Deployment } from '../../shared/contract/deployment.ts';
import type { Locks, namesOf } from '../../shared/wire/control.ts';
import type { PageEnvironment } from './environment.ts';

/** How long a page follows before it ends its worker: most pages that are closed soon start none again. */
export const REST_MS = 3000;

/** How long a page without a worker searches for a leader before it starts its own: another one is about to lead. */
export const WAKE_MS = 1000;

export interface ReserveEvents {
  /** The page ends its worker, if it follows a leader of this deployment now. False: it needs its worker. */
  rest(): boolean;
  /** The page starts its worker. */
  wake(): void;
}

export class Reserve {
  readonly #locks: Locks;
  readonly #after: PageEnvironment['after'];
  readonly #lockOf: ReturnType<typeof namesOf>['reserveLock'];
  readonly #events: ReserveEvents;
  #place: { readonly leave: () => void; isFirst: boolean } | null = null;
  #cancelRest = () => {};
  /** The page's own deployment, if that of the leader it has followed last is the same. */
  #deployment: Deployment | null = null;
  /** The page has ended its worker. */
  isResting = false;

  constructor(
    { locks, after }: Pick<PageEnvironment, 'locks' | 'after'>,
    { reserveLock }: ReturnType<typeof namesOf>,
    events: ReserveEvents,
  ) {
    this.#locks = locks;
    this.#after = after;
    this.#lockOf = reserveLock;
    this.#events = events;
  }

  /** The page's own worker has judged a leader; null: it is of another deployment. */
  judged(own: Deployment | null): void {
    this.#deployment = own;
    if (own === null) this.leave();
  }

  /** Whether a page that rests can follow this leader unjudged. */
  isOfOwn(leader: Deployment | null): boolean {
    const own = this.#deployment;
    return own !== null && leader !== null && this.#lockOf(leader) === this.#lockOf(own);
  }

  /** The page follows a leader; its worker may rest. */
  enter(): void {
    if (this.#deployment === null) return;
    this.#cancelRest();
    this.#cancelRest = this.#after(REST_MS, () => {
      if (this.#place?.isFirst === false && !this.isResting) this.isResting = this.#events.rest();
    });
    if (this.#place !== null) return;
    const waiting = new AbortController();
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const leave = () => {
      waiting.abort();
      end();
    };
    const place = { leave, isFirst: false };
    this.#place = place;
    const first = async () => {
      if (this.#place !== place) return;
      place.isFirst = true;
      this.wake();
      await ended;
    };
    const { signal } = waiting;
    this.#locks.request(this.#lockOf(this.#deployment), { signal }, first).catch(() => {
      // It has left, or this page is being closed.
    });
  }

  /** The page's worker leads, has failed, or is changed. */
  leave(): void {
    this.#cancelRest();
    this.#place?.leave();
    this.#place = null;
  }

  wake(): void {
    if (!this.isResting) return;
    this.isResting = false;
    this.#events.wake();
  }
}
