// How the pages and workers of one origin find each other: the names of locks and channels, and the
// messages that precede the first call.
//
// Every page starts a worker. The workers of one directory queue for one Web Lock; its holder leads
// and is the only one that opens the files. It serves its own page over a message port, and every
// other page over a BroadcastChannel of its own, because ports cannot be sent to another tab.
//
//   page → own worker      StartMessage, again whenever the page looks for a leader
//   own worker → page      WorkerMessage
//   control channel        ControlMessage, heard by all pages and the leader
//   connection             ConnectionMessage, then comlink's calls and replies

import type { WireError } from './errors-on-wire.ts';

/**
 * Increased when these messages, protocol.ts or calls of operations change. The names below must
 * not change, so that tabs with different versions still exclude each other from the files.
 */
export const PROTOCOL_VERSION = 5;

export interface StartMessage {
  readonly type: 'start';
  /** The worker's name. Its page chooses it, to recognize the worker later. */
  readonly worker: string;
  readonly directory: string;
  /** Null means the file next to the worker. */
  readonly wasmUrl: string | null;
}

export type WorkerMessage =
  /**
   * Its script runs this package's code, which answers every start message with it, whether or not the
   * script has called serve().
   */
  | { readonly type: 'loaded' }
  /** The worker runs, and waits for its turn to lead. */
  | { readonly type: 'standing' }
  /** It leads; calls go over the port. */
  | { readonly type: 'leads'; readonly port: MessagePort }
  /**
   * It obtained the lock but could not open the storage. The next start message makes it try again.
   */
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
  /** A page checks that the worker still answers. */
  | { readonly type: 'ping' }
  | { readonly type: 'pong' }
  /** The other side has ended the connection, and answers no more calls. */
  | { readonly type: 'closed'; readonly error?: WireError };

/** Names of the locks and channels of one directory. */
export function namesOf(directory: string) {
  const prefix = `ctx-storage/${directory}`;
  return {
    /** Held by the worker that leads. */
    leaderLock: `${prefix}/leader`,
    /** Held by a worker from before it becomes a candidate until it dies. */
    workerLock: (worker: string) => `${prefix}/worker/${worker}`,
    /** Held by a page from before it connects until it is closed. */
    clientLock: (client: string) => `${prefix}/client/${client}`,
    controlChannel: `${prefix}/control`,
    connectionChannel: (connection: string) => `${prefix}/connection/${connection}`,
  };
}
