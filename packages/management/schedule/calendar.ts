// Writes the schedule as a calendar file (RFC 5545) with one all-day event for each entry.

import { EMULATOR } from '@ctx-storage/command-line/emulator';
import { SCHEDULE } from './data.ts';
import type { Schedule, ScheduleEntry } from './entry.ts';

export interface CalendarOptions {
  /** The schedule to write. @default the built-in schedule */
  readonly schedule?: Schedule;
  /** The current time, in milliseconds since the epoch, which every event must contain. */
  readonly nowMs: number;
}

/** Returns the text of an `.ics` file. */
export function scheduleCalendar({ schedule = SCHEDULE, nowMs }: CalendarOptions): string {
  const stamp = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, '');
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    `PRODID:-//${EMULATOR}//Deprecation schedule//EN`,
    'CALSCALE:GREGORIAN',
    ...schedule.flatMap((entry) => eventLines(entry, stamp)),
    'END:VCALENDAR',
  ];
  return lines
    .flatMap(foldLine)
    .map((line) => `${line}\r\n`)
    .join('');
}

function eventLines(entry: ScheduleEntry, stamp: string): string[] {
  return [
    'BEGIN:VEVENT',
    `UID:${entry.id}@${EMULATOR}`,
    `DTSTAMP:${stamp}`,
    // An all-day event without an end lasts one day.
    `DTSTART;VALUE=DATE:${entry.date.replaceAll('-', '')}`,
    `SUMMARY:${escapeText(entry.title)}`,
    `DESCRIPTION:${escapeText(descriptionOf(entry))}`,
    `CATEGORIES:${entry.kind}`,
    'TRANSP:TRANSPARENT',
    'END:VEVENT',
  ];
}

function descriptionOf({ operations, affected = [], replacement, note }: ScheduleEntry): string {
  const parts = [
    ...operations.map(({ method, path }) => `Ends: ${method} ${path}`),
    ...affected.map(({ method, path }) => `Changes: ${method} ${path}`),
    ...(replacement ? [`Replacement: ${replacement.text}`] : []),
    ...(note ? [note] : []),
  ];
  return parts.join('\n');
}

function escapeText(text: string): string {
  return text.replace(/[\\;,]/g, '\\$&').replaceAll('\n', '\\n');
}

const LINE_BYTES_MAX = 75;

/** Splits a line into lines of at most 75 bytes; each continuation begins with a space. */
function foldLine(line: string): string[] {
  const encoder = new TextEncoder();
  const lines: string[] = [];
  let current = '';
  let sizeBytes = 0;
  for (const character of line) {
    const characterBytes = encoder.encode(character).length;
    if (sizeBytes + characterBytes > LINE_BYTES_MAX) {
      lines.push(current);
      current = ' ';
      sizeBytes = 1;
    }
    current += character;
    sizeBytes += characterBytes;
  }
  return [...lines, current];
}
