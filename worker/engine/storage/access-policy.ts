// Declares what code may do to the storage of an object, and who learns of its reads. The scope of the code
// (CommitScope) holds the policy while the code runs.
//
// Does not know which code has which policy (worker/objects/instance).

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { ReadSet } from './accesses.ts';

export interface AccessPolicy {
  /** Makes the error of every write; null if the code may write. */
  readonly refusal: (() => Error) | null;
  /** Collects what the code reads; null if no live read runs. */
  readonly reads: ReadSet | null;
}

/** The policy of code that nothing restricts. */
export const UNRESTRICTED: AccessPolicy = { refusal: null, reads: null };

/** The policy of one run of a live read, which only reads. */
export function liveReadPolicy(reads: ReadSet): AccessPolicy {
  return { refusal: liveReadOnly, reads };
}

function liveReadOnly(): Error {
  return storageError(
    'LIVE_READ_ONLY',
    'A live read tried to write. It runs again after every commit that concerns it, so it may only ' +
      'read; write in a method that is called without live().',
  );
}
