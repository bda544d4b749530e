// How the pages and workers of one origin find each other: the names of locks and channels, and all messages that
// are not calls.
//
// Every page starts a worker, and may end it while it is not the next in line. The workers of one directory queue for one Web Lock; its holder leads and is the only
// worker that opens the files. It serves its own page over the worker's own channel, or over a message port if the
// app gave the worker, and every other page over a BroadcastChannel of its own, because ports cannot be sent to
// another tab.
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
 * Increased when protocol.ts, calls of operations or how messages travel together change.
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
  /** The newest. */
  readonly version: number;
  readonly oldest: number;
}

export const OWN_VERSIONS: Versions = { version: PROTOCOL_VERSION, oldest: PROTOCOL_OLDEST };

/** The version that two sides speak with each other: the newest of both; null when there is none. */
export function commonVersion(one: Versions, other: Versions): number | null {
  const common = Math.min(one.version, other.version);
  return common >= Math.max(one.oldest, other.oldest) ? common : null;
}

/** The versions in a message of any shape. A message with only one version speaks no other. */
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
  /** Where the files are to be kept; null: where they are already, else on the best medium here. */
  readonly medium: StorageMedium | null;
  /** Null means the file next to the worker. */
  readonly wasmUrl: string | null;
  /** The file next to the page's code, for a worker that has no address; null: the page has none either. */
  readonly pageWasmUrl?: string | null;
  /** Where `late.js` lies; null means next to the worker. */
  readonly lateUrl?: string | null;
  /** When the page was opened, in milliseconds since the epoch. */
  readonly startedMs: number;
  /** The page takes its connection over the worker's own channel. @default over a port */
  readonly isDirect?: boolean;
  /** How much history objects keep while this worker leads; null: as the worker itself says. */
  readonly history?: HistoryLimits | null;
  /** The same of limits. */
  readonly limits?: OpenLimits | null;
}

export type WorkerMessage =
  /**
   * Its script runs this package's code, which answers every start message with it, whether or not the
   * script has called serve().
   */
  | { readonly type: 'loaded' }
  /** The worker runs, and waits for its turn to lead. */
  | { readonly type: 'standing' }
  /** It leads; calls go over the port, or over the worker's own channel under the connection's name. */
  | ({
      readonly type: 'leads';
      readonly port?: MessagePort;
      readonly connection?: string;
      readonly medium: StorageMedium;
    } & Versions)
  /** Another worker leads. */
  | OtherLeader
  /**
   * It obtained the lock but could not open the storage. The next start message makes it try again.
   */
  | { readonly type: 'failed'; readonly error: WireError };

export interface OtherLeader extends Versions {
  readonly type: 'heard';
  readonly worker: string;
  /** The app's name for that worker's deployment. */
  readonly build: Build | null;
  readonly medium: StorageMedium;
  /** How its deployment compares with this worker's. `older`: this worker takes over from it. */
  readonly order: Order;
  /** This worker's deployment; null: that of the other is not known to be the same. */
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
  /** A worker answers this page nothing. The page that started it ends it if it finds the same. */
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
   * A page checks that the worker still answers, and permits it to read messages for so long (worker-end.ts). `atMs`: by the
   * page's clock, which only goes forward. `isAnswer`: the worker has asked for it.
   */
  | {
      readonly type: 'ping';
      readonly atMs: number;
      readonly forMs: number;
      readonly isAnswer?: boolean;
    }
  | { readonly type: 'pong' }
  /** The worker asks for a ping. */
  | { readonly type: 'asks' }
  /**
   * The worker steps down: the page sends no new work, and says so; calls sent before are still
   * answered.
   */
  | { readonly type: 'yields' }
  | { readonly type: 'paused' }
  /** The worker tells something unasked. */
  | { readonly type: 'notice'; readonly notice: Notice }
  /**
   * The other side has ended the connection, and answers no more calls. `isGivenUp`: the page has waited too long,
   * and calls that have not begun are not run.
   */
  | { readonly type: 'closed'; readonly error?: WireError; readonly isGivenUp?: boolean };

/** Names of the locks and channels of one directory. */
export function namesOf(directory: string) {
  const prefix = `ctx-storage/${directory}`;
  return {
    /** Held by the worker that leads. */
    leaderLock: leaderLockOf(directory),
    /** Followed by the candidate, as JSON; held while it waits for its turn to lead, and while it leads. */
    candidateLock: `${prefix}/candidate/`,
    /** Held by the page that keeps its worker to lead next, of those of one deployment. */
    reserveLock: ({ build, code }: Deployment) =>
      `${prefix}/reserve/${build === null ? `code ${code}` : `build ${build}`}`,
    /** Held by a worker from before it becomes a candidate until it dies. */
    workerLock: (worker: string) => `${prefix}/worker/${worker}`,
    /** Held by a page from before it connects until it is closed. */
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

/** Where notices come from. */
export interface Notices {
  /** Calls back for each notice from now on; the result ends this. */
  subscribe(listener: (notice: Notice) => void): () => void;
}

/** A notice that has arrived; null for anything else. */
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
    return null; // of another version, or of other code
  }
}

/** Options of `serve` that can be sent; it checks them. */
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
  /** `<milliseconds>.<digest>`: see source-build.ts. */
  readonly build: string;
  readonly tellsConsole: boolean;
}

export type SourceAnswer =
  /** It serves. */
  | { readonly type: 'source-loaded'; readonly classes: readonly string[] }
  | { readonly type: 'source-failed'; readonly error: WireError };

export interface ConsoleMessage {
  readonly type: 'console';
  readonly entry: ConsoleEntry;
}

/**
 * The part of `navigator.locks` that is used; a parameter, so that tests can end pages and workers.
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
 * Calls back when the lock has been released, unless `signal` was aborted before.
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
      // Rejects when the signal is aborted, or when this page itself is being closed.
    });
}
