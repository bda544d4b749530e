// Counts the `transaction()` calls of an object that are open. Their changes may still be rolled back, so nothing that
// depends on the content of the object may be done meanwhile.

import type { DurableObjectState } from '@ctx-storage/core/object';

export class OpenTransactions {
  #count = 0;
  /** The tasks that wait until no transaction is open. */
  readonly #tasks: (() => void)[] = [];

  /** Wraps `transaction` of the storage. `ended` is called with each waiting task once no transaction is open. */
  constructor(storage: DurableObjectState['storage'], ended: (task: () => void) => void) {
    const transaction = storage.transaction.bind(storage);
    const endOne = () => {
      if (--this.#count > 0) return;
      for (const task of this.#tasks.splice(0)) ended(task);
    };
    const countedTransaction: typeof transaction = (closure) => {
      this.#count++;
      const result = transaction(closure);
      result.then(endOne, endOne);
      return result;
    };
    Object.defineProperty(storage, 'transaction', {
      value: countedTransaction,
      configurable: true,
    });
  }

  /** Defers the task if a transaction is open. Returns true if the task was deferred. */
  defer(task: () => void): boolean {
    if (this.#count === 0) return false;
    this.#tasks.push(task);
    return true;
  }
}
