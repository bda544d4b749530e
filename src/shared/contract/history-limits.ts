// Defines the option `history`, which limits the history that objects keep, and checks it.

import { storageError } from './errors.ts';
import { HISTORY_BYTES, RECOVERY_WINDOW_DAYS } from './limits.ts';

/** How much history each object keeps. Whichever bound is reached first discards the oldest part. */
export interface HistoryLimits {
  /** The number of days, at most 30. Fractions are allowed. @default 30 */
  readonly days?: number;
  /**
   * The most bytes of the log on disk, without the segment that is being written. `Infinity` means no limit.
   * @default 256 MiB, or the size of the object's database if that is larger
   */
  readonly bytes?: number;
  /**
   * Thins old history: after a day, only the last state of each minute is kept, and after a week only the last state of
   * each hour; earlier if the bytes would not suffice otherwise. Bookmarks of other states are then
   * BOOKMARK_UNAVAILABLE.
   *
   * @default false
   */
  readonly thin?: boolean;
}

/** Returns the bytes of history that an object with a database of this size keeps. */
export function historyBytes({ bytes }: HistoryLimits, databaseBytes: number): number {
  return bytes ?? Math.max(HISTORY_BYTES, databaseBytes);
}

/** Checks the option `history`. @throws INVALID_ARGUMENT */
export function checkHistoryLimits(operation: string, given: unknown): HistoryLimits {
  if (given === undefined) return {};
  const fact = historyFault(given);
  if (fact !== null) throw storageError('INVALID_ARGUMENT', `${operation}: ${fact}`);
  const { days, bytes, thin } = given as HistoryLimits;
  return {
    ...(days !== undefined && { days }),
    ...(bytes !== undefined && { bytes }),
    ...(thin !== undefined && { thin }),
  };
}

/** Describes the mistake in an option `history`; null if there is none. */
export function historyFault(given: unknown): string | null {
  if (typeof given !== 'object' || given === null) {
    return `history is an object, such as { days: 7, bytes: 64e6 }, not ${given === null ? 'null' : typeof given}.`;
  }
  const { days = 0, bytes = 0, thin = false } = given as { readonly [name: string]: unknown };
  if (!(typeof days === 'number' && days >= 0 && days <= RECOVERY_WINDOW_DAYS)) {
    return `history.days is a number from 0 to ${RECOVERY_WINDOW_DAYS}, not ${shownValue(days)}.`;
  }
  if (!(typeof bytes === 'number' && bytes >= 0)) {
    return `history.bytes is a number of bytes from 0 on, or Infinity, not ${shownValue(bytes)}.`;
  }
  if (typeof thin !== 'boolean') return `history.thin is true or false, not ${shownValue(thin)}.`;
  return null;
}

function shownValue(value: unknown): string {
  return typeof value === 'number' ? String(value) : `a ${typeof value}`;
}
