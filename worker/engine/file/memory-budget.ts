// Counts and limits the memory of a medium that holds open files in memory.
//
// Invariant: a change that would exceed the limit is refused before it begins.

import { storageError } from '../../../src/shared/contract/errors.ts';

/** The default limit. Phones end pages that take several hundred megabytes, and SQLite needs memory too. */
export const FILE_MEMORY_BYTES = 256 * 1024 * 1024;

export class MemoryBudget {
  readonly #limitBytes: number;
  #usedBytes = 0;

  constructor(limitBytes = FILE_MEMORY_BYTES) {
    this.#limitBytes = limitBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Takes bytes from the budget. @throws MEMORY_FULL if they do not fit; then none are taken */
  take(bytes: number, operation: string): void {
    const needed = this.#usedBytes + bytes;
    if (needed > this.#limitBytes) {
      throw storageError(
        'MEMORY_FULL',
        `${operation}: the files of all open objects would take ${needed} bytes of memory, and may take ` +
          `${this.#limitBytes}. This browser offers no synchronous files, so a database in use lies in ` +
          'memory as a whole. Delete data, spread it over objects that are not used at the same time, or ' +
          'use a browser with synchronous access handles.',
      );
    }
    this.#usedBytes = needed;
  }

  release(bytes: number): void {
    this.#usedBytes -= bytes;
  }
}
