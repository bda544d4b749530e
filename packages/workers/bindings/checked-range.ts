// Checks that a number in the options of a binding is in its range.

import { storageError } from '@ctx-storage/core/errors';

/**
 * Checks the number. undefined is accepted, too.
 *
 * @throws CLASS_INVALID that names the binding and the option, if the number is out of range
 */
export function checkRange(
  binding: string,
  option: string,
  given: unknown,
  [min, max]: readonly [min: number, max: number],
): void {
  if (given === undefined) return;
  if (typeof given === 'number' && given >= min && given <= max) return;
  throw storageError(
    'CLASS_INVALID',
    `serve: ${option} of binding ${binding} is ${String(given)}; give a number from ${min} to ${max}.`,
  );
}
