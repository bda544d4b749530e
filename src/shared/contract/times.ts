// Converts and checks times as arguments and as fields of messages: the time of an alarm, and of a moment of the
// history.

import { checkInteger, checkNumber, type FieldCheck } from './arguments.ts';
import { storageError } from './errors.ts';
import { ALARM_TIME_MS_MAX } from './limits.ts';

/** Converts an alarm time to whole milliseconds. @throws INVALID_ARGUMENT */
export function convertAlarmTime(operation: string, value: unknown): number {
  const timeMs =
    typeof value === 'number' ? value : value instanceof Date ? value.getTime() : Number.NaN;
  const whole = Math.trunc(timeMs);
  if (!(whole > 0 && whole <= ALARM_TIME_MS_MAX)) {
    throw storageError(
      'INVALID_ARGUMENT',
      `${operation}: an alarm time is a Date or a number of milliseconds after the epoch, ` +
        `at most ${ALARM_TIME_MS_MAX}.`,
    );
  }
  return whole;
}

/** Converts a time as `new Date(value)` does, to milliseconds. @throws INVALID_ARGUMENT */
export function convertTimestamp(operation: string, value: unknown): number {
  const timeMs =
    typeof value === 'number' ? value : value instanceof Date ? value.getTime() : Number.NaN;
  if (!Number.isFinite(timeMs)) {
    throw storageError(
      'INVALID_ARGUMENT',
      `${operation}: a timestamp is a valid Date or a number of milliseconds since the epoch.`,
    );
  }
  return timeMs;
}

export const checkAlarmTime: FieldCheck<number> = (name, value) =>
  checkInteger(name, value, 1, ALARM_TIME_MS_MAX);

export const checkTimeOrNull: FieldCheck<number | null> = (name, value) =>
  value === null ? null : checkNumber(name, value);
