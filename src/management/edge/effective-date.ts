// Which day a call happens on: the emulator's header decides, then the client's `api-version`, then the
// date its account is pinned to, then the clock.

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

/** @throws ApiError 400 if a header is not a date */
export function effectiveDate({ headers, readsApiVersion, pin, nowMs }: DateSources): string {
  const names = readsApiVersion
    ? [EMULATOR_DATE_HEADER, CLIENT_DATE_HEADER]
    : [EMULATOR_DATE_HEADER];
  for (const name of names) {
    const text = headers.get(name);
    if (text === null) continue;
    const day = dayOf(text);
    if (day !== undefined) return day;
    throw apiError('DATE_INVALID', `${name} is "${text}"; it must be a date, YYYY-MM-DD.`);
  }
  return pin ?? dayOfMs(nowMs);
}
