// How the pages and workers of one origin find each other: names of locks and channels, and the
// few messages that come before the first call.
//
// Every page starts a worker. The workers of one directory queue for one Web Lock; its holder leads:
// it alone opens the files. It serves its own page over a message port and every other page over a
// BroadcastChannel of their own, because ports cannot be sent to another tab.
//
//   page → own worker      StartMessage, again whenever the page looks for a leader
//   own worker → page      WorkerMessage
//   control channel        ControlMessage, heard by all pages and the leader
//   connection             ConnectionMessage, then comlink's calls and replies

import type { WireError } from './errors-on-wire.ts';

/**
 * Counts up when these messages or protocol.ts change. The names below stay as they are, so that
 * an old tab and a new one still exclude each other from the files.
 */
export const PROTOCOL_VERSION = 4;

export interface StartMessage {
  readonly type: 'start';
  /** What this worker is to be called; chosen by its page, which must recognise it. */
  readonly worker: string;
  readonly directory: string;
  /** Null: the file beside the worker. */
  readonly wasmUrl: string | null;
}

export type WorkerMessage =
  /** The worker runs, and waits for its turn to lead. */
  | { readonly type: 'standing' }
  /** It leads; calls go over the port. */
  | { readonly type: 'leads'; readonly port: MessagePort }
  /** It had its turn and could not open the storage. It stands again at the next start message. */
  | { readonly type: 'failed'; readonly error: WireError };

export type ControlMessage =
  /** A page asks who leads. */
  | { readonly type: 'who' }
  | { readonly type: 'leads'; readonly worker: string; readonly version: number }
  /** A page asks the leader for a connection; it has opened the channel already. */
  | {
      readonly type: 'connect';
      readonly worker: string;
      readonly client: string;
      readonly connection: string;
    };

export type ConnectionMessage =
  | { readonly type: 'accepted' }
  /** A page asks for a sign of life. */
  | { readonly type: 'ping' }
  | { readonly type: 'pong' }
  /** The other side lost or dropped the connection; calls on it will not be answered. */
  | { readonly type: 'closed'; readonly error?: WireError };

/** Names of the locks and channels of one directory. */
export function namesOf(directory: string) {
  const prefix = `ctx-storage/${directory}`;
  return {
    /** Held by the worker that leads. */
    leaderLock: `${prefix}/leader`,
    /** Held by a worker from before it stands until it dies. */
    workerLock: (worker: string) => `${prefix}/worker/${worker}`,
    /** Held by a page from before it connects until it goes. */
    clientLock: (client: string) => `${prefix}/client/${client}`,
    controlChannel: `${prefix}/control`,
    connectionChannel: (connection: string) => `${prefix}/connection/${connection}`,
  };
}
