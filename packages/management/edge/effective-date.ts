// Determines the day and time of a call. The emulator's header decides; without it the client's `api-version`, then the
// date that the account is pinned to, then the clock.
//
// Invariant: the form of an answer and the times in it belong to the same day.

import { apiError } from '../call/call.ts';
import { dayOf, dayOfMs } from '../schedule/day.ts';

const EMULATOR_DATE_HEADER = 'x-emulator-date';
const CLIENT_DATE_HEADER = 'api-version';

export interface DateSources {
  readonly headers: Headers;
  /** Whether to read `api-version`. Real SDKs send today's date with every call. */
  readonly readsApiVersion: boolean;
  readonly pin: string | undefined;
  readonly nowMs: number;
}

export interface CallTime {
  /** The day of the call, `YYYY-MM-DD`. */
  readonly day: string;
  /** The time of the call, ISO 8601 in UTC. */
  readonly iso: string;
}

/**
 * Returns the day and time of the call. If the day comes from a header or a pin without a time, the time of day is the
 * clock's, so that calls of one day keep their order.
 *
 * @throws ApiError 400 if a header is not a date
 */
export function effectiveTime({ headers, readsApiVersion, pin, nowMs }: DateSources): CallTime {
  const names = readsApiVersion
    ? [EMULATOR_DATE_HEADER, CLIENT_DATE_HEADER]
    : [EMULATOR_DATE_HEADER];
  const nowIso = new Date(nowMs).toISOString();
  for (const name of names) {
    const text = headers.get(name);
    if (text === null) continue;
    const day = dayOf(text);
    if (day === undefined) {
      throw apiError('DATE_INVALID', `${name} is "${text}"; it must be a date, YYYY-MM-DD.`);
    }
    const isMoment = text.includes('T');
    return {
      day,
      iso: isMoment ? new Date(text.trim()).toISOString() : withTimeOfDay(day, nowIso),
    };
  }
  const day = pin ?? dayOfMs(nowMs);
  return { day, iso: withTimeOfDay(day, nowIso) };
}

function withTimeOfDay(day: string, nowIso: string): string {
  return `${day}${nowIso.slice(nowIso.indexOf('T'))}`;
}
