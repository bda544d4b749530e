// What an app sees of an object that follows an object on a server.

export interface FollowState {
  /** `stopped`: this copy cannot go on until the app is loaded again; see `reason`. */
  readonly state: 'offline' | 'catchingUp' | 'current' | 'stopped';
  /**
   * Why it is stopped, or offline. PROTOCOL: the server speaks no version of the protocol that this code speaks. OBJECT_TOO_LARGE: a
   * whole copy is needed, and the server makes none of this size (its limit objectBytes). QUEUE_BEHIND: the files
   * were taken back to an earlier state, so numbers of calls were used twice. CLIENT_TAKEN: another identity has used this
   * copy on the server. After the last two, `forget` begins with a new copy. Offline: NOT_AUTHORIZED, `authorize` of the
   * server has refused; TOO_MANY_FOLLOWERS, the object has as many as it may. Both are tried again, every 30 s at last, with a
   * new address of `url`. In any state, OTHER_VERSION: the server's class has another `version` than the option `version` of this
   * copy, so nothing is forecast. null: it is not known, or there is no network.
   */
  readonly reason:
    | 'PROTOCOL'
    | 'OBJECT_TOO_LARGE'
    | 'QUEUE_BEHIND'
    | 'CLIENT_TAKEN'
    | 'NOT_AUTHORIZED'
    | 'TOO_MANY_FOLLOWERS'
    | 'OTHER_VERSION'
    | null;
  /** How much of a whole copy has come, about, from 0 to 1; null: none is being received. */
  readonly progress: number | null;
  /** How many calls the server has not answered. */
  readonly pending: number;
  /** When the server was last heard of with something new, in milliseconds; null: not since the worker started. */
  readonly lastSyncAtMs: number | null;
  /** How many refused calls nobody has dismissed. */
  readonly refused: number;
}

/** A call that the server has refused, after it was forecast. */
export interface FollowRefusal {
  readonly n: number;
  readonly method: string;
  readonly args: readonly unknown[];
  /** The error that the method threw on the server, or of the protocol; null: the call was never answered. */
  readonly reason: unknown;
}

/** The state of an object that follows another one, kept up to date while somebody listens to `change`. */
export interface FollowedStatus extends EventTarget, FollowState {
  /** Asks for the state now. */
  read(): Promise<FollowState>;
  /** The refused calls that nobody has dismissed, the oldest first. */
  refusals(): Promise<readonly FollowRefusal[]>;
  /** The app has shown a refusal: it is forgotten. */
  dismiss(refusal: Pick<FollowRefusal, 'n'>): Promise<void>;
  /** Makes the refused call again, as a new call, and forgets the refusal. */
  retry(refusal: Pick<FollowRefusal, 'n'>): Promise<void>;
  /**
   * Removes the copy with its calls, for a sign-out; the next use begins with a new copy. Returns what was lost: calls that the
   * server has not answered, and refusals.
   */
  forget(): Promise<readonly FollowRefusal[]>;
}

/** Marks a class that `followable` has made, whose objects have followers. A symbol of all builds of this package. */
export const FOLLOWABLE: unique symbol = Symbol.for('ctx-storage.followable') as never;

/** Before anything is known. */
export const UNKNOWN_FOLLOW_STATE: FollowState = {
  state: 'offline',
  reason: null,
  progress: null,
  pending: 0,
  lastSyncAtMs: null,
  refused: 0,
};
