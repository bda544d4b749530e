// Loads `late.js` when an operation first needs it.
//
// Invariants: only asynchronous operations use the late parts, because a synchronous operation cannot wait for a file.
// A load that fails changes nothing: the operation rejects, and the next one tries again.
//
// The package build replaces the import by the address of `late.js` beside this code, which bundlers copy as a file: no
// bundler has to split a worker.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { assert } from '../../../src/shared/contract/invariant.ts';

/** The exports of `late.js`. */
export type LateParts = typeof import('./late-parts.ts');

/**
 * Imports the file from `address`, which the page may set; otherwise the file lies beside this code. `attempt` counts
 * from 0, so that each attempt can use another address: browsers may remember that one has failed.
 */
export type ImportLate = (attempt: number, address?: string | null) => Promise<LateParts>;

const importLate: ImportLate = () => import('./late-parts.ts');

/** Loads and keeps the late parts; some entries contain them and pass them in. */
export class LateCode {
  readonly #import: ImportLate;
  /** The address of the file that the page has set. @default beside this code */
  address: string | null | undefined;
  #attempts = 0;
  #parts: LateParts | undefined;

  constructor(importParts: ImportLate) {
    this.#import = importParts;
  }

  /** Sets the parts, so that they are never loaded. */
  give(parts: LateParts): void {
    this.#parts = parts;
  }

  /** The late parts. Only an operation that has loaded them may use them. */
  get loaded(): LateParts {
    assert(this.#parts !== undefined, 'the operation has loaded the late parts');
    return this.#parts;
  }

  /** Loads the parts. @throws WORKER_FAILED if the file is missing, or belongs to another build */
  async load(operation: string): Promise<LateParts> {
    if (this.#parts !== undefined) return this.#parts;
    const attempt = this.#attempts;
    try {
      const parts = await this.#import(attempt, this.address);
      this.#parts ??= parts;
      return this.#parts;
    } catch (cause) {
      // Count an attempt only once, although several operations may wait for it.
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

/** The late parts of this worker. */
export const lateCode = new LateCode(importLate);
