// Calls to a peer that may die before it answers.
//
// comlink by itself leaves a call hanging when its peer dies or its proxy is released. Here all calls
// of a connection fail together, once, for one reason, and later calls reject with it at once.

import { storageError } from '../contract/errors.ts';

export class PendingCalls {
  readonly #pending = new Set<(reason: Error) => void>();
  #failure: Error | null = null;

  /** True while a call is not answered. */
  get isWaiting(): boolean {
    return this.#pending.size > 0;
  }

  /** Why calls reject, or null while they are made. */
  get failure(): Error | null {
    return this.#failure;
  }

  // A peer answers with outcomes and rejects nothing, so a rejection is a defect: its own, or of an
  // argument that cannot be posted.
  /** Makes a call. It settles as its answer comes, or rejects when the calls fail. */
  make<T>(send: () => Promise<T>): Promise<T> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#pending.add(reject);
      send().then(
        (result) => {
          this.#pending.delete(reject);
          resolve(result);
        },
        (cause) => {
          this.#pending.delete(reject);
          reject(storageError('INTERNAL', `The call failed on its way: ${cause}`, { cause }));
        },
      );
    });
  }

  /** Rejects what is pending and what comes. False when they had failed before. */
  fail(reason: Error): boolean {
    if (this.#failure !== null) return false;
    this.#failure = reason;
    for (const reject of this.#pending) reject(reason);
    this.#pending.clear();
    return true;
  }
}
