// Iterates over the values of a live read: first the latest one, then each change. If several changes come between two
// calls of `next`, only the last value is returned.
//
// Invariant: the iterator is subscribed from its first `next` until an error, `return`, or the disposal of the live value.
// After that it keeps nothing alive.

import type { LiveState } from '../contract/live.ts';

/** The part of a live value that the iterator uses. */
interface Watchable<T> {
  readonly getState: () => LiveState<T>;
  watch(watcher: {
    changed(): void;
    failed(error: unknown): boolean;
    disposed(): void;
  }): () => void;
}

interface Waiting<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void;
  readonly reject: (error: unknown) => void;
}

type Step<T> = { readonly value: T } | { readonly error: unknown };

const DONE = { done: true, value: undefined } as const;

export class LiveIterator<T> implements AsyncIterableIterator<T> {
  readonly #live: Watchable<T>;
  readonly #waiting: Waiting<T>[] = [];
  /** The value or error that `next` has not returned yet. */
  #step: Step<T> | undefined;
  #stop: (() => void) | undefined;
  #isDone = false;

  constructor(live: Watchable<T>) {
    this.#live = live;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#isDone) return Promise.resolve(DONE);
    this.#begin();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#give();
    });
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#finish();
    return DONE;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #begin(): void {
    if (this.#stop !== undefined) return;
    this.#stop = this.#live.watch({
      changed: () => this.#take(),
      failed: () => {
        this.#take();
        return true;
      },
      disposed: () => this.#finish(),
    });
    this.#take();
  }

  #take(): void {
    const state = this.#live.getState();
    if (state.status === 'ready') this.#step = { value: state.value };
    if (state.status === 'failed') this.#step = { error: state.error };
    this.#give();
  }

  #give(): void {
    const step = this.#step;
    if (step === undefined) return;
    const waiting = this.#waiting.shift();
    if (waiting === undefined) return;
    this.#step = undefined;
    if ('value' in step) {
      waiting.resolve({ done: false, value: step.value });
      return;
    }
    waiting.reject(step.error);
    this.#finish();
  }

  #finish(): void {
    this.#isDone = true;
    this.#step = undefined;
    this.#stop?.();
    for (const { resolve } of this.#waiting.splice(0)) resolve(DONE);
  }
}
