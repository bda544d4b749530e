// Exports the names that packages need to make and to recognise errors with a code, and to assert that there is no defect.

export { isStorageError, storageError } from '../shared/contract/errors.ts';
export { assert } from '../shared/contract/invariant.ts';
