// Declares the types of live reads, whose result follows the stored data, for both pages and the worker.

import type { Binding } from './bindings.ts';
import type { KeyRange } from './key-range.ts';

/** The state of a live read. It is the same object until something changes. */
export type LiveState<T> =
  /** The read has no result yet. */
  | { readonly status: 'pending'; readonly value: undefined; readonly error: undefined }
  | { readonly status: 'ready'; readonly value: T; readonly error: undefined }
  /**
   * The value is the result of an earlier visit, which was kept on this device, so the data may have changed since.
   * Only a handle that was opened `early` has this state, until the first result.
   */
  | { readonly status: 'stale'; readonly value: T; readonly error: undefined }
  /** The last attempt failed. The value is the last good one, if there was one. */
  | { readonly status: 'failed'; readonly value: T | undefined; readonly error: unknown };

/** Options of `subscribe`. */
export interface LiveOptions {
  /**
   * Called when the live read fails. The read stays active: once the cause is gone, the next value arrives. If there is
   * no `onError`, an error is reported as an unhandled rejection, except the end of a handle that was closed.
   */
  onError?: (error: unknown) => void;
}

/**
 * Identifies the read of a live value, for caches: live values with the same owner and key give the same results. A
 * live value costs nothing until it has a listener, so code may create it again, and a cache recognizes it by this
 * identity. Inside an object, each live value has an identity of its own.
 */
export interface LiveIdentity {
  /** An object that represents the handle or connection that the live value belongs to. */
  readonly owner: object;
  /** A text that differs for different reads. */
  readonly key: string;
}

/**
 * The result of a read, which is read again after every commit that changes it.
 *
 * The read is active while it has a listener or an iterator. A slow consumer misses values in between, but never the
 * last value. An iterator throws the error of a read that failed, which ends only that iterator.
 *
 * `subscribe` and `getSnapshot` fit React's `useSyncExternalStore` and the store contract of Svelte; they may be passed
 * on without their object.
 */
export interface Live<T> extends AsyncIterable<T> {
  /**
   * Calls the listener at once with the last value (undefined before the first value), then with each later value, and
   * when the read fails. Returns the function that removes the listener.
   */
  readonly subscribe: (
    listener: (value: T | undefined) => void,
    options?: LiveOptions,
  ) => () => void;
  /** Returns the last value, which is the same object until it changes; undefined before the first result. */
  readonly getSnapshot: () => T | undefined;
  /** Returns the state of the read, which is the same object until it changes. */
  readonly getState: () => LiveState<T>;
  readonly identity: LiveIdentity;
  /**
   * Returns a live value of this read whose results are never stored on this device for the next visit. A result that
   * is already stored is deleted.
   */
  asPrivate(): Live<T>;
  /** Iterates over the last value and each later one, but not over a value that is `stale`. */
  [Symbol.asyncIterator](): AsyncIterableIterator<T>;
  /** Ends the live value for all its listeners and iterators. */
  [Symbol.dispose](): void;
}

/** The keys that `storage.live` follows: one, several, or a range as in `list`. */
export type LiveKeys =
  | { readonly key: string }
  | { readonly keys: readonly string[] }
  | {
      readonly start?: string;
      readonly startAfter?: string;
      readonly end?: string;
      readonly prefix?: string;
      readonly reverse?: boolean;
      readonly limit?: number;
    };

/** A stub whose methods return live values: each runs again when the data that it has read changes. */
export type LiveStub<Stub extends object> = {
  readonly [Name in keyof Stub as Stub[Name] extends (...args: never[]) => PromiseLike<unknown>
    ? Name extends 'fetch' | 'dup'
      ? never
      : Name
    : never]: Stub[Name] extends (...args: infer Parameters) => PromiseLike<infer Result>
    ? (...args: Parameters) => Live<Awaited<Result>>
    : never;
};

/** A read of an object's storage, as data. */
export type StorageRead =
  | { readonly op: 'get'; readonly keys: readonly string[] }
  | { readonly op: 'list'; readonly range: KeyRange }
  | {
      readonly op: 'query';
      readonly query: string;
      readonly bindings: readonly Binding[];
    };
