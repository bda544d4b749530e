// Loads the late parts when an operation first needs them.
//
// Invariants: only operations that are asynchronous use them, because a synchronous one cannot wait for a file. A load
// that fails changes nothing: the operation rejects, and the next one tries again.
//
// The package build replaces the import by the address of `late.js` beside this code, which bundlers copy as a file: no
// bundler has to split a worker.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { assert } from '../file/invariant.ts';

/** What the file has. */
export type LateParts = typeof import('./late-parts.ts');

/**
 * Imports the file; `attempt` counts from 0. Browsers may remember that an address has failed. `address`: as the page
 * names it; otherwise the file lies beside this code.
 */
export type ImportLate = (attempt: number, address?: string | null) => Promise<LateParts>;

const importLate: ImportLate = () => import('./late-parts.ts');

/** The parts, once an operation has loaded them, or an entry has them in its own file. */
export class LateCode {
  readonly #import: ImportLate;
  /** Where the page says that the file lies. @default beside this code */
  address: string | null | undefined;
  #attempts = 0;
  #parts: LateParts | undefined;

  constructor(importParts: ImportLate) {
    this.#import = importParts;
  }

  /** From now on nothing is loaded. */
  give(parts: LateParts): void {
    this.#parts = parts;
  }

  /** For the rest of an operation that has loaded them. */
  get loaded(): LateParts {
    assert(this.#parts !== undefined, 'the operation has loaded the late parts');
    return this.#parts;
  }

  /** @throws WORKER_FAILED if the file is missing, or is of another build */
  async load(operation: string): Promise<LateParts> {
    if (this.#parts !== undefined) return this.#parts;
    const attempt = this.#attempts;
    try {
      const parts = await this.#import(attempt, this.address);
      this.#parts ??= parts;
      return this.#parts;
    } catch (cause) {
      // Of several that wait for the same attempt, the first one counts it.
      this.#attempts = Math.max(this.#attempts, attempt + 1);
      throw storageError(
        'WORKER_FAILED',
        `${operation}: a part of ctx-storage that is loaded when it is needed could not be: ${String(cause)} Nothing ` +
          "was changed. Serve late.js of its dist folder beside the worker's script, or pass its address (lateUrl), and " +
          'have a service worker keep it; after a new deployment, reload the page.',
        { cause },
      );
    }
  }
}

/** Of this worker. */
export const lateCode = new LateCode(importLate);
