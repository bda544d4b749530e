// Live reads as types: a result that follows the stored data. The same on a page and in the worker.

import type { SqlBinding } from './arguments.ts';
import type { KeyRange } from './key-range.ts';

/** How a live read is doing. The same object until something changes. */
export type LiveState<T> =
  /** No result yet. */
  | { readonly status: 'pending'; readonly value: undefined; readonly error: undefined }
  | { readonly status: 'ready'; readonly value: T; readonly error: undefined }
  /**
   * The result of an earlier visit, which was kept on this device: something may have changed since. Only of a handle
   * that was opened `early`, and until the first result.
   */
  | { readonly status: 'stale'; readonly value: T; readonly error: undefined }
  /** The last attempt failed; the value is the last good one, if there was one. */
  | { readonly status: 'failed'; readonly value: T | undefined; readonly error: unknown };

/** Options of `subscribe`. */
export interface LiveOptions {
  /**
   * Called when the live read fails. It stays active: when the cause is gone, the next value arrives. An error
   * that nobody listens for is reported as an unhandled rejection, except the end of a handle that was closed.
   */
  onError?: (error: unknown) => void;
}

/**
 * The read of a live value, for caches: live values whose owner and key are equal give the same results. Making
 * a live value costs nothing until somebody listens, so a value that is made again is recognized by this.
 * Inside an object, each live value differs from all others.
 */
export interface LiveIdentity {
  /** Stands for the handle or connection that the live value belongs to. */
  readonly owner: object;
  /** The read. */
  readonly key: string;
}

/**
 * The result of a read, again after every commit that changes it.
 *
 * It is active while it has a listener or an iterator. A slow consumer misses values in between, never the
 * last one. As an iterable it throws the error of a read that failed, which ends that iterator only.
 *
 * `subscribe` and `getSnapshot` fit React's `useSyncExternalStore` and the store contract of Svelte; they may
 * be passed on without their object.
 */
export interface Live<T> extends AsyncIterable<T> {
  /**
   * Calls the listener at once with the value known so far (undefined before the first one), then with each
   * later one, and when the read fails. Returns the function that ends this.
   */
  readonly subscribe: (
    listener: (value: T | undefined) => void,
    options?: LiveOptions,
  ) => () => void;
  /** The last value: the same object until it changes; undefined before the first result. */
  readonly getSnapshot: () => T | undefined;
  /** The last value or error: the same object until it changes. */
  readonly getState: () => LiveState<T>;
  readonly identity: LiveIdentity;
  /** The same read, whose result is never kept on this device for the next visit; what was kept of it is deleted. */
  asPrivate(): Live<T>;
  /** The values, newest first known, then each change; no value that is `stale`. */
  [Symbol.asyncIterator](): AsyncIterableIterator<T>;
  /** Ends it for all its listeners; iterators finish. */
  [Symbol.dispose](): void;
}

/** Which keys `storage.live` follows: one, several, or a range as of `list`. */
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

/** A stub whose methods are live: each gives its result again when the data it read has changed. */
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
      readonly bindings: readonly SqlBinding[];
    };
