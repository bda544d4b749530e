// Finds the version of a class that is followed, in the same way on the server and on a device: forecasts are made only
// while both have the same version.

import { storageError } from '@ctx-storage/core/errors';

/**
 * Returns the version of the class: the option, or the static property `version` of the class; undefined if there is
 * neither. A static property that is not a number means something else. `where` begins the message of an error.
 *
 * @throws INVALID_ARGUMENT if the property is not a whole number from 1 on, or is not the option
 */
export function classVersion(
  Class: object | undefined,
  option: number | undefined,
  where: string,
): number | undefined {
  const found: unknown = (Class as { readonly version?: unknown } | undefined)?.version;
  if (typeof found !== 'number') return option;
  if (!Number.isSafeInteger(found) || found < 1) {
    throw invalid(
      where,
      'the static property version of the class is not a whole number from 1 on.',
    );
  }
  if (option === undefined || option === found) return found;
  throw invalid(
    where,
    `the option version is ${option}, and the static property version of the class is ${found}. Remove the option.`,
  );
}

function invalid(where: string, fact: string): Error {
  return storageError('INVALID_ARGUMENT', `${where}: ${fact}`);
}
