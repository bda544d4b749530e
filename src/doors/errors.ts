// The names that packages need to make and to recognise errors with a code.

export { isStorageError, storageError } from '../shared/contract/errors.ts';
