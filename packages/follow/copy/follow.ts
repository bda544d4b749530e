// The entry `ctx-storage/worker/follow`: the option `follow` of a host, and the host's objects that follow.
//
// Invariant: after a start, calls that an earlier worker has left are sent, even if nobody uses their objects. The
// calls of an identity are sent only while the app gives this identity. No assertion checks this, because the start is
// in the next process.

import { isStorageError, storageError } from '@ctx-storage/core/errors';
import { addressKey, type ObjectAddress } from '@ctx-storage/core/object';
import { completeLimits } from '@ctx-storage/worker/engine';
import type {
  Followers,
  HostEnvironment,
  ObjectHost,
  StartFollowing,
} from '@ctx-storage/worker/objects';
import { classVersion } from '../protocol/class-version.ts';
import {
  type CheckedFollowOptions,
  checkFollowOptions,
  type FollowTable,
  type GivenFollowOptions,
} from './follow-options.ts';
import { type FollowedEnvironment, FollowingObject } from './following-object.ts';
import { IdentifiedObject } from './identified-object.ts';
import { type WaitingObject, WaitingObjects } from './waiting-objects.ts';

export type { FollowOptions, FollowTable } from './follow-options.ts';

/** The pause between the start and the search for waiting calls, so that a page's first reads are not delayed. */
const RESUME_MS = 2000;
/** The most files of one replica: its base, its queue and the parts of a snapshot have up to three files each. */
const OPEN_FILES_OF_ONE = 10;
/** This many objects are resumed at once (our choice). */
const RESUMED_MAX = 8;
/** If an object is not resumed within this time, the next object begins (our choice). */
const RESUME_MS_MAX = 30_000;

/** Browsers dispatch `online` in workers when the network has come back, and `offline` when it is gone; Node does not. */
const scope = globalThis as Partial<Pick<EventTarget, 'addEventListener' | 'removeEventListener'>>;

/**
 * Makes the option `follow` of `serve` and `createObjects`. All objects of the given classes follow the objects of the
 * same names on a server, whose class is made by `followable`. Each call runs here at once, on a forecast, and is
 * durable here. The server runs the call, too, and its result replaces the forecast.
 *
 * Arguments and results of calls are plain data.
 *
 * @throws INVALID_ARGUMENT
 */
export function follow(table: FollowTable): StartFollowing {
  const options = new Map(
    Object.entries(table).map(([name, given]) => [name, checkFollowOptions(name, given)]),
  );
  return (host, environment) => new HostFollowers(host, environment, options);
}

class HostFollowers implements Followers {
  readonly classNames: ReadonlySet<string>;
  readonly #host: ObjectHost;
  readonly #options: ReadonlyMap<string, CheckedFollowOptions>;
  readonly #environment: FollowedEnvironment;
  readonly #objects = new Map<string, FollowingObject | IdentifiedObject>();
  readonly #openMax: number;
  readonly #cancelSearch: () => void;
  readonly #connectAll = () => {
    for (const object of this.#copies()) object.connectNow();
  };
  readonly #askAll = () => {
    for (const object of this.#copies()) object.askNow();
  };
  /** The objects with waiting calls that are not resumed yet. */
  readonly #toResume = new Set<WaitingObject>();
  /** How many objects are being resumed. */
  #resuming = 0;
  #opening: Promise<unknown> = Promise.resolve();
  #isMakingRoom = false;
  #stateVersions = 0;

  /** @throws INVALID_ARGUMENT if the version of an option is not that of its class */
  constructor(
    host: ObjectHost,
    environment: HostEnvironment,
    options: ReadonlyMap<string, GivenFollowOptions>,
  ) {
    const { now, elapsed, afterRealTime, randomUint32, limits, catalog } = environment;
    this.#openMax = Math.floor((limits ?? completeLimits()).openFiles / OPEN_FILES_OF_ONE);
    this.#host = host;
    this.#options = new Map(
      [...options].map(([name, given]) => {
        const Class = host.classes.find(name)?.construct;
        return [
          name,
          { ...given, version: classVersion(Class, given.version, `follow: ${name}`) ?? 1 },
        ];
      }),
    );
    this.#environment = {
      ...{ now, elapsed, afterRealTime, randomUint32 },
      waitingObjects: new WaitingObjects(host),
      inTurn: (open) => this.#inTurn(open),
      resumeLater: (object) => {
        this.#toResume.add(object);
        this.#resume();
      },
      nextStateVersion: () => ++this.#stateVersions,
      opened: ({ className, id, copy }) => {
        if (copy === undefined || className === null) return;
        // The host lists objects by their own addresses. Without this note, it does not list the object.
        const address = { className, id };
        const name = id.name !== undefined && { name: id.name };
        const entry = {
          key: addressKey(address),
          className,
          id: String(id),
          ...name,
          wakeMs: null,
        };
        catalog.add(entry).catch(() => {});
      },
    };
    this.classNames = new Set(options.keys());
    this.#cancelSearch = afterRealTime(RESUME_MS, () => void this.#findWaitingObjects());
    scope.addEventListener?.('online', this.#connectAll);
    scope.addEventListener?.('offline', this.#askAll);
  }

  find(address: ObjectAddress): FollowingObject | IdentifiedObject | undefined {
    const { className, branch, facet, copy } = address;
    const options = className === null ? undefined : this.#options.get(className);
    if (options === undefined || (branch ?? facet ?? copy) !== undefined) return undefined;
    const key = addressKey(address);
    let found = this.#objects.get(key);
    if (found === undefined) {
      found = this.#make(address, options);
      // An object without a name refuses each use. The object is not kept, because it may be found by its name later.
      if (address.id.name !== undefined) this.#objects.set(key, found);
    }
    return found;
  }

  #make(address: ObjectAddress, options: CheckedFollowOptions): FollowingObject | IdentifiedObject {
    const host = this.#host;
    const { identity } = options;
    if (identity === undefined)
      return new FollowingObject(host, address, this.#environment, options);
    const { name } = address.id;
    return new IdentifiedObject(host, address, {
      identity: () => (typeof identity === 'function' ? identity(mustHaveName(name)) : identity),
      make: (copy, owner, check) =>
        new FollowingObject(host, copy, this.#environment, options, { identity: owner, check }),
      // Calls of the next identity may wait in objects that no page uses.
      changed: () => void this.#findWaitingObjects(),
    });
  }

  copyOf(address: ObjectAddress): Promise<ObjectAddress> | undefined {
    const { branch, ...own } = address;
    const found = this.find(own);
    if (!(found instanceof IdentifiedObject)) return undefined;
    const located = found.located();
    return branch === undefined ? located : located.then((copy) => ({ ...copy, branch }));
  }

  /** Lists the copies that were used. */
  *#copies(): Iterable<FollowingObject> {
    for (const object of this.#objects.values()) {
      const copy = object instanceof IdentifiedObject ? object.present : object;
      if (copy !== undefined) yield copy;
    }
  }

  makeRoom(): void {
    if (this.#isMakingRoom) return;
    this.#isMakingRoom = true;
    void this.#closeLeastRecentlyUsed().finally(() => {
      this.#isMakingRoom = false;
    });
  }

  /** Closes the least recently used of the replicas that nobody uses. */
  async #closeLeastRecentlyUsed(): Promise<void> {
    let oldest: { readonly object: FollowingObject; readonly sinceMs: number } | undefined;
    for (const object of this.#copies()) {
      const sinceMs = object.restingSinceMs;
      if (sinceMs !== null && sinceMs < (oldest?.sinceMs ?? Number.POSITIVE_INFINITY))
        oldest = { object, sinceMs };
    }
    await oldest?.object.makeRoom();
  }

  /** Runs an opening after the earlier openings. If too many replicas are open, one of them is closed first. */
  #inTurn<T>(open: () => Promise<T>): Promise<T> {
    const opened = this.#opening.then(async () => {
      const count = [...this.#copies()].filter(({ isOpen }) => isOpen).length;
      if (count >= this.#openMax) await this.#closeLeastRecentlyUsed();
      return open();
    });
    this.#opening = opened.catch(() => {});
    return opened;
  }

  async close(): Promise<void> {
    this.#cancelSearch();
    scope.removeEventListener?.('online', this.#connectAll);
    scope.removeEventListener?.('offline', this.#askAll);
    this.#toResume.clear();
    await Promise.all([...this.#objects.values()].map((object) => object.close()));
  }

  /** Resumes the objects in whose queues an earlier worker has left calls. */
  async #findWaitingObjects(): Promise<void> {
    try {
      for (const object of await this.#environment.waitingObjects.list())
        this.#toResume.add(object);
    } catch (error) {
      if (!isClosing(error)) console.error('Calls that wait could not be looked for:', error);
    }
    this.#resume();
  }

  /** Resumes as many objects as may be resumed at once. */
  #resume(): void {
    for (const object of this.#toResume) {
      if (this.#resuming === RESUMED_MAX) return;
      this.#toResume.delete(object);
      this.#resuming += 1;
      void this.#resumeOne(object).then(() => {
        this.#resuming -= 1;
        this.#resume();
      });
    }
  }

  /** Sends the calls of an object. Resolves early if the server does not answer, so that the next object begins. */
  async #resumeOne({ className, name, digest }: WaitingObject): Promise<void> {
    if (!this.#options.has(className)) return; // The class does not follow any more.
    try {
      const { ids } = this.#host.classes.get(className);
      const found = this.find({ className, id: ids.fromName(name) });
      const isIdentified = found instanceof IdentifiedObject;
      if (isIdentified && digest === undefined) console.warn(waitsWithoutIdentity(name));
      // Calls of a copy stay until its identity, or none, is given again.
      if (isIdentified) await this.#endedOrLate(found.resume(digest));
      else if (digest === undefined) await this.#endedOrLate(found?.resume());
    } catch (error) {
      if (isClosing(error)) return;
      console.error(`The calls of ${name} that wait for the server could not be sent:`, error);
    }
  }

  /** Resolves when the work has ended, or after `RESUME_MS_MAX`, whichever comes first. */
  #endedOrLate(work: Promise<void> | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = this.#environment.afterRealTime(RESUME_MS_MAX, resolve);
      Promise.resolve(work).then(resolve, reject).finally(cancel);
    });
  }
}

/**
 * Returns the name. An object of `openStorage`, or an object addressed by its id alone, has no name.
 *
 * @throws INVALID_ARGUMENT
 */
function mustHaveName(name: string | undefined): string {
  if (name !== undefined) return name;
  throw storageError(
    'INVALID_ARGUMENT',
    'follow: an object without a name has no identity; use getByName or idFromName.',
  );
}

function waitsWithoutIdentity(name: string): string {
  return (
    `Calls of ${name} were made before the option identity was given to follow(), so it is not known whose they are. They are ` +
    'kept, and are sent by a worker without the option.'
  );
}

function isClosing(error: unknown): boolean {
  const codes = ['CONNECTION_CLOSED', 'OBJECT_RESET', 'FOLLOW_STOPPED'];
  return isStorageError(error) && codes.includes(error.code);
}
