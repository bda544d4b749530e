// Assertions: conditions that are true unless this package has a defect.
//
// Invariant: a violated assertion throws INTERNAL. If it concerns the storage of an object, the error ends the instance:
// the object is reset and recovered from the log, so no code continues with an impossible state. Damage on the disk, a full
// disk and wrong calls are not defects; they have their own codes.

import { isStorageError, storageError } from './errors.ts';

/** Asserts a condition; `otherwise` describes its violation. @throws INTERNAL */
export function assert(isTrue: boolean, otherwise: string): asserts isTrue {
  if (isTrue) return;
  throw storageError(
    'INTERNAL',
    `Invariant: ${otherwise}. This is a defect of ctx-storage; please report it.`,
  );
}

/** True for errors that a defect of this package causes, such as violated assertions. */
export function isDefect(error: unknown): boolean {
  return isStorageError(error) && error.code === 'INTERNAL';
}
