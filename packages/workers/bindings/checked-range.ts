// A number in the options of a binding.

import { storageError } from '@ctx-storage/core/errors';

/** @throws CLASS_INVALID, which names the binding */
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
