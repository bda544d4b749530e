// Defines the state of an object that follows an object on a server, for apps.

export interface FollowState {
  /**
   * `outdated`: as `current`, but nothing is forecast, because the server's class has another version. `stopped`: this
   * copy cannot continue until the app is loaded again; see `reason`.
   */
  readonly state: 'offline' | 'catchingUp' | 'current' | 'outdated' | 'stopped';
  /**
   * Why the copy is stopped, offline or outdated; null if no reason is known or there is no network.
   *
   * Stopped: PROTOCOL if the server speaks no version of the protocol that this code speaks. OBJECT_TOO_LARGE if a
   * whole copy is needed and the server makes none of this size (its limit `objectBytes`). QUEUE_BEHIND if the files
   * were copied, or restored to an earlier state, so numbers of calls were used twice. CLIENT_TAKEN if another identity has
   * used this copy on the server. CLIENT_REMOVED if the server has removed what it knew of this copy (its limit
   * `clientsPerIdentity`). After the last three, `forget` begins with a new copy.
   *
   * Offline: NOT_AUTHORIZED if `authorize` of the server has refused, or what it gave has expired. ORIGIN_REFUSED if the
   * option `origins` of the server does not allow the origin of this page. TOO_MANY_FOLLOWERS if the object, or this
   * identity there, has as many connections as it may. All are tried again with a new address of `url`, finally every 30 s.
   *
   * Outdated, and then also offline or catching up: OTHER_VERSION if the server's class has another `version` than the class
   * here, so nothing is forecast.
   */
  readonly reason:
    | 'PROTOCOL'
    | 'OBJECT_TOO_LARGE'
    | 'QUEUE_BEHIND'
    | 'CLIENT_TAKEN'
    | 'CLIENT_REMOVED'
    | 'NOT_AUTHORIZED'
    | 'ORIGIN_REFUSED'
    | 'TOO_MANY_FOLLOWERS'
    | 'OTHER_VERSION'
    | null;
  /** The approximate fraction of a whole copy that was received, from 0 to 1; null if no copy is being received. */
  readonly progress: number | null;
  /** The number of calls that the server has not answered. */
  readonly pending: number;
  /** The time of the last update from the server, in milliseconds; null if no update came since the worker started. */
  readonly lastSyncAtMs: number | null;
  /** The number of refused calls that the app has not dismissed. */
  readonly refused: number;
}

/** A call that the server has refused after its effect was already shown locally. */
export interface FollowRefusal {
  readonly n: number;
  readonly method: string;
  readonly args: readonly unknown[];
  /**
   * The error that the method threw on the server, or an error of the protocol; null if the call was never answered.
   */
  readonly reason: unknown;
}

/** The state of an object that follows another object. The state is kept up to date while `change` has a listener. */
export interface FollowedStatus extends EventTarget, FollowState {
  /** Reads the current state. */
  read(): Promise<FollowState>;
  /** Lists the refused calls that were not dismissed, the oldest first. */
  refusals(): Promise<readonly FollowRefusal[]>;
  /** Removes a refusal from the list, once the app has shown it. */
  dismiss(refusal: Pick<FollowRefusal, 'n'>): Promise<void>;
  /** Repeats the refused call as a new call, and removes the refusal. */
  retry(refusal: Pick<FollowRefusal, 'n'>): Promise<void>;
  /**
   * Removes the copy with its calls, for a sign-out; the next use begins with a new copy. Returns what was lost: calls that the
   * server has not answered, and refusals.
   */
  forget(): Promise<readonly FollowRefusal[]>;
}

/**
 * Marks a class that `followable` has made, whose objects can be followed. All builds of this package share the symbol.
 */
export const FOLLOWABLE: unique symbol = Symbol.for('ctx-storage.followable') as never;

/** The initial state, until the object's first answer arrives. */
export const UNKNOWN_FOLLOW_STATE: FollowState = {
  state: 'offline',
  reason: null,
  progress: null,
  pending: 0,
  lastSyncAtMs: null,
  refused: 0,
};
