// Converts and checks the bookmarks of the commits that `revert` undoes.

import { checkArray, checkString, convertString, type FieldCheck, malformed } from './arguments.ts';
import { storageError } from './errors.ts';
import { REVERTED_COMMITS_MAX } from './limits.ts';

/** Converts the bookmarks of the commits that `revert` undoes. @throws INVALID_ARGUMENT */
export function convertReverted(operation: string, value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [convertString(operation, value)];
  if (value.length > 0 && value.length <= REVERTED_COMMITS_MAX) {
    return value.map((bookmark) => convertString(operation, bookmark));
  }
  throw storageError(
    'INVALID_ARGUMENT',
    `${operation}: takes 1 to ${REVERTED_COMMITS_MAX} bookmarks, not ${value.length}; call it again for the rest.`,
  );
}

export const checkReverted: FieldCheck<readonly string[]> = (name, value) => {
  const bookmarks = checkArray(name, value, REVERTED_COMMITS_MAX);
  if (bookmarks.length === 0) throw malformed(name, 'one bookmark at least');
  return bookmarks.map((bookmark) => checkString('bookmark', bookmark));
};
