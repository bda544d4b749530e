// The limits of objects: the time of a call of SQLite, the memory of an object, and the number of open files; and the
// clock that measures time.
//
// All objects of a worker share its thread and SQLite's heap: without limits, one object could starve
// the others.

import { storageError } from '../../../src/shared/contract/errors.ts';

/** Limits of objects; each one has a default. */
export interface QueryLimits {
  /**
   * Longest time that one call into SQLite may take, in milliseconds. In a browser, keep it below 45,000:
   * pages give up a worker that does not respond for that long, and then end it. @default 30,000
   */
  readonly queryMs?: number;
  /** Longest time that the checks of an imported file may take in total, in milliseconds. @default 10,000 */
  readonly importMs?: number;
  /** SQLite's memory of one object: sorters, values, pages in the cache. @default 512 MiB */
  readonly heapBytes?: number;
  /**
   * Most files that all objects together have open, 3 to 8 each. Beyond it, the idle object that was used
   * least recently is evicted. Some browsers allow about 252 for all tabs together. @default 200 in
   * browsers; elsewhere 10,000, or half of the files that the process may have open if that is less
   */
  readonly openFiles?: number;
  /** If fewer bytes are free, the event `storagelow` is sent. @default 32 MiB */
  readonly lowSpaceBytes?: number;
}

/** All limits, with their defaults filled in. */
export interface Limits extends Required<QueryLimits> {
  /** True if only SQLite's own limits on texts apply, for an imported file. @default false */
  readonly anyText?: boolean;
  /** Milliseconds on a monotonic clock, which also runs while the objects' clock stands still. */
  now(): number;
}

/** Limits of one database that replace the host's. */
export type OwnLimits = Partial<Pick<Limits, 'heapBytes' | 'anyText'>>;

const DEFAULTS: Required<QueryLimits> = {
  queryMs: 30_000,
  importMs: 10_000,
  heapBytes: 512 * 1024 * 1024,
  openFiles: 200,
  lowSpaceBytes: 32 * 1024 * 1024,
};

/** The default where no browser limits open files: enough for 3,333 objects of about 0.2 MB of memory each. */
export const OPEN_FILES_UNBOUNDED = 10_000;

/** One object has up to 8 files open for long, and others while it is opened, restored or pruned. */
const OPEN_FILES_MIN = 16;

/** The smallest limit with which a database can be opened while its page cache is full. */
const HEAP_BYTES_MIN = 32 * 1024 * 1024;
/** The largest limit, because SQLite's whole heap is smaller than 2 GiB. */
const HEAP_BYTES_MAX = 2 ** 31 - 1;

/** Fills in defaults for missing limits; `platform` has the platform's own defaults. @throws INVALID_ARGUMENT */
export function completeLimits(
  given: QueryLimits = {},
  now = () => performance.now(),
  platform: Pick<QueryLimits, 'openFiles'> = {},
): Limits {
  const limits = { ...DEFAULTS, ...platform, ...definedIn(given) };
  for (const name of ['queryMs', 'importMs'] as const) {
    if (limits[name] > 0) continue;
    throw storageError('INVALID_ARGUMENT', `limits.${name}: takes milliseconds above 0.`);
  }
  const { heapBytes, lowSpaceBytes } = limits;
  if (!(lowSpaceBytes >= 0 && lowSpaceBytes < Number.POSITIVE_INFINITY)) {
    throw storageError(
      'INVALID_ARGUMENT',
      'limits.lowSpaceBytes: takes a number of bytes from 0 on.',
    );
  }
  if (!(heapBytes >= HEAP_BYTES_MIN && heapBytes <= HEAP_BYTES_MAX)) {
    throw storageError(
      'INVALID_ARGUMENT',
      `limits.heapBytes: takes ${HEAP_BYTES_MIN} to ${HEAP_BYTES_MAX} bytes.`,
    );
  }
  if (!(Number.isInteger(limits.openFiles) && limits.openFiles >= OPEN_FILES_MIN)) {
    throw storageError(
      'INVALID_ARGUMENT',
      `limits.openFiles: takes a whole number from ${OPEN_FILES_MIN} on.`,
    );
  }
  return { ...limits, now };
}

function definedIn(given: QueryLimits): QueryLimits {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
