// A live result: its last value, who listens, and whether a source is running for them.
//
// Invariant: the source runs exactly while somebody listens. Results that equal the last one, byte for byte,
// change nothing, so a snapshot keeps its identity. There is one value, no queue: who is slow gets the latest.
//
// Does not know where results come from.

import { DISPOSE } from '../calls/stubs/rpc-promise.ts';
import { compareBytes } from '../contract/key-order.ts';
import type { Live, LiveIdentity, LiveOptions, LiveState } from '../contract/live.ts';
import { LiveIterator } from './live-iterator.ts';

/** The reports of a source. */
export interface LiveSink {
  /** The result of an earlier visit; false if it cannot be read. Without effect after a result or an error. */
  kept?(bytes: Uint8Array): boolean;
  result(bytes: Uint8Array): void;
  /** The read failed; a result may follow. */
  failed(error: unknown): void;
  /** Nothing follows. */
  ended(error: unknown): void;
}

/** Starts to report; the result stops it. */
export type LiveSource = (sink: LiveSink) => () => void;

export interface Watcher {
  changed(): void;
  /** True if it handles the error. */
  failed(error: unknown): boolean;
  /** Somebody disposed of the live value. */
  disposed?(): void;
}

const PENDING = { status: 'pending', value: undefined, error: undefined } as const;

export class LiveValue<T> implements Live<T> {
  readonly identity: LiveIdentity;
  readonly #source: LiveSource;
  readonly #read: (bytes: Uint8Array) => T;
  readonly #asPrivate: (() => Live<T>) | undefined;
  readonly #watchers = new Set<Watcher>();
  #state: LiveState<T> = PENDING;
  /** The last result; it is kept when nobody listens any more. */
  #bytes: Uint8Array | undefined;
  #stop: (() => void) | undefined;
  #end: { readonly error: unknown } | undefined;

  /**
   * `read` makes the value of a result. Without an identity, no other live value is the same. `asPrivate` makes the same
   * one, of which nothing is kept; absent: nothing is kept of this one.
   */
  constructor(
    source: LiveSource,
    read: (bytes: Uint8Array) => T,
    identity?: LiveIdentity,
    asPrivate?: () => Live<T>,
  ) {
    this.#source = source;
    this.#read = read;
    this.#asPrivate = asPrivate;
    this.identity = identity ?? { owner: this, key: '' };
    Object.defineProperty(this, DISPOSE, { value: () => this.dispose(), configurable: true });
  }

  /** Named, as a handle is, so that Vue makes no proxy of it. */
  get [Symbol.toStringTag](): string {
    return 'Live';
  }

  readonly getSnapshot = (): T | undefined => this.#state.value;

  readonly getState = (): LiveState<T> => this.#state;

  readonly subscribe = (
    listener: (value: T | undefined) => void,
    options?: LiveOptions,
  ): (() => void) => {
    // Svelte passes a function as the second argument; it has no `onError`.
    const onError = options?.onError;
    let isCalled = false; // also by a source that reports as it starts
    const call = () => {
      isCalled = true;
      guarded(() => listener(this.#state.value));
    };
    const watcher: Watcher = {
      changed: call,
      failed(error) {
        call();
        if (onError !== undefined) guarded(() => onError(error));
        return onError !== undefined;
      },
    };
    const stop = this.watch(watcher);
    if (isCalled) return stop;
    if (this.#state.status === 'failed') watcher.failed(this.#state.error);
    else call();
    return stop;
  };

  /** Tells the watcher of every change from now on, until the result is called. */
  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher);
    this.#start();
    return () => {
      if (!this.#watchers.delete(watcher) || this.#watchers.size > 0) return;
      this.#stopSource();
    };
  }

  asPrivate(): Live<T> {
    return this.#asPrivate?.() ?? this;
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<T> {
    return new LiveIterator<T>(this);
  }

  declare [Symbol.dispose]: () => void;

  dispose(): void {
    const watchers = [...this.#watchers];
    this.#watchers.clear();
    this.#stopSource();
    for (const watcher of watchers) watcher.disposed?.();
  }

  #start(): void {
    if (this.#stop !== undefined || this.#end !== undefined) return;
    let isStopped = false;
    const unlessStopped =
      <Argument>(report: (argument: Argument) => void) =>
      (argument: Argument) => {
        if (!isStopped) report(argument);
      };
    let stopSource = () => {};
    this.#stop = () => {
      isStopped = true;
      stopSource();
    };
    stopSource = this.#source({
      kept: (bytes) => isStopped || this.#kept(bytes),
      result: unlessStopped((bytes) => this.#result(bytes)),
      failed: unlessStopped((error) => this.#failed(error)),
      ended: unlessStopped((error) => {
        this.#end = { error };
        this.#tellFailure(error); // whoever closed it knows
      }),
    });
    if (isStopped) stopSource();
  }

  #stopSource(): void {
    const stop = this.#stop;
    this.#stop = undefined;
    stop?.();
    if (this.#state.status !== 'failed' || this.#end !== undefined) return;
    // Whoever listens next starts a new read, which has not failed.
    const { value } = this.#state;
    this.#state =
      this.#bytes === undefined
        ? PENDING
        : { status: 'ready', value: value as T, error: undefined };
  }

  #kept(bytes: Uint8Array): boolean {
    if (this.#state.status !== 'pending') return true;
    try {
      this.#state = { status: 'stale', value: this.#read(bytes), error: undefined };
    } catch {
      return false;
    }
    this.#bytes = bytes;
    this.#tellChange();
    return true;
  }

  #tellChange(): void {
    for (const watcher of [...this.#watchers]) watcher.changed();
  }

  #result(bytes: Uint8Array): void {
    const isSame = this.#bytes !== undefined && compareBytes(this.#bytes, bytes) === 0;
    if (isSame && this.#state.status === 'ready') return;
    try {
      const value = isSame ? (this.#state.value as T) : this.#read(bytes);
      this.#state = { status: 'ready', value, error: undefined };
      this.#bytes = bytes;
    } catch (error) {
      this.#failed(error);
      return;
    }
    this.#tellChange();
  }

  #failed(error: unknown): void {
    if (!this.#tellFailure(error)) void Promise.reject(error);
  }

  /** True if somebody handles the error. */
  #tellFailure(error: unknown): boolean {
    this.#state = { status: 'failed', value: this.#state.value, error };
    let isHandled = false;
    for (const watcher of [...this.#watchers]) isHandled = watcher.failed(error) || isHandled;
    return isHandled;
  }
}

/** Errors of a listener are reported, and other listeners are called all the same. */
function guarded(call: () => void): void {
  try {
    call();
  } catch (error) {
    void Promise.reject(error);
  }
}
