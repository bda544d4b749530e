// Assertions: facts that hold unless this package has a defect.
//
// Invariant: a violated one throws INTERNAL, which ends the instance (its object is reset and recovered from the
// log), so nothing goes on with a state that cannot be. Damage on the disk, a full disk and wrong calls are no
// violations; they have codes of their own.

import { isStorageError, storageError } from '../../../src/shared/contract/errors.ts';

/** Checks a fact that is cheap to check. `otherwise` states the violation. @throws INTERNAL */
export function assert(isTrue: boolean, otherwise: string): asserts isTrue {
  if (isTrue) return;
  throw storageError(
    'INTERNAL',
    `Invariant: ${otherwise}. The object was reset; please report this defect.`,
  );
}

/** True for the error of a violated assertion, and of every other defect. */
export function isDefect(error: unknown): boolean {
  return isStorageError(error) && error.code === 'INTERNAL';
}
