// The objects of a host that follow an object on a server, as their callers see them. Implemented by packages/follow/copy, which
// only an app that follows has.

import type { ObjectAddress } from '../../../src/shared/contract/object-id.ts';
import type { FollowAsk } from '../../../src/shared/wire/follow-asks.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';

/** The result of a call. */
export interface FollowedResult {
  readonly value: unknown;
  /** The number of the call, by which its answer of the server is asked for; null: it is this value. */
  readonly n: number | null;
}

/** An object that follows another one. */
export interface FollowedObject {
  /** Runs a method on the forecast. @throws the method's error, with the number of the call as `FollowedError` */
  call(method: string, args: readonly unknown[]): Promise<FollowedResult>;
  /** Where reads run now; the next forecast is elsewhere. */
  forecast(): Promise<ObjectAddress>;
  /** What a page asks of it, answered with plain data. */
  ask(ask: FollowAsk): Promise<unknown>;
}

export interface Followers {
  /** The classes whose objects follow others. */
  readonly classNames: ReadonlySet<string>;
  /** The object itself, not a branch or a facet of it; undefined if it follows nothing. */
  find(address: ObjectAddress): FollowedObject | undefined;
  /**
   * Where the copy of the present identity is, if each identity has a copy of the object; undefined for all other objects,
   * and for an address that names a copy.
   */
  copyOf(address: ObjectAddress): Promise<ObjectAddress> | undefined;
  /** The instance was made. */
  opened(instance: ObjectInstance): void;
  /** Other objects need files: closes a follower without a use, if there is any. */
  makeRoom(): void;
  /** Lets go of all connections. Nothing is lost. */
  close(): Promise<void>;
}

/** A host without followers. */
export const NO_FOLLOWERS: Followers = {
  classNames: new Set(),
  find: () => undefined,
  copyOf: () => undefined,
  opened: () => {},
  makeRoom: () => {},
  close: async () => {},
};

/** Known by a mark: the followers may be of another build of this package than the host. */
const QUEUED: unique symbol = Symbol.for('ctx-storage.queued') as never;

/** An error of a call that is in the queue nevertheless. */
export class FollowedError {
  readonly error: unknown;
  readonly [QUEUED]: number;

  constructor(error: unknown, n: number) {
    this.error = error;
    this[QUEUED] = n;
  }
}

/** The number of the call that has thrown; undefined: it is not in the queue. */
export function queuedAs(thrown: unknown): number | undefined {
  return (thrown as FollowedError | null | undefined)?.[QUEUED];
}
