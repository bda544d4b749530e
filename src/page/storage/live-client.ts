// Makes the live reads of a page, which are opened at the worker that leads.
//
// Invariant: the live reads of a handle end only with the handle, and those of stubs only with their connection.
// No assertion keeps this: they end in another thread too, whose order of events differs.

import type { Live } from '../../shared/contract/live.ts';
import { LiveOwner, liveIdentity } from '../../shared/live/live-identity.ts';
import type { LiveReading } from '../../shared/live/live-result.ts';
import { type LiveSource, LiveValue } from '../../shared/live/live-value.ts';
import { type LivePeers, polledSource } from '../../shared/live/polled-source.ts';
import type { PageEnvironment } from '../leader/environment.ts';
import type { LeaderFinder } from '../leader/leader-finder.ts';
import type { EarlyReads } from './early-reads.ts';
import type { Session } from './session.ts';

/** Makes the live reads of a handle. */
export class LiveClient {
  readonly #session: Session;
  readonly #peers: LivePeers;
  readonly #open = new Set<() => void>();
  readonly #owner = new LiveOwner();
  readonly #early: EarlyReads | undefined;

  /** `early` is given for a handle that was opened before a worker was ready. */
  constructor(session: Session, after: PageEnvironment['after'], early?: EarlyReads) {
    const { finder } = session;
    this.#session = session;
    this.#early = early;
    this.#peers = {
      peer: async () => {
        if (early !== undefined) await early.ready();
        return (await finder.connection()).worker;
      },
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

  /** Makes a live read of the storage. */
  read(reading: LiveReading, signal?: AbortSignal): Live<unknown> {
    const { read, form, value } = reading;
    const { target } = this.#session;
    const owner = this.#owner.of(signal);
    if (this.#early === undefined) {
      const source = polledSource(this.#peers, { target, read }, signal);
      return new LiveValue(source, value, liveIdentity(owner, { read, form }));
    }
    return this.#earlyRead(reading, this.#early, owner, signal);
  }

  #earlyRead(
    { read, form, value }: LiveReading,
    early: EarlyReads,
    owner: object,
    signal: AbortSignal | undefined,
    isPrivate = false,
  ): Live<unknown> {
    const { target } = this.#session;
    const shown = liveIdentity(owner, { read, form });
    const source: LiveSource = (sink) => {
      const keep = early.keep(shown.key, isPrivate);
      if (!isPrivate && keep !== undefined) {
        void early.find(keep.read).then((bytes) => {
          if (bytes !== null && sink.kept?.(bytes) === false) early.fail();
        });
      }
      return polledSource(this.#peers, { target, read, ...(keep && { keep }) }, signal)(sink);
    };
    if (isPrivate) {
      return new LiveValue(source, value, liveIdentity(owner, { read, form, isPrivate }));
    }
    return new LiveValue(source, value, shown, () =>
      this.#earlyRead({ read, form, value }, early, owner, signal, true),
    );
  }

  /** Ends all live reads, because the handle was closed. */
  end(): void {
    for (const told of [...this.#open]) told();
  }
}

/** Makes the peers for live reads of stubs, which end when the connection is closed. */
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
