// Tells the code of a followed class whose call it runs: `ctx.caller`.
//
// AsyncLocalStorage follows a call through everything that it awaits. Node has it, and so has workerd with the flag
// `nodejs_compat`; with the flag `nodejs_als`, the app imports and passes it, because a bundle for every workerd
// cannot import it. In other runtimes the caller is certain only in the synchronous part of a call, and in the
// constructor, which has no caller: anywhere else `caller` throws.
//
// Invariant: `caller` is never the identity of another call, nor of another object's call.

import { storageError } from '@ctx-storage/core/errors';

/** A call of a follower that is running. */
interface RunningCall {
  readonly object: Caller;
  readonly identity: string;
}

/** The members of AsyncLocalStorage that this file uses. */
export interface CallStore {
  getStore(): RunningCall | undefined;
  run<T>(call: RunningCall, task: () => T): T;
}

export type CallStoreClass = new () => CallStore;

/** The members of the global scope that this file uses. */
interface Scope {
  readonly process?: {
    getBuiltinModule?(name: string): { readonly AsyncLocalStorage: CallStoreClass } | undefined;
  };
}

/** One store for all objects, because older versions of Node spend time on each store with each promise. */
const sharedStore = storeOf(
  (globalThis as Scope).process?.getBuiltinModule?.('node:async_hooks')?.AsyncLocalStorage,
);

/** Returns the store of a followable class. The app may have passed the class of the store, AsyncLocalStorage. */
export function callStoreOf(Store: CallStoreClass | undefined): CallStore | null {
  return storeOf(Store) ?? sharedStore;
}

function storeOf(Store: CallStoreClass | undefined): CallStore | null {
  return Store === undefined ? null : new Store();
}

export class Caller {
  readonly #store: CallStore | null;
  /** The followed call whose code before its first `await` is running. */
  #beginning: RunningCall | null = null;
  #isConstructed = false;

  constructor(store: CallStore | null) {
    this.#store = store;
  }

  /** Must be called when the constructor of the class has run: from then on, code may run for a follower. */
  endConstruction(): void {
    this.#isConstructed = true;
  }

  /** Runs the method of a call for this identity, with the asynchronous work that the method begins. */
  run<T>(identity: string, method: () => T): T {
    const call: RunningCall = { object: this, identity };
    const outer = this.#beginning;
    this.#beginning = call;
    try {
      return this.#store === null ? method() : this.#store.run(call, method);
    } finally {
      this.#beginning = outer;
    }
  }

  /**
   * The identity of the running call; undefined for code that runs for no follower.
   *
   * @throws FOLLOW_UNSUPPORTED where this runtime cannot tell whose call runs
   */
  get identity(): string | undefined {
    const call = this.#store === null ? this.#beginning : this.#store.getStore();
    if (call?.object === this) return call.identity;
    if (this.#store !== null || !this.#isConstructed) return undefined;
    throw storageError(
      'FOLLOW_UNSUPPORTED',
      'ctx.caller: this runtime tells it only in the synchronous part of a call of a follower. Read it there, before ' +
        'the first await, or add "nodejs_compat" to compatibility_flags. With "nodejs_als" alone, pass AsyncLocalStorage ' +
        'of node:async_hooks as an option of followable().',
    );
  }
}
