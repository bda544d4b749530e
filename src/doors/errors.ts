// Errors with their codes, for packages.

export { isStorageError, storageError } from '../shared/contract/errors.ts';
