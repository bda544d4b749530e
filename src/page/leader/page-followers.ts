// The pages that follow the worker of this page while it leads.
//
// The browser freezes a worker with its page when the page enters the back/forward cache. The pages that follow the
// worker would wait for 45 s, until they find it silent. So this page ends its worker before, and the next worker leads
// at once. A worker that no page follows is frozen, and continues later.
//
// Invariant: a page that has closed is not counted as a follower. No assertion keeps this: only the lock of that page
// tells that it has closed.

import { type ControlMessage, type namesOf, whenReleased } from '../../shared/wire/control.ts';
import type { PageEnvironment } from './environment.ts';

export interface PageFollowersEvents {
  /** Returns the worker of this page, if it leads. */
  leader(): string | undefined;
  /** Called when the page is about to be frozen: ends the page's worker, which other pages follow. */
  frozen(): void;
}

export class PageFollowers {
  /** For each page that follows, the worker of this page that it asked for a connection. */
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
