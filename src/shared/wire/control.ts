// Defines how the pages and workers of one origin find each other: the names of locks and channels, and all messages that
// are not calls.
//
// Every page starts a worker, and may end it unless it is the next in line to lead. The workers of one directory queue for
// one Web Lock. Its holder leads, and is the only worker that opens the files. It serves its own page over the worker's
// own channel, or over a message port if the app passed the worker, and each other page over a separate BroadcastChannel,
// because ports cannot be sent to another tab.
//
//   page → own worker      SourceMessage, once, if it runs code as text; StartMessage, again whenever the page
//                          looks for a leader
//   own worker → page      SourceAnswer, once; WorkerMessage; ConsoleMessage whenever object code writes
//   control channel        ControlMessage, heard by all pages and the leader
//   connection             ConnectionMessage, then calls and answers (channel-endpoint.ts); a Notice unasked
//
// Locks also show whether a page or worker is alive: it holds one, and others wait for it. A browser frees the locks
// of a page or worker however it ends (closed, terminated, killed). There is no other signal: a lost peer sends no
// message, and its port fires no event.

import { checkFields, checkNumber } from '../contract/arguments.ts';
import type { StorageSpace } from '../contract/connection-status.ts';
import type { Build, Deployment, Order } from '../contract/deployment.ts';
import { leaderLockOf } from '../contract/directory.ts';
import type { HistoryLimits } from '../contract/history-limits.ts';
import type { StorageMedium } from '../contract/medium.ts';
import type { OpenLimits } from '../contract/open-limits.ts';
import type { CheckedSource, ConsoleEntry } from '../contract/source.ts';
import { checkAddress, type WireAddress } from './address.ts';
import type { WireError } from './errors-on-wire.ts';

/**
 * The version of the protocol. Increase it when protocol.ts, calls of operations or the packing of messages change.
 *
 * Messages before a connection never change in a way that an earlier version misunderstands, because they
 * show a page that the versions differ: the names below, StartMessage, `loaded`, `standing`, `who`, `leads`,
 * `takeover`, `connect`, and `closed`. Fields may be added to them, and messages of other types; a field that
 * is there stays, with its meaning. `src/page/leader/deployments.test.ts` speaks to this code as other
 * versions do.
 */
export const PROTOCOL_VERSION = 16;

/** The oldest version that this code still speaks. */
export const PROTOCOL_OLDEST = 16;

/** The versions that a page or worker speaks. */
export interface Versions {
  /** The newest version. */
  readonly version: number;
  readonly oldest: number;
}

export const OWN_VERSIONS: Versions = { version: PROTOCOL_VERSION, oldest: PROTOCOL_OLDEST };

/** Returns the newest version that both sides speak; null if there is none. */
export function commonVersion(one: Versions, other: Versions): number | null {
  const common = Math.min(one.version, other.version);
  return common >= Math.max(one.oldest, other.oldest) ? common : null;
}

/** Reads the versions from a message of any shape. If the message has only one version, its sender speaks only that one. */
export function versionsIn(message: Partial<Record<keyof Versions, unknown>>): Versions {
  const { version, oldest } = message;
  if (typeof version !== 'number') return { version: 0, oldest: 0 };
  return { version, oldest: typeof oldest === 'number' ? oldest : version };
}

export interface StartMessage {
  readonly type: 'start';
  /** The worker's name. Its page chooses it, to recognize the worker later. */
  readonly worker: string;
  readonly directory: string;
  /** The medium for the files; null to use the medium where they already are, or else the best one available. */
  readonly medium: StorageMedium | null;
  /** The address of `sqlite3.wasm`; null for the file next to the worker. */
  readonly wasmUrl: string | null;
  /** The address of the file next to the page's code, for a worker without an address; null if the page has none either. */
  readonly pageWasmUrl?: string | null;
  /** The address of `late.js`; null for the file next to the worker. */
  readonly lateUrl?: string | null;
  /** When the page was opened, in milliseconds since the epoch. */
  readonly startedMs: number;
  /** True if the page connects over the worker's own channel. @default the page connects over a port */
  readonly isDirect?: boolean;
  /** The limits of history while this worker leads; null to use the worker's own. */
  readonly history?: HistoryLimits | null;
  /** The page's option `limits` while this worker leads; null to use the worker's own. */
  readonly limits?: OpenLimits | null;
}

export type WorkerMessage =
  /** The script has loaded this package. Every start message is answered with this, even before serve() was called. */
  | { readonly type: 'loaded' }
  /** The worker runs, and waits for its turn to lead. */
  | { readonly type: 'standing' }
  /** The worker leads. Calls go over the port, or over the worker's own channel under the connection's name. */
  | ({
      readonly type: 'leads';
      readonly port?: MessagePort;
      readonly connection?: string;
      readonly medium: StorageMedium;
    } & Versions)
  /** A worker announces that it leads. */
  | OtherLeader
  /**
   * The worker obtained the lock but could not open the storage. It tries again at the next start message.
   */
  | { readonly type: 'failed'; readonly error: WireError };

export interface OtherLeader extends Versions {
  readonly type: 'heard';
  readonly worker: string;
  /** The app's name for the leading worker's deployment. */
  readonly build: Build | null;
  readonly medium: StorageMedium;
  /**
   * The order of the leading worker's deployment relative to this worker's. If it is `older`, this worker takes over
   * from the leader.
   */
  readonly order: Order;
  /** This worker's deployment; null unless the leading worker's deployment is known to be the same. */
  readonly own: Deployment | null;
}

export type ControlMessage =
  /** A page asks who leads. */
  | { readonly type: 'who' }
  | ({
      readonly type: 'leads';
      readonly worker: string;
      readonly deployment: Deployment;
      readonly medium: StorageMedium;
    } & Versions)
  /** A candidate of a newer deployment, which waits in line, asks the leader to step down. */
  | { readonly type: 'takeover'; readonly worker: string; readonly by: string }
  /** A page reports that a worker does not answer. The page that started the worker checks this, and ends it. */
  | { readonly type: 'silent'; readonly worker: string }
  /** A page asks the leader for a connection; it has opened the channel already. */
  | {
      readonly type: 'connect';
      readonly worker: string;
      readonly client: string;
      readonly connection: string;
      /** The version of the protocol that both sides speak. */
      readonly version: number;
    };

export type ConnectionMessage =
  | { readonly type: 'accepted' }
  /**
   * A page checks that the worker still answers, and permits it to read messages for `forMs` (worker-end.ts). `atMs` is
   * the time of the page's monotonic clock. `isAnswer` is true if the worker has requested the ping.
   */
  | {
      readonly type: 'ping';
      readonly atMs: number;
      readonly forMs: number;
      readonly isAnswer?: boolean;
    }
  | { readonly type: 'pong' }
  /** The worker requests a ping. */
  | { readonly type: 'asks' }
  /**
   * The worker steps down. The page then stops sending new work, and confirms this. Calls sent before are still answered.
   */
  | { readonly type: 'yields' }
  | { readonly type: 'paused' }
  /** The worker sends a notice, without a request. */
  | { readonly type: 'notice'; readonly notice: Notice }
  /**
   * The sender has ended the connection, and answers no more calls. `isGivenUp` is true if a page has waited too long; the
   * worker then does not run calls that have not begun.
   */
  | { readonly type: 'closed'; readonly error?: WireError; readonly isGivenUp?: boolean };

/** Makes the names of the locks and channels of one directory. */
export function namesOf(directory: string) {
  const prefix = `ctx-storage/${directory}`;
  return {
    /** The lock of the worker that leads. */
    leaderLock: leaderLockOf(directory),
    /** The prefix of a candidate's lock; the candidate follows as JSON. It is held while the worker waits or leads. */
    candidateLock: `${prefix}/candidate/`,
    /** The lock of the page whose worker leads next, among the pages of one deployment. */
    reserveLock: ({ build, code }: Deployment) =>
      `${prefix}/reserve/${build === null ? `code ${code}` : `build ${build}`}`,
    /** The lock that a worker holds from before it becomes a candidate until it dies. */
    workerLock: (worker: string) => `${prefix}/worker/${worker}`,
    /** The lock that a page holds from before it connects until it is closed. */
    clientLock: (client: string) => `${prefix}/client/${client}`,
    controlChannel: `${prefix}/control`,
    connectionChannel: (connection: string) => `${prefix}/connection/${connection}`,
  };
}

export type Notice =
  | { readonly type: 'storagelow'; readonly space: StorageSpace }
  | {
      readonly type: 'historypruned' | 'objectmissing' | 'keepfailed';
      readonly address: WireAddress;
    };

/** A source of notices. */
export interface Notices {
  /** Calls back for each notice from now on. Call the result to unsubscribe. */
  subscribe(listener: (notice: Notice) => void): () => void;
}

/** Checks a notice that has arrived; null for any other value. */
export function checkNotice(value: unknown): Notice | null {
  try {
    const { type, space, address } = checkFields('notice', value);
    if (type === 'storagelow') {
      const { usage, quota } = checkFields('space', space);
      const checked = { usage: checkNumber('usage', usage), quota: checkNumber('quota', quota) };
      return { type, space: checked };
    }
    if (type !== 'historypruned' && type !== 'objectmissing' && type !== 'keepfailed') return null;
    return { type, address: checkAddress(address) };
  } catch {
    return null; // The message comes from another version, or from other code.
  }
}

/** The options of `serve` that can be sent to the worker, where `serve` checks them. */
export interface SourceOptions {
  readonly env?: object;
  readonly bindings?: Readonly<Record<string, string>>;
  readonly scriptName?: string;
  readonly compatibilityDate?: string;
  readonly idleMs?: number;
  readonly limits?: object;
  readonly history?: HistoryLimits;
}

export interface SourceMessage extends CheckedSource {
  readonly type: 'source';
  readonly options: SourceOptions;
  /** The version of the code, as `<milliseconds>.<digest>` (source-build.ts). */
  readonly build: string;
  readonly tellsConsole: boolean;
}

export type SourceAnswer =
  /** The code was loaded, and its classes are served. */
  | { readonly type: 'source-loaded'; readonly classes: readonly string[] }
  | { readonly type: 'source-failed'; readonly error: WireError };

export interface ConsoleMessage {
  readonly type: 'console';
  readonly entry: ConsoleEntry;
}

/**
 * The members of `navigator.locks` that this package uses. They are a parameter, so that tests can simulate the end of
 * pages and workers.
 */
export interface Locks {
  request(
    name: string,
    options: { readonly mode?: 'exclusive' | 'shared'; readonly signal?: AbortSignal },
    callback: () => Promise<void>,
  ): Promise<unknown>;
}

/** Resolves once the lock is held. It is held until the page or worker ends. */
export function holdForLife(locks: Locks, name: string): Promise<void> {
  return new Promise((held, refused) => {
    locks
      .request(name, {}, () => {
        held();
        return new Promise<void>(() => {});
      })
      .catch(refused);
  });
}

/**
 * Calls back when the lock was released, unless `signal` aborts first.
 *
 * The owner must hold the lock before it tells anyone the name; otherwise this calls back at once.
 * The lock is requested as shared, because several pages may wait for it.
 */
export function whenReleased(
  locks: Locks,
  name: string,
  signal: AbortSignal,
  released: () => void,
): void {
  const options = { mode: 'shared', signal } as const;
  locks
    .request(name, options, async () => {})
    .then(released, () => {
      // The request rejects when the signal aborts, or when this page is being closed.
    });
}
