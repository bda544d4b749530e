// A page's facts about its connection and its writes: enough for an honest badge.

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
 * - `unknown`: the page has not asked: nothing was written.
 * - `asked`: no answer yet. Firefox asks its user, who may never answer.
 * - `granted`: only the user deletes it.
 * - `refused`: the browser may delete it, all of the site at once.
 * - `unavailable`: the browser cannot be asked.
 */
export type PersistedState = 'unknown' | 'asked' | 'granted' | 'refused' | 'unavailable';

/** How much space the site uses, and how much the browser grants it, in bytes, as the browser estimates. */
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

/** The notices of objects and their storage: sent to every handle and connection of their directory. */
export interface StorageEvents {
  /**
   * Less space is free, as the browser reports, than `limits.lowSpaceBytes` (32 MiB). Once, and again only
   * after twice as much was free. Delete something, or ask the user for room, before writes are DISK_FULL.
   * Chrome reports more than it grants, so there it does not come.
   */
  readonly storagelow: CustomEvent<StorageSpace>;
  /** The disk was full, and the oldest history of an object was given up: bookmarks into it are unavailable. */
  readonly historypruned: CustomEvent<NamedObject>;
  /** An object was stored, and its files are gone: calls of it are OBJECT_MISSING until it is deleted. */
  readonly objectmissing: CustomEvent<NamedObject>;
  /**
   * Of a handle opened `early`: IndexedDB refused to keep or to give a result of a live read of this object, or the
   * result could not be read. Nothing is shown early then, and all else goes on.
   */
  readonly keepfailed: CustomEvent<NamedObject>;
}

/** The events of a handle or connection. */
export interface StatusEvents extends StorageEvents {
  /** One of the properties has changed. At most one event a turn. */
  readonly statechange: Event;
  /** `isOutdated` has become true. */
  readonly outdated: Event;
}

/** The state of a handle or connection; it changes, so read it when it is shown. */
export interface ConnectionStatus {
  readonly state: ConnectionState;
  /** Why it is `connecting` again, or `lost`; null while it is connected, or connects for the first time. */
  readonly stateReason: Error | null;
  /** Where the worker keeps its data; null before the first connection. */
  readonly medium: StorageMedium | null;
  /**
   * Calls made through this handle or connection that may write and are not answered yet; an open
   * transaction counts as one. They are durable once they are answered.
   */
  readonly pendingWrites: number;
  /**
   * When everything written through it was durable last, in milliseconds since the epoch; null before the
   * first write. A write with `allowUnconfirmed` does not count until a later write or `sync()` is answered.
   */
  readonly savedAt: number | null;
  /**
   * True once a tab with a newer deployment of the worker leads: this page calls the code of that one from
   * then on. Reload the page when it suits its user. It stays true, also when that tab is closed.
   */
  readonly isOutdated: boolean;
  /** Asked for when the first write of the page is durable; no write waits for the answer. */
  readonly persisted: PersistedState;
  /** Asks the browser. @throws IO when it does not tell */
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
