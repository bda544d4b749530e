// The entry `ctx-storage/worker/follow`: the option `follow` of a host, and the host's objects that follow.
//
// Invariant: after a start, calls that an earlier worker has left are sent, even if nobody uses their objects.

import { isStorageError, storageError } from '@ctx-storage/core/errors';
import { addressKey, type ObjectAddress } from '@ctx-storage/core/object';
import { completeLimits } from '@ctx-storage/worker/engine';
import type {
  Followers,
  HostEnvironment,
  ObjectHost,
  StartFollowing,
} from '@ctx-storage/worker/objects';
import {
  type FollowedEnvironment,
  FollowingObject,
  type FollowOptions,
} from './following-object.ts';
import type { LinkSocket } from './link.ts';
import { type WaitingObject, WaitingObjects } from './waiting-objects.ts';

export type { FollowOptions } from './following-object.ts';

/** The pause between the start and the search for waiting calls, so that a page's first reads are not delayed. */
const RESUME_MS = 2000;
/** The most files of one replica: base, queue and parts of a snapshot have up to three each. */
const OPEN_FILES_OF_ONE = 10;
/** This many objects are resumed at once (our choice). */
const RESUMED_MAX = 8;
/** If an object is not resumed within this time, the next one begins (our choice). */
const RESUME_MS_MAX = 30_000;

/** Browsers dispatch `online` in workers when the network has come back; Node does not. */
const scope = globalThis as Partial<Pick<EventTarget, 'addEventListener' | 'removeEventListener'>>;

/** For each class, by its name: the function that returns an object's address, or all options. */
export type FollowTable = Readonly<Record<string, FollowOptions | FollowOptions['url']>>;

/**
 * Makes the option `follow` of `serve` and `createObjects`. All objects of the given classes follow the objects of the same
 * names on a server, whose class is made by `followable`. Each call runs here at once, on a forecast, and is durable here.
 * The server runs it, too, and its result replaces the forecast.
 *
 * Arguments and results of calls are plain data.
 *
 * @throws INVALID_ARGUMENT
 */
export function follow(table: FollowTable): StartFollowing {
  const options = new Map(
    Object.entries(table).map(([name, given]) => [name, checkOptions(name, given)]),
  );
  return (host, environment) => new HostFollowers(host, environment, options);
}

function checkOptions(name: string, given: FollowTable[string]): Required<FollowOptions> {
  const {
    url,
    version = 1,
    connect = openSocket,
  } = typeof given === 'function' ? { url: given } : given;
  const mustBe = (isRight: boolean, what: string) => {
    if (!isRight) throw storageError('INVALID_ARGUMENT', `follow: ${name}: ${what}.`);
  };
  mustBe(
    typeof url === 'function',
    'url is a function that gives the address of an object by its name',
  );
  mustBe(Number.isSafeInteger(version) && version >= 0, 'version is a whole number, not negative');
  mustBe(typeof connect === 'function', 'connect is a function that opens a WebSocket');
  mustBe(
    connect !== openSocket || typeof WebSocket === 'function',
    'this runtime has no WebSocket; pass { connect: (url, protocol) => new WebSocket(url, protocol) } with that of ws',
  );
  return { url, version, connect };
}

function openSocket(url: string, protocol: string): LinkSocket {
  return new WebSocket(url, protocol) as LinkSocket;
}

class HostFollowers implements Followers {
  readonly classNames: ReadonlySet<string>;
  readonly #host: ObjectHost;
  readonly #options: ReadonlyMap<string, Required<FollowOptions>>;
  readonly #environment: FollowedEnvironment;
  readonly #objects = new Map<string, FollowingObject>();
  readonly #openMax: number;
  readonly #cancelSearch: () => void;
  readonly #connectAll = () => {
    for (const object of this.#objects.values()) object.connectNow();
  };
  /** The objects with waiting calls that are not resumed yet. */
  readonly #toResume = new Set<WaitingObject>();
  /** How many objects are being resumed. */
  #resuming = 0;
  #opening: Promise<unknown> = Promise.resolve();
  #isMakingRoom = false;

  constructor(
    host: ObjectHost,
    environment: HostEnvironment,
    options: ReadonlyMap<string, Required<FollowOptions>>,
  ) {
    const { now, elapsed, afterRealTime, randomUint32, limits } = environment;
    this.#openMax = Math.floor((limits ?? completeLimits()).openFiles / OPEN_FILES_OF_ONE);
    this.#host = host;
    this.#options = options;
    this.#environment = {
      ...{ now, elapsed, afterRealTime, randomUint32 },
      waitingObjects: new WaitingObjects(host),
      inTurn: (open) => this.#inTurn(open),
      resumeLater: (object) => {
        this.#toResume.add(object);
        this.#resume();
      },
    };
    this.classNames = new Set(options.keys());
    this.#cancelSearch = afterRealTime(RESUME_MS, () => void this.#findWaitingObjects());
    scope.addEventListener?.('online', this.#connectAll);
  }

  find(address: ObjectAddress): FollowingObject | undefined {
    const { className, branch, facet } = address;
    const options = className === null ? undefined : this.#options.get(className);
    if (options === undefined || branch !== undefined || facet !== undefined) return undefined;
    const key = addressKey(address);
    let found = this.#objects.get(key);
    if (found === undefined) {
      found = new FollowingObject(this.#host, address, this.#environment, options);
      // An object without a name refuses each use. It is not kept, because it may be found by its name later.
      if (address.id.name !== undefined) this.#objects.set(key, found);
    }
    return found;
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
    for (const object of this.#objects.values()) {
      const sinceMs = object.restingSinceMs;
      if (sinceMs !== null && sinceMs < (oldest?.sinceMs ?? Number.POSITIVE_INFINITY))
        oldest = { object, sinceMs };
    }
    await oldest?.object.makeRoom();
  }

  /** Runs an opening after the earlier ones. If there are too many open replicas, one is closed first. */
  #inTurn<T>(open: () => Promise<T>): Promise<T> {
    const opened = this.#opening.then(async () => {
      const count = [...this.#objects.values()].filter(({ isOpen }) => isOpen).length;
      if (count >= this.#openMax) await this.#closeLeastRecentlyUsed();
      return open();
    });
    this.#opening = opened.catch(() => {});
    return opened;
  }

  async close(): Promise<void> {
    this.#cancelSearch();
    scope.removeEventListener?.('online', this.#connectAll);
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
  async #resumeOne({ className, name }: WaitingObject): Promise<void> {
    if (!this.#options.has(className)) return; // The class does not follow any more.
    try {
      const { ids } = this.#host.classes.get(className);
      await this.#endedOrLate(this.find({ className, id: ids.fromName(name) })?.resume());
    } catch (error) {
      if (isClosing(error)) return;
      console.error(`The calls of ${name} that wait for the server could not be sent:`, error);
    }
  }

  /** Resolves when the work has ended, or after `RESUME_MS_MAX`. */
  #endedOrLate(work: Promise<void> | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = this.#environment.afterRealTime(RESUME_MS_MAX, resolve);
      Promise.resolve(work).then(resolve, reject).finally(cancel);
    });
  }
}

function isClosing(error: unknown): boolean {
  return isStorageError(error) && error.code === 'CONNECTION_CLOSED';
}
