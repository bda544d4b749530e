// Calls to a peer that may die before it answers.
//
// comlink itself leaves a call pending forever if the peer dies or the proxy is released. Here all
// calls of a connection fail together, once, for one reason, and later calls reject with that
// reason at once.

import { storageError } from '../contract/errors.ts';

export class PendingCalls {
  readonly #pending = new Set<(reason: Error) => void>();
  #failure: Error | null = null;

  /** True while a call waits for its answer. */
  get isWaiting(): boolean {
    return this.#pending.size > 0;
  }

  /** Why calls reject, or null while they can be made. */
  get failure(): Error | null {
    return this.#failure;
  }

  // A peer answers with outcomes and never rejects. A rejection means a defect of the peer, or an
  // argument that cannot be cloned.
  /** Makes a call, which settles with what `read` makes of its answer, or rejects when the connection fails. `read` never throws. */
  make<T, R>(send: () => Promise<T>, read: (answer: T) => R): Promise<R> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#pending.add(reject);
      send().then(
        (answer) => {
          this.#pending.delete(reject);
          resolve(read(answer));
        },
        (cause) => {
          this.#pending.delete(reject);
          reject(
            storageError('INTERNAL', `The call could not be sent or answered: ${cause}`, { cause }),
          );
        },
      );
    });
  }

  /** Rejects all calls, pending and future ones. False if they had failed before. */
  fail(reason: Error): boolean {
    if (this.#failure !== null) return false;
    this.#failure = reason;
    for (const reject of this.#pending) reject(reason);
    this.#pending.clear();
    return true;
  }
}
