// Checks a test's arguments, so that a wrong value is an error and not ignored.

import { storageError } from '@ctx-storage/core/errors';

/** Requires a duration in milliseconds. @throws INVALID_ARGUMENT */
export function mustBeDuration(operation: string, value: unknown): void {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return;
  throw storageError(
    'INVALID_ARGUMENT',
    `${operation}: takes milliseconds, finite and not negative, not ${shownValue(value)}.`,
  );
}

/** Requires a positive whole number. @throws INVALID_ARGUMENT */
export function mustBeCount(operation: string, value: unknown): void {
  if (Number.isSafeInteger(value) && (value as number) > 0) return;
  throw storageError(
    'INVALID_ARGUMENT',
    `${operation}: takes a count, 1 or more, not ${shownValue(value)}.`,
  );
}

function shownValue(value: unknown): string {
  return typeof value === 'string' ? `"${value}"` : String(value);
}
