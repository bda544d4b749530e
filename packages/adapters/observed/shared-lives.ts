// Live values that components share: one for all components that read the same.
//
// Invariant: a live value runs while a component shows it, and not a task longer: an effect that is undone and
// made again within a task, as StrictMode does, does not restart it. It also runs for a component that waits
// for the first value, until that component shows it, or has not come for a while, or has thrown an error.
//
// Does not know the framework of the components.

import type { Live, LiveState } from '@ctx-storage/core/storage';

/** Runs the task after the delay; the result cancels it. */
type After = (delayMs: number, task: () => void) => () => void;

/**
 * How long a value that has arrived waits for the component that asked for it. A component that suspends is not
 * mounted before all its siblings are ready, and perhaps never.
 */
const UNCLAIMED_MS = 30_000;

/**
 * How long a failure stays that was thrown at a component: the framework may render it several times, in several tasks,
 * before it shows the failure.
 */
const THROWN_MS = 250;

/**
 * After so many first values of one handle that no component has read, a component is taken to ask for another query at each
 * render: it suspends for a value, renders again, and suspends for the value of the next query.
 */
const UNSEEN_MAX = 10;

/** A running live value. */
interface Shared {
  readonly live: Live<unknown>;
  users: number;
  /** A component has looked at a value or an error. */
  isSeen: boolean;
  /** For components that wait for the first value or error. */
  first: FirstWait | null;
}

interface FirstWait {
  readonly arrived: Promise<void>;
  readonly hasArrived: () => boolean;
  /** A component shows it. */
  readonly claim: () => void;
  /** A component has thrown the error, and will not show it. */
  readonly thrown: () => void;
}

export class SharedLives {
  readonly #after: After;
  readonly #ofOwner = new WeakMap<object, Map<string, Shared>>();

  constructor(after: After) {
    this.#after = after;
  }

  /** How the read of this live value is doing. */
  state<T>(live: Live<T>): LiveState<T> {
    const shared = this.#find(live);
    const state = ((shared?.live ?? live) as Live<T>).getState();
    if (shared !== undefined && state.status !== 'pending') shared.isSeen = true;
    return state;
  }

  /** Calls the listener after each change, until the result is called. */
  subscribe(live: Live<unknown>, listener: () => void): () => void {
    const shared = this.#findOrOpen(live);
    let isListening = true;
    const leave = this.#join(shared, () => {
      if (isListening) listener();
    });
    shared.first?.claim();
    return () => {
      isListening = false;
      this.#after(0, leave);
    };
  }

  /**
   * Resolves when there is a value or an error: the same promise for all who ask. Null: the read differs in each render, and
   * no more is begun.
   */
  first(live: Live<unknown>): Promise<void> | null {
    if (this.#find(live) === undefined && this.#endUnseen(live)) return null;
    const shared = this.#findOrOpen(live);
    shared.first ??= this.#waitFor(shared);
    return shared.first.arrived;
  }

  /** The error was thrown at a component: rendered again later, it starts a new read. */
  thrown(live: Live<unknown>): void {
    this.#find(live)?.first?.thrown();
  }

  /** Ends reads that arrived and that nobody has looked at, if there are many. */
  #endUnseen({ identity: { owner } }: Live<unknown>): boolean {
    const reads = [...(this.#ofOwner.get(owner)?.values() ?? [])];
    const unseen = reads.filter(({ isSeen, first }) => !isSeen && first?.hasArrived() === true);
    if (unseen.length < UNSEEN_MAX) return false;
    for (const { first } of unseen) first!.thrown();
    return true;
  }

  #waitFor(shared: Shared): FirstWait {
    const { promise: arrived, resolve } = withResolvers();
    let isClaimed = false;
    let isThrown = false;
    let cancelEnd: (() => void) | undefined;
    const listen = () => {
      if (cancelEnd !== undefined || shared.live.getState().status === 'pending') return;
      cancelEnd = this.#after(isClaimed ? 0 : UNCLAIMED_MS, () => leave());
      resolve();
    };
    const leave = this.#join(shared, listen);
    return {
      arrived,
      hasArrived: () => cancelEnd !== undefined,
      claim: () => {
        isClaimed = true;
        // Before that, it stays: waiting components must get the value, even if the components that
        // show it leave.
        if (cancelEnd === undefined) return;
        cancelEnd();
        leave();
      },
      thrown: () => {
        if (cancelEnd === undefined || isThrown) return;
        isThrown = true;
        cancelEnd();
        cancelEnd = this.#after(THROWN_MS, leave);
      },
    };
  }

  /** Runs the live value for one more user; the result is called once, or more often without effect. */
  #join(shared: Shared, listener: () => void): () => void {
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

  #findOrOpen(live: Live<unknown>): Shared {
    const known = this.#find(live);
    if (known !== undefined) return known;
    const { owner, key } = live.identity;
    const shared: Shared = { live, users: 0, isSeen: false, first: null };
    const reads = this.#ofOwner.get(owner) ?? new Map<string, Shared>();
    this.#ofOwner.set(owner, reads.set(key, shared));
    return shared;
  }

  #find({ identity: { owner, key } }: Live<unknown>): Shared | undefined {
    return this.#ofOwner.get(owner)?.get(key);
  }

  #forget({ identity: { owner, key } }: Live<unknown>): void {
    this.#ofOwner.get(owner)?.delete(key);
  }
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((resolved) => {
    resolve = resolved;
  });
  return { promise, resolve };
}
