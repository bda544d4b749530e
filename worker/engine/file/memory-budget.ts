// The memory of a medium that keeps open files in memory, and its bound.
//
// Invariant: a change that would cross the bound is refused before it begins.

import { storageError } from '../../../src/shared/contract/errors.ts';

/** Phones end a page that takes some hundred megabytes more than others; SQLite needs its share too. */
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

  /** @throws MEMORY_FULL if that many more bytes do not fit; nothing is taken then */
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
