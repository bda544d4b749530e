// Which day a call happens on: the emulator's header, then the client's `api-version`, then the pin of
// its account, then the clock. Days are `YYYY-MM-DD` in UTC and compare as text.

import { apiError } from '../call/call.ts';

export const EMULATOR_DATE_HEADER = 'x-emulator-date';
export const CLIENT_DATE_HEADER = 'api-version';

export interface DateSources {
  readonly headers: Headers;
  /** Whether `api-version` counts. Real SDKs send today's date with every call. */
  readonly readsApiVersion: boolean;
  readonly pin: string | undefined;
  readonly nowMs: number;
}

/** @throws ApiError 400 for a header that is no date */
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

/** The day of an ISO 8601 date or moment; undefined when it is none. */
export function dayOf(text: string): string | undefined {
  const trimmed = text.trim();
  if (!/^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(trimmed)) return undefined;
  const ms = Date.parse(trimmed);
  if (Number.isNaN(ms)) return undefined;
  // Date.parse lets 31 February be 3 March.
  const written = trimmed.slice(0, 'YYYY-MM-DD'.length);
  return dayOfMs(Date.parse(written)) === written ? dayOfMs(ms) : undefined;
}

export function dayOfMs(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
