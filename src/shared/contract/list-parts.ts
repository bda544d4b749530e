// Lists objects with several requests, because one message can only contain a limited number of them.

import { storageError } from './errors.ts';
import { LISTED_OBJECTS_MAX } from './limits.ts';
import type { ListObjectsOptions } from './object-management.ts';

/** A request for the objects of a class whose ids come after one id, at most `limit` of them. */
export interface ListPart {
  readonly after: string | null;
  readonly limit: number;
}

/** Sends requests until all objects are listed or the limit is reached. @throws INVALID_ARGUMENT */
export async function listParts<T>(
  options: ListObjectsOptions | undefined,
  ask: (part: ListPart) => Promise<T[]>,
  idOf: (listed: T) => string,
): Promise<T[]> {
  const { limit, startAfter } = checkedOptions(options);
  const found: T[] = [];
  let after = startAfter;
  while (found.length < limit) {
    const count = Math.min(LISTED_OBJECTS_MAX, limit - found.length);
    const part = await ask({ after, limit: count });
    found.push(...part);
    const last = part.at(-1);
    if (last === undefined || part.length < count) break;
    after = idOf(last);
  }
  return found;
}

function checkedOptions(options: ListObjectsOptions = {}): {
  limit: number;
  startAfter: string | null;
} {
  const { limit = Number.POSITIVE_INFINITY, startAfter } = options ?? {};
  if (!(limit === Number.POSITIVE_INFINITY || Number.isInteger(limit)) || limit < 1) {
    throw storageError('INVALID_ARGUMENT', 'list: limit is a whole number from 1 on.');
  }
  const id = startAfter === undefined ? null : String(startAfter).toLowerCase();
  if (id !== null && !/^[0-9a-f]{64}$/.test(id)) {
    throw storageError('INVALID_ARGUMENT', 'list: startAfter is an id of an object, or its text.');
  }
  return { limit, startAfter: id };
}
