// `ctx-storage/worker/follow`: classes whose objects follow an object on a server.
//
// Invariant: calls that an earlier worker has left are sent after a start, also of objects that nobody uses.

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

/** After the start, until calls that wait are looked for: a page's first reads come first. */
const RESUME_MS = 2000;
/** Base, queue and parts of a snapshot have up to three files each. */
const OPEN_FILES_OF_ONE = 10;
/** Objects that are resumed at once, and how long one may take until the next begins (our choices). */
const RESUMED_MAX = 8;
const RESUME_MS_MAX = 30_000;

/** A browser tells workers, too, that its network has come back; Node does not. */
const scope = globalThis as Partial<Pick<EventTarget, 'addEventListener' | 'removeEventListener'>>;

/** By name of the class: the address of each object, or more options. */
export type FollowTable = Readonly<Record<string, FollowOptions | FollowOptions['url']>>;

/**
 * The option `follow` of `serve` and `createObjects`: objects of these classes follow the objects of the same names on a
 * server, whose class is made by `followable`. Each call runs here at once, on a forecast, and is durable here; the server
 * runs it too, and its result replaces the forecast.
 *
 * Objects are followed by name, and all objects of the class follow. Their arguments and results are plain data.
 *
 * @throws INVALID_ARGUMENT
 */
export function follow(table: FollowTable): StartFollowing {
  const options = new Map(
    Object.entries(table).map(([name, given]) => [name, checked(name, given)]),
  );
  return (host, environment) => new HostFollowers(host, environment, options);
}

function checked(name: string, given: FollowTable[string]): Required<FollowOptions> {
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
  readonly #cancel: () => void;
  readonly #online = () => {
    for (const object of this.#objects.values()) object.online();
  };
  /** Objects with calls that wait, which nobody has resumed. */
  readonly #left = new Set<WaitingObject>();
  /** How many are being resumed. */
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
      left: (object) => {
        this.#left.add(object);
        this.#resume();
      },
    };
    this.classNames = new Set(options.keys());
    this.#cancel = afterRealTime(RESUME_MS, () => void this.#findLeft());
    scope.addEventListener?.('online', this.#online);
  }

  find(address: ObjectAddress): FollowingObject | undefined {
    const { className, branch, facet } = address;
    const options = className === null ? undefined : this.#options.get(className);
    if (options === undefined || branch !== undefined || facet !== undefined) return undefined;
    const key = addressKey(address);
    let found = this.#objects.get(key);
    if (found === undefined) {
      found = new FollowingObject(this.#host, address, this.#environment, options);
      // Without a name it refuses each use, and the same object may be used by its name later.
      if (address.id.name !== undefined) this.#objects.set(key, found);
    }
    return found;
  }

  makeRoom(): void {
    if (this.#isMakingRoom) return;
    this.#isMakingRoom = true;
    void this.#closeOne().finally(() => {
      this.#isMakingRoom = false;
    });
  }

  /** Of the objects that nothing uses, closes the one that was used least recently. */
  async #closeOne(): Promise<void> {
    let oldest: { readonly object: FollowingObject; readonly sinceMs: number } | undefined;
    for (const object of this.#objects.values()) {
      const sinceMs = object.restingSinceMs;
      if (sinceMs !== null && sinceMs < (oldest?.sinceMs ?? Number.POSITIVE_INFINITY))
        oldest = { object, sinceMs };
    }
    await oldest?.object.makeRoom();
  }

  #inTurn<T>(open: () => Promise<T>): Promise<T> {
    const opened = this.#opening.then(async () => {
      const count = [...this.#objects.values()].filter(({ isOpen }) => isOpen).length;
      if (count >= this.#openMax) await this.#closeOne();
      return open();
    });
    this.#opening = opened.catch(() => {});
    return opened;
  }

  async close(): Promise<void> {
    this.#cancel();
    scope.removeEventListener?.('online', this.#online);
    this.#left.clear();
    await Promise.all([...this.#objects.values()].map((object) => object.close()));
  }

  /** Finds the calls that an earlier worker has left. */
  async #findLeft(): Promise<void> {
    try {
      for (const object of await this.#environment.waitingObjects.list()) this.#left.add(object);
    } catch (error) {
      if (!isClosing(error)) console.error('Calls that wait could not be looked for:', error);
    }
    this.#resume();
  }

  #resume(): void {
    for (const object of this.#left) {
      if (this.#resuming === RESUMED_MAX) return;
      this.#left.delete(object);
      this.#resuming += 1;
      void this.#resumeOne(object).then(() => {
        this.#resuming -= 1;
        this.#resume();
      });
    }
  }

  /** Sends its calls. If its server does not answer for long, the next object has its turn. */
  async #resumeOne({ className, name }: WaitingObject): Promise<void> {
    if (!this.#options.has(className)) return; // it does not follow any more
    try {
      const { ids } = this.#host.classes.get(className);
      await this.#inTime(this.find({ className, id: ids.fromName(name) })?.resume());
    } catch (error) {
      if (isClosing(error)) return;
      console.error(`The calls of ${name} that wait for the server could not be sent:`, error);
    }
  }

  /** Resolves when the work has ended, or has taken too long. */
  #inTime(work: Promise<void> | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = this.#environment.afterRealTime(RESUME_MS_MAX, resolve);
      Promise.resolve(work).then(resolve, reject).finally(cancel);
    });
  }
}

function isClosing(error: unknown): boolean {
  return isStorageError(error) && error.code === 'CONNECTION_CLOSED';
}
