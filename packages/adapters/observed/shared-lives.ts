// Shares live values between components: all components with the same read use one live value.
//
// Invariant: a live value runs while a component shows it, and ends in the next task. So it is not restarted by an
// effect that is undone and made again within a task, as StrictMode does. It also runs for a component that waits for
// the first value, until that component shows it, throws its error, or has not come back for a while.
//
// This module does not know the framework of the components.

import type { Live, LiveState } from '@ctx-storage/core/storage';

/** Runs the task after the delay. The returned function cancels it. */
type RunAfter = (delayMs: number, task: () => void) => () => void;

/**
 * How long a first value waits for the component that asked for it. A suspended component is mounted only after all its
 * siblings are ready, and perhaps never.
 */
const UNCLAIMED_MS = 30_000;

/**
 * How long a read stays after a component threw its error. The framework may render the component several times, in
 * several tasks, before it shows the error, and must get the same error each time.
 */
const THROWN_ERROR_MS = 250;

/**
 * The number of first values of one handle that may arrive unread. Beyond it, a component is assumed to ask for another
 * query in each render: it suspends for a value, renders again, and suspends for the value of the next query.
 */
const UNREAD_VALUES_MAX = 10;

/** A running live value and its users. */
interface SharedLive {
  readonly live: Live<unknown>;
  users: number;
  /** True once a component has read a value or an error. */
  wasRead: boolean;
  /** The wait of components for the first value or error. */
  first: FirstValueWait | null;
}

interface FirstValueWait {
  readonly arrived: Promise<void>;
  readonly hasArrived: () => boolean;
  /** Ends the wait, because a component shows the live value. */
  readonly claim: () => void;
  /** Ends the wait soon, because a component has thrown the error and will not show it. */
  readonly thrown: () => void;
}

export class SharedLives {
  readonly #runAfter: RunAfter;
  readonly #readsOfOwner = new WeakMap<object, Map<string, SharedLive>>();

  constructor(after: RunAfter) {
    this.#runAfter = after;
  }

  /** Returns the state of the shared live value with this read. */
  state<T>(live: Live<T>): LiveState<T> {
    const shared = this.#find(live);
    const state = ((shared?.live ?? live) as Live<T>).getState();
    if (shared !== undefined && state.status !== 'pending') shared.wasRead = true;
    return state;
  }

  /** Calls the listener after each change, until the returned function is called. */
  subscribe(live: Live<unknown>, listener: () => void): () => void {
    const shared = this.#findOrOpen(live);
    let isListening = true;
    const leave = this.#addUser(shared, () => {
      if (isListening) listener();
    });
    shared.first?.claim();
    return () => {
      isListening = false;
      this.#runAfter(0, leave);
    };
  }

  /**
   * Resolves once there is a value or an error. All callers get the same promise. Returns null, and begins no read, if
   * the read differs in each render.
   */
  first(live: Live<unknown>): Promise<void> | null {
    if (this.#find(live) === undefined && this.#endUnreadReads(live)) return null;
    const shared = this.#findOrOpen(live);
    shared.first ??= this.#waitFor(shared);
    return shared.first.arrived;
  }

  /**
   * Ends the read of an error that a component has thrown. A component that is rendered again later starts a new read.
   */
  thrown(live: Live<unknown>): void {
    this.#find(live)?.first?.thrown();
  }

  /** Ends the reads whose values no component has read, if there are many. Returns whether it did. */
  #endUnreadReads({ identity: { owner } }: Live<unknown>): boolean {
    const reads = [...(this.#readsOfOwner.get(owner)?.values() ?? [])];
    const unread = reads.filter(({ wasRead, first }) => !wasRead && first?.hasArrived() === true);
    if (unread.length < UNREAD_VALUES_MAX) return false;
    for (const { first } of unread) first!.thrown();
    return true;
  }

  #waitFor(shared: SharedLive): FirstValueWait {
    const { promise: arrived, resolve } = withResolvers();
    let isClaimed = false;
    let isThrown = false;
    let cancelEnd: (() => void) | undefined;
    const listen = () => {
      if (cancelEnd !== undefined || shared.live.getState().status === 'pending') return;
      cancelEnd = this.#runAfter(isClaimed ? 0 : UNCLAIMED_MS, () => leave());
      resolve();
    };
    const leave = this.#addUser(shared, listen);
    return {
      arrived,
      hasArrived: () => cancelEnd !== undefined,
      claim: () => {
        isClaimed = true;
        // Until the first value is there, the read goes on, because waiting components must get the value even if
        // the component that shows it leaves.
        if (cancelEnd === undefined) return;
        cancelEnd();
        leave();
      },
      thrown: () => {
        if (cancelEnd === undefined || isThrown) return;
        isThrown = true;
        cancelEnd();
        cancelEnd = this.#runAfter(THROWN_ERROR_MS, leave);
      },
    };
  }

  /** Runs the live value for one more user. The returned function ends that; further calls of it have no effect. */
  #addUser(shared: SharedLive, listener: () => void): () => void {
    shared.users += 1;
    const stop = shared.live.subscribe(listener, { onError: listener });
    let isUser = true;
    return () => {
      if (!isUser) return;
      isUser = false;
      shared.users -= 1;
      if (shared.users === 0) this.#forget(shared.live);
      stop();
    };
  }

  #findOrOpen(live: Live<unknown>): SharedLive {
    const existing = this.#find(live);
    if (existing !== undefined) return existing;
    const { owner, key } = live.identity;
    const shared: SharedLive = { live, users: 0, wasRead: false, first: null };
    const reads = this.#readsOfOwner.get(owner) ?? new Map<string, SharedLive>();
    this.#readsOfOwner.set(owner, reads.set(key, shared));
    return shared;
  }

  #find({ identity: { owner, key } }: Live<unknown>): SharedLive | undefined {
    return this.#readsOfOwner.get(owner)?.get(key);
  }

  #forget({ identity: { owner, key } }: Live<unknown>): void {
    this.#readsOfOwner.get(owner)?.delete(key);
  }
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((resolved) => {
    resolve = resolved;
  });
  return { promise, resolve };
}
