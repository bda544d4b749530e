// Checks the label that an app gives to commits.

import { storageError } from './errors.ts';
import { LABEL_BYTES_MAX } from './limits.ts';
import { utf8Bytes } from './utf8.ts';

/** Checks the label of commits. @throws INVALID_ARGUMENT */
export function checkLabel(name: string, value: unknown, operation = 'labelled'): string {
  if (typeof value !== 'string') {
    throw storageError('INVALID_ARGUMENT', `${operation}: the ${name} is not a string.`);
  }
  const sizeBytes = utf8Bytes(value);
  if (sizeBytes <= LABEL_BYTES_MAX) return value;
  throw storageError(
    'INVALID_ARGUMENT',
    `${operation}: the ${name} has ${sizeBytes} bytes of UTF-8, at most ${LABEL_BYTES_MAX}; shorten it, and store the rest as data.`,
  );
}
