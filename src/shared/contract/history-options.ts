// Converts and checks the options of `history`.

import { checkInteger, convertOptions, convertString, type FieldCheck } from './arguments.ts';
import { storageError } from './errors.ts';
import { HISTORY_COMMITS_DEFAULT, HISTORY_COMMITS_MAX } from './limits.ts';
import { convertTimestamp } from './times.ts';

/** The converted options of `history`. Null means no bound. */
export interface ConvertedHistoryOptions {
  readonly fromMs: number | null;
  readonly toMs: number | null;
  readonly before: string | null;
  readonly limit: number;
}

/** Converts the options of `history`. @throws INVALID_ARGUMENT */
export function convertHistoryOptions(operation: string, value: unknown): ConvertedHistoryOptions {
  const { from, to, before, limit } = convertOptions(operation, value);
  const time = (bound: unknown) => (bound == null ? null : convertTimestamp(operation, bound));
  return {
    fromMs: time(from),
    toMs: time(to),
    before: before == null ? null : convertString(operation, before),
    limit: limit === undefined ? HISTORY_COMMITS_DEFAULT : convertCommitCount(operation, limit),
  };
}

function convertCommitCount(operation: string, limit: unknown): number {
  if (Number.isInteger(limit) && (limit as number) >= 1 && (limit as number) <= HISTORY_COMMITS_MAX)
    return limit as number;
  throw storageError(
    'INVALID_ARGUMENT',
    `${operation}: limit is a whole number from 1 to ${HISTORY_COMMITS_MAX}; list more with "before".`,
  );
}

export const checkCommitCount: FieldCheck<number> = (name, value) =>
  checkInteger(name, value, 1, HISTORY_COMMITS_MAX);
