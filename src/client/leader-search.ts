// What a page knows while it searches for a leader.

import type { Build } from '../contract/deployment.ts';
import type { StorageMedium } from '../contract/medium.ts';
import type { ChannelEndpoint } from '../rpc/channel-endpoint.ts';
import type { StartMessage, Versions } from '../rpc/control.ts';
import type { PageEnd } from '../rpc/page-end.ts';
import type { WorkerSource } from './environment.ts';

/** A leader in another tab. */
export interface Followed {
  readonly worker: string;
  readonly versions: Versions;
  readonly build: Build | null;
  readonly medium: StorageMedium;
}

/** Which leader a page searches for, and with which worker of its own. */
export interface LeaderOptions extends Pick<StartMessage, 'directory' | 'medium' | 'wasmUrl'> {
  /** The user's call, for error messages. */
  readonly operation: string;
  readonly source: WorkerSource;
}

/** A search under way. */
export interface Search {
  readonly found: (connection: PageEnd) => void;
  readonly failed: (error: Error) => void;
  /** The leader of another tab that was asked for a connection and has not answered yet. */
  asked: { readonly worker: string; readonly endpoint: ChannelEndpoint } | null;
  /** The page's own worker cannot be started: the page follows whoever leads. */
  isAlone: boolean;
  /** How long it may take. */
  waitMs: number;
  cancelTimeout: () => void;
}
