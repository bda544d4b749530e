// What a session needs of its way to the worker: a page's LeaderFinder, or objects in this process.

import type { LivePeer } from '../rpc/live-protocol.ts';
import type { PageEnd } from '../rpc/page-end.ts';
import type { StoragePeer } from '../rpc/protocol.ts';
import type { LeaderFinder } from './leader-finder.ts';
import type { StandingSource } from './status.ts';

/** A connection, as far as storage is concerned. */
export interface SessionConnection extends Pick<PageEnd, 'failure' | 'isYielding' | 'whenLost'> {
  readonly worker: Required<StoragePeer> & LivePeer;
}

/** The way to whoever holds the objects. */
export interface SessionFinder extends Pick<LeaderFinder, 'flags' | 'end'> {
  readonly standing: StandingSource;
  connection(): Promise<SessionConnection>;
}
