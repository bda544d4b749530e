// Declares how a host reaches those of its objects that follow an object on a server.
//
// packages/follow/copy implements these interfaces. Only an app that uses `ctx-storage/follow` loads it; every other
// host has NO_FOLLOWERS.

import type { ObjectAddress } from '../../../src/shared/contract/object-id.ts';
import type { FollowAsk } from '../../../src/shared/wire/follow-asks.ts';

/** The result of a call of a following object. */
export interface FollowedResult {
  readonly value: unknown;
  /** The number with which the page asks for the server's answer to the call; null if `value` is the server's answer. */
  readonly n: number | null;
}

/** An object that follows an object on a server. */
export interface FollowedObject {
  /**
   * Runs a method of the object on its forecast, and queues the call for the server.
   *
   * @throws the method's error; wrapped in a `FollowedError` if the call is in the queue nevertheless
   */
  call(method: string, args: readonly unknown[]): Promise<FollowedResult>;
  /** Returns the address of the current forecast, where reads run. Each new forecast has another address. */
  forecast(): Promise<ObjectAddress>;
  /** Answers a page's request with plain data. */
  ask(ask: FollowAsk): Promise<unknown>;
}

/** The following objects of one host. */
export interface Followers {
  /** The names of the classes whose objects follow an object on a server. */
  readonly classNames: ReadonlySet<string>;
  /** Returns the following object at an address; undefined for a branch, a facet, and an object that follows nothing. */
  find(address: ObjectAddress): FollowedObject | undefined;
  /**
   * Returns the address of the copy of the present identity, if each identity has a copy of the object; undefined for all
   * other objects, and for an address that names a copy.
   */
  copyOf?(address: ObjectAddress): Promise<ObjectAddress> | undefined;
  /** Closes the files of a following object that nobody uses, if there is one, because other objects need files. */
  makeRoom(): void;
  /** Closes all connections and copies. Queued calls stay stored. */
  close(): Promise<void>;
}

/** The followers of a host without following objects. */
export const NO_FOLLOWERS: Followers = {
  classNames: new Set(),
  find: () => undefined,
  makeRoom: () => {},
  close: async () => {},
};

/** The property that marks a `FollowedError`. `instanceof` would fail if the host and its followers are of two builds. */
const QUEUED: unique symbol = Symbol.for('ctx-storage.queued') as never;

/** Wraps the error of a call that is in the queue although its method threw. */
export class FollowedError {
  readonly error: unknown;
  readonly [QUEUED]: number;

  constructor(error: unknown, n: number) {
    this.error = error;
    this[QUEUED] = n;
  }
}

/** Returns the number of the queued call that threw this; undefined if no queued call did. */
export function queuedAs(thrown: unknown): number | undefined {
  return (thrown as FollowedError | null | undefined)?.[QUEUED];
}
