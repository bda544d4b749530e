// The pages that follow the worker of this page while it leads.
//
// The browser freezes a worker with its page, for one in the back/forward cache. The pages that follow it would wait for
// 45 s, until they find it silent. So this page ends it before, and the next worker leads at once. A worker that nobody
// follows is frozen, and goes on later.
//
// Invariant: a page that has closed is not counted as a follower. No assertion keeps this: only the lock of that page
// tells that it has.

import { type ControlMessage, type namesOf, whenReleased } from '../../shared/wire/control.ts';
import type { PageEnvironment } from './environment.ts';

export interface PageFollowersEvents {
  /** The worker of this page, if it leads. */
  leader(): string | undefined;
  /** The page is about to be frozen: ends its worker, which others follow. */
  frozen(): void;
}

export class PageFollowers {
  /** The worker that each page has asked for its connection, which was this page's then. */
  readonly #workers = new Map<string, string>();
  readonly #watch = new AbortController();
  /** Stops listening for the freezing of the page. */
  readonly #thaw: () => void;

  constructor(
    { locks, onFreeze }: Pick<PageEnvironment, 'locks' | 'onFreeze'>,
    { clientLock }: ReturnType<typeof namesOf>,
    control: BroadcastChannel,
    events: PageFollowersEvents,
  ) {
    control.addEventListener('message', ({ data }: MessageEvent<ControlMessage | null>) => {
      if (data?.type !== 'connect' || data.worker !== events.leader()) return;
      const { client, worker } = data;
      // Any script of the origin can post to this channel.
      if (typeof client !== 'string' || typeof worker !== 'string') return;
      const isKnown = this.#workers.has(client);
      this.#workers.set(client, worker);
      if (isKnown) return;
      const gone = () => this.#workers.delete(client);
      whenReleased(locks, clientLock(client), this.#watch.signal, gone);
    });
    this.#thaw = onFreeze(() => {
      const leader = events.leader();
      if (leader !== undefined && [...this.#workers.values()].includes(leader)) events.frozen();
    });
  }

  close(): void {
    this.#watch.abort();
    this.#thaw();
  }
}
