// Defines what a page can show about its connection and its writes, such as “Connected” and “Saved”.

import type { StorageMedium } from './medium.ts';
import type { DurableObjectId } from './object-id.ts';

/**
 * - `connecting`: no worker answers yet, or the last one has ended; the page looks for the next one.
 * - `leading`: connected to this tab's worker, which serves all tabs.
 * - `following`: connected to the worker of another tab.
 * - `lost`: no worker was found, or the handle or connection was closed. Unless it was closed, or site data
 *   was cleared, the next call looks again.
 */
export type ConnectionState = 'connecting' | 'leading' | 'following' | 'lost';

/**
 * Whether the browser may delete the site's data when it needs space (navigator.storage.persist()).
 *
 * - `unknown`: the page has not asked, because it has written nothing.
 * - `asked`: no answer yet. Firefox asks its user, who may never answer.
 * - `granted`: only the user deletes it.
 * - `refused`: the browser may delete it, all of the site at once.
 * - `unavailable`: the browser cannot be asked.
 */
export type PersistedState = 'unknown' | 'asked' | 'granted' | 'refused' | 'unavailable';

/** The browser's estimates of the bytes that the site uses and may use. */
export interface StorageSpace {
  readonly usage: number;
  readonly quota: number;
}

/** An object that an event is about. */
export interface NamedObject {
  /** Null for an object of `openStorage`. */
  readonly className: string | null;
  readonly id: DurableObjectId;
}

/** The events about objects and their storage. Every handle and connection of their directory fires them. */
export interface StorageEvents {
  /**
   * Less space is free, by the browser's report, than `limits.lowSpaceBytes` (32 MiB). It fires once, and again only after
   * twice as much was free. Delete data, or ask the user to free space, before writes fail with DISK_FULL. Chrome
   * reports more space than it grants, so it does not fire there.
   */
  readonly storagelow: CustomEvent<StorageSpace>;
  /** The disk was full, and the oldest history of an object was deleted: bookmarks into it are unavailable. */
  readonly historypruned: CustomEvent<NamedObject>;
  /** An object was stored, and its files are gone: calls of it are OBJECT_MISSING until it is deleted. */
  readonly objectmissing: CustomEvent<NamedObject>;
  /**
   * IndexedDB could not store or read a result of a live read of this object, or the result could not be decoded. Only a
   * handle opened `early` fires it. No early result is shown then; everything else works.
   */
  readonly keepfailed: CustomEvent<NamedObject>;
}

/** The events of a handle or connection. */
export interface StatusEvents extends StorageEvents {
  /** Fires when a property has changed, at most once per turn. */
  readonly statechange: Event;
  /** `isOutdated` has become true. */
  readonly outdated: Event;
}

/** The state of a handle or connection. It changes, so read it each time you show it. */
export interface ConnectionStatus {
  readonly state: ConnectionState;
  /** The reason why the state is `connecting` again, or `lost`; null while it is connected or connects for the first time. */
  readonly stateReason: Error | null;
  /** Where the worker keeps its data; null before the first connection. */
  readonly medium: StorageMedium | null;
  /**
   * Calls made through this handle or connection that may write and are not answered yet; an open
   * transaction counts as one. They are durable once they are answered.
   */
  readonly pendingWrites: number;
  /**
   * The last time when all writes through this handle or connection were durable, in milliseconds since the epoch; null
   * before the first write. A write with `allowUnconfirmed` counts only once a later write or `sync()` is answered.
   */
  readonly savedAt: number | null;
  /**
   * True once a tab with a newer deployment of the worker leads. From then on, this page calls that deployment's code.
   * Reload the page when it suits the user. It stays true even after that tab is closed.
   */
  readonly isOutdated: boolean;
  /** The browser's answer. The page asks when its first write is durable; no write waits for the answer. */
  readonly persisted: PersistedState;
  /** Asks the browser for its estimates. @throws IO if the browser does not answer */
  estimate(): Promise<StorageSpace>;
  addEventListener<Type extends keyof StatusEvents>(
    type: Type,
    listener: (event: StatusEvents[Type]) => void,
  ): void;
  removeEventListener<Type extends keyof StatusEvents>(
    type: Type,
    listener: (event: StatusEvents[Type]) => void,
  ): void;
}
