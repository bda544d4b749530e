// Answers what the schedule says on a day, about all entries or about one operation.
//
// An entry applies from the beginning of its day in UTC. All functions here are pure.

import { storageError } from '@ctx-storage/core/errors';
import { SCHEDULE } from './data.ts';
import { dayOf, dayOfMs } from './day.ts';
import type { Operation, Replacement, Schedule, ScheduleEntry } from './entry.ts';
import { isForeign, mostExact, normalPath, type PathMatch, segmentsOf } from './paths.ts';

/** A point in time: a Date, an ISO 8601 date or date and time, or milliseconds since the epoch. */
export type DateLike = Date | string | number;

export interface LookupOptions {
  /** The schedule to look in. @default the built-in schedule */
  readonly schedule?: Schedule;
  /**
   * The prefix of all paths. A whole URL that does not begin with it belongs to another API; a path alone may omit it.
   *
   * @default '/client/v4'
   */
  readonly basePath?: string;
}

/** An entry of the schedule, and whether it applies on the day asked for. */
export interface DatedEntry {
  readonly entry: ScheduleEntry;
  /** Whether the new form applies on that day. */
  readonly isInForce: boolean;
}

/**
 * The state of an operation on a day. `live`: the schedule does not mention it (it may not even exist). `deprecated`:
 * it works, and ends on the entry's date. `gone`: it has ended. `modified`: it continues; `changes` are the entries
 * that change it or have changed it.
 */
export type Lookup =
  | { readonly state: 'live' }
  | { readonly state: 'deprecated' | 'gone'; readonly change: EndOfOperation }
  | { readonly state: 'modified'; readonly changes: readonly ChangeOfOperation[] };

export interface ChangeOfOperation extends DatedEntry {
  /** The operation, with the path in the form of the schedule. */
  readonly operation: Operation;
}

export interface EndOfOperation {
  readonly entry: ScheduleEntry;
  /** The operation, with the path in the form of the schedule. */
  readonly operation: Operation;
  /** The values of the parameters in the path. */
  readonly params: PathMatch['params'];
  readonly replacement?: Replacement;
}

/** Returns the day in UTC. @throws StorageError `INVALID_ARGUMENT` if `at` is not a date */
export function dayFrom(at: DateLike): string {
  const ms = typeof at === 'number' ? at : at instanceof Date ? at.getTime() : undefined;
  const isMoment = ms !== undefined && Math.abs(ms) <= MOMENT_MS_MAX;
  const day = isMoment ? dayOfMs(ms) : typeof at === 'string' ? dayOf(at) : undefined;
  if (day !== undefined) return day;
  throw storageError(
    'INVALID_ARGUMENT',
    `at: ${JSON.stringify(String(at))} is not a date; use YYYY-MM-DD, a date and time in ISO 8601, a Date ` +
      'or milliseconds since 1970.',
  );
}

/** The largest time that a Date can hold in ECMAScript. */
const MOMENT_MS_MAX = 8.64e15;

/**
 * Returns every entry that has been announced by that day, the earliest first, and whether it applies.
 *
 * @throws StorageError `INVALID_ARGUMENT` if `at` is not a date
 */
export function deprecations({
  at,
  schedule = SCHEDULE,
}: {
  readonly at: DateLike;
  readonly schedule?: Schedule;
}): readonly DatedEntry[] {
  return entriesKnownOn(dayFrom(at), schedule);
}

interface RequestedOperation {
  readonly method: string;
  readonly segments: readonly string[];
}

function entriesKnownOn(day: string, entries: Schedule): DatedEntry[] {
  return entries
    .filter(({ announced }) => announced === undefined || announced <= day)
    .map((entry) => ({ entry, isInForce: entry.date <= day }));
}

/**
 * Returns the state of one operation on that day.
 *
 * HEAD counts as GET. `path` may be concrete, a shape in any spelling that `normalPath` accepts, or a whole URL, which
 * is `live` if it is not below the base path.
 *
 * @throws StorageError `INVALID_ARGUMENT` if `at` is not a date
 */
export function lookup(
  method: string,
  path: string,
  at: DateLike,
  { schedule = SCHEDULE, basePath }: LookupOptions = {},
): Lookup {
  const day = dayFrom(at);
  const dated = entriesKnownOn(day, schedule);
  if (isForeign(path, basePath)) return { state: 'live' };
  const asked = method.toUpperCase();
  const requested: RequestedOperation = {
    method: asked === 'HEAD' ? 'GET' : asked,
    segments: segmentsOf(normalPath(path, basePath)),
  };
  const end = dated
    .flatMap(({ entry, isInForce }) => {
      const found = bestMatch(entry.operations, requested);
      return found === undefined ? [] : [{ entry, isInForce, ...found }];
    })
    .sort((a, b) => b.match.exactness - a.match.exactness)[0];
  if (end !== undefined) {
    const { entry, candidate: operation, match, isInForce } = end;
    const { replacement } = entry;
    const change = { entry, operation, params: match.params, ...(replacement && { replacement }) };
    return { state: isInForce ? 'gone' : 'deprecated', change };
  }
  const changes = dated.flatMap((one) => {
    const found = bestMatch(one.entry.affected ?? [], requested);
    return found === undefined ? [] : [{ ...one, operation: found.candidate }];
  });
  return changes.length > 0 ? { state: 'modified', changes } : { state: 'live' };
}

function bestMatch(operations: readonly Operation[], requested: RequestedOperation) {
  const candidates = operations.filter(({ method }) => method === requested.method);
  return mostExact(candidates, ({ path }) => segmentsOf(path), requested.segments);
}

/** Returns the distinct dates of a schedule, the earliest first. */
export function datesOf(schedule: Schedule = SCHEDULE): readonly string[] {
  return [...new Set(schedule.map(({ date }) => date))].sort();
}
