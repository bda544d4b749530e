// Implements a live result: holds the latest value and the subscribers, and runs a source while there are subscribers.
//
// Invariant: the source runs exactly while there are subscribers. A result with the same bytes as the last one changes
// nothing, so that a snapshot stays the same object. There is no queue: a slow subscriber gets only the latest value.
//
// This file does not know where results come from.

import { DISPOSE } from '../calls/stubs/rpc-promise.ts';
import { compareBytes } from '../contract/key-order.ts';
import type { Live, LiveIdentity, LiveOptions, LiveState } from '../contract/live.ts';
import { LiveIterator } from './live-iterator.ts';

/** Receives the reports of a source. */
export interface LiveSink {
  /**
   * Passes the stored result of an earlier visit, which is ignored after a result or error. Returns false if the bytes
   * cannot be decoded.
   */
  kept?(bytes: Uint8Array): boolean;
  result(bytes: Uint8Array): void;
  /** Reports that the read failed. A result may still follow. */
  failed(error: unknown): void;
  /** Reports that the read has ended. Nothing follows. */
  ended(error: unknown): void;
}

/** Starts reporting to the sink. Call the result to stop. */
export type LiveSource = (sink: LiveSink) => () => void;

export interface Watcher {
  changed(): void;
  /** Reports an error. Returns true if the watcher handles it. */
  failed(error: unknown): boolean;
  /** Reports that the live value was disposed of. */
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
  /** The last result. The value keeps it when there are no subscribers. */
  #bytes: Uint8Array | undefined;
  #stop: (() => void) | undefined;
  #end: { readonly error: unknown } | undefined;

  /**
   * `read` decodes a result. Without an identity, the live value equals no other live value. `asPrivate` makes an equal
   * live value whose results are not stored for the next visit; it is absent if this live value's results are not
   * stored either.
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

  /** A tag of its own, as handles have, so that Vue does not wrap the live value in a proxy. */
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
    let isCalled = false; // A source may report a value while it starts.
    const call = () => {
      isCalled = true;
      runListener(() => listener(this.#state.value));
    };
    const watcher: Watcher = {
      changed: call,
      failed(error) {
        call();
        if (onError !== undefined) runListener(() => onError(error));
        return onError !== undefined;
      },
    };
    const stop = this.watch(watcher);
    if (isCalled) return stop;
    if (this.#state.status === 'failed') watcher.failed(this.#state.error);
    else call();
    return stop;
  };

  /** Notifies the watcher of every change from now on. Call the result to stop. */
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
      kept: (bytes) => isStopped || this.#showStored(bytes),
      result: unlessStopped((bytes) => this.#result(bytes)),
      failed: unlessStopped((error) => this.#failed(error)),
      ended: unlessStopped((error) => {
        this.#end = { error };
        this.#notifyFailure(error); // An unhandled error is dropped here; the code that ended the read knows it.
      }),
    });
    if (isStopped) stopSource();
  }

  #stopSource(): void {
    const stop = this.#stop;
    this.#stop = undefined;
    stop?.();
    if (this.#state.status !== 'failed' || this.#end !== undefined) return;
    // The next subscriber starts a new read, so the old error is cleared.
    const { value } = this.#state;
    this.#state =
      this.#bytes === undefined
        ? PENDING
        : { status: 'ready', value: value as T, error: undefined };
  }

  #showStored(bytes: Uint8Array): boolean {
    if (this.#state.status !== 'pending') return true;
    try {
      this.#state = { status: 'stale', value: this.#read(bytes), error: undefined };
    } catch {
      return false;
    }
    this.#bytes = bytes;
    this.#notifyChange();
    return true;
  }

  #notifyChange(): void {
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
    this.#notifyChange();
  }

  #failed(error: unknown): void {
    if (!this.#notifyFailure(error)) void Promise.reject(error);
  }

  /** Notifies all watchers of the error. Returns true if one of them handles it. */
  #notifyFailure(error: unknown): boolean {
    this.#state = { status: 'failed', value: this.#state.value, error };
    let isHandled = false;
    for (const watcher of [...this.#watchers]) isHandled = watcher.failed(error) || isHandled;
    return isHandled;
  }
}

/** Runs a listener. An error is reported as an unhandled rejection, so that other listeners are still called. */
function runListener(call: () => void): void {
  try {
    call();
  } catch (error) {
    void Promise.reject(error);
  }
}
