// Converts the options of `list` to one range of keys, and checks the range in a message.

import {
  checkBoolean,
  checkBytes,
  checkFields,
  checkInteger,
  convertKey,
  convertOptions,
  type FieldCheck,
} from './arguments.ts';
import { storageError } from './errors.ts';
import { type ConvertedListOptions, compileRange, type KeyRange } from './key-range.ts';

/** Converts list options to a range of keys. @throws INVALID_ARGUMENT, KEY_TOO_LARGE */
export function convertListOptions(operation: string, value: unknown): KeyRange {
  const options = convertOptions(operation, value);
  void options.allowConcurrency;
  void options.noCache;
  const converted: ConvertedListOptions = {
    start: optionalKey(operation, options.start),
    startAfter: optionalKey(operation, options.startAfter),
    end: optionalKey(operation, options.end),
    prefix: optionalKey(operation, options.prefix),
    reverse: Boolean(options.reverse),
    limit: convertLimit(operation, options.limit),
  };
  if (converted.start !== undefined && converted.startAfter !== undefined) {
    throw storageError(
      'INVALID_ARGUMENT',
      `${operation}: start and startAfter exclude each other; give one.`,
    );
  }
  return compileRange(converted);
}

function optionalKey(operation: string, value: unknown): string | undefined {
  return value === undefined ? undefined : convertKey(operation, value);
}

// Converts a limit as WebIDL converts an [EnforceRange] long: to a number, truncated and checked. Null and other values
// that convert to less than 1 are refused.
function convertLimit(operation: string, value: unknown): number | undefined {
  if (value === undefined) return undefined;
  const limit = typeof value === 'bigint' ? Number.NaN : Math.trunc(Number(value));
  if (!(limit >= 1 && limit < 2 ** 31)) {
    throw storageError('INVALID_ARGUMENT', `${operation}: limit must be a positive integer.`);
  }
  return limit;
}

/** Checks a range of keys. A bound may be longer than a key may be: an imported database may have longer keys. */
export const checkKeyRange: FieldCheck<KeyRange> = (name, value) => {
  const { start, end, reverse, limit } = checkFields(name, value);
  return {
    start: checkBytes('start', start),
    end: end === null ? null : checkBytes('end', end),
    reverse: checkBoolean('reverse', reverse),
    limit: limit === null ? null : checkInteger('limit', limit, 1, 2 ** 31 - 1),
  };
};
