// The live reads of a page: each is opened at the worker that leads.
//
// Invariant: those of a handle end with the handle, those of stubs with their connection, and with nothing
// else.

import type { Live } from '../contract/live.ts';
import { LiveOwner, liveIdentity } from '../live/live-identity.ts';
import type { LiveReading } from '../live/live-result.ts';
import { LiveValue } from '../live/live-value.ts';
import { type LivePeers, polledSource } from '../live/polled-source.ts';
import type { PageEnvironment } from './environment.ts';
import type { LeaderFinder } from './leader-finder.ts';
import type { SessionCalls } from './signalled-session.ts';

/** The live reads of a handle. */
export class LiveClient {
  readonly #session: SessionCalls;
  readonly #peers: LivePeers;
  readonly #open = new Set<() => void>();
  readonly #owner = new LiveOwner();

  constructor(session: SessionCalls, after: PageEnvironment['after']) {
    const { finder } = session;
    this.#session = session;
    this.#peers = {
      peer: async () => (await finder.connection()).worker,
      flags: finder.flags,
      get end() {
        return session.end ?? finder.end;
      },
      whenEnded: (told) => {
        this.#open.add(told);
        return () => this.#open.delete(told);
      },
      after,
    };
  }

  /** A live read of the storage. */
  read({ read, form, value }: LiveReading, signal?: AbortSignal): Live<unknown> {
    const { target } = this.#session;
    const source = polledSource(this.#peers, { target, read }, signal);
    return new LiveValue(source, value, liveIdentity(this.#owner.of(signal), { read, form }));
  }

  /** The handle was closed. */
  end(): void {
    for (const told of [...this.#open]) told();
  }
}

/** For the live reads of stubs, which learn of the end as their connection fails. */
export function livePeers(finder: LeaderFinder, after: PageEnvironment['after']): LivePeers {
  return {
    peer: async () => (await finder.connection()).worker,
    flags: finder.flags,
    get end() {
      return finder.end;
    },
    whenEnded: () => () => {},
    after,
  };
}
