// How long a call of SQLite may run and how much memory an object may take, and who measures the time.
//
// Every object of a worker shares its thread and SQLite's heap, so what one of them takes without a
// bound, all others lack.

import { storageError } from '../../src/contract/errors.ts';

/** Bounds of each object; what is left out has its default. */
export interface QueryLimits {
  /**
   * Longest one call into SQLite may run, in milliseconds. In a browser, keep it below 40,000: pages
   * report a worker that gives no sign of life for that long as WORKER_BUSY. @default 30,000
   */
  readonly queryMs?: number;
  /** Longest the checks of an imported file may take together, in milliseconds. @default 10,000 */
  readonly importMs?: number;
  /** SQLite's memory of one object: sorters, values, pages in the cache. @default 512 MiB */
  readonly heapBytes?: number;
}

/** The bounds that hold. */
export interface Limits extends Required<QueryLimits> {
  /** Milliseconds on a clock that only moves forward, also while the objects' time stands still. */
  now(): number;
}

const DEFAULTS: Required<QueryLimits> = {
  queryMs: 30_000,
  importMs: 10_000,
  heapBytes: 512 * 1024 * 1024,
};

/** Less would not open a database and fill its cache of pages. */
const HEAP_BYTES_MIN = 32 * 1024 * 1024;
/** SQLite's heap is less than 2 GiB in all. */
const HEAP_BYTES_MAX = 2 ** 31 - 1;

/** The bounds with their defaults. @throws INVALID_ARGUMENT */
export function completeLimits(given: QueryLimits = {}, now = () => performance.now()): Limits {
  const limits = { ...DEFAULTS, ...definedIn(given) };
  for (const name of ['queryMs', 'importMs'] as const) {
    if (limits[name] > 0) continue;
    throw storageError('INVALID_ARGUMENT', `limits.${name}: takes milliseconds above 0.`);
  }
  const { heapBytes } = limits;
  if (!(heapBytes >= HEAP_BYTES_MIN && heapBytes <= HEAP_BYTES_MAX)) {
    throw storageError(
      'INVALID_ARGUMENT',
      `limits.heapBytes: takes ${HEAP_BYTES_MIN} to ${HEAP_BYTES_MAX} bytes.`,
    );
  }
  return { ...limits, now };
}

function definedIn(given: QueryLimits): QueryLimits {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
