// Tests the Markdown page and the calendar that are made from the schedule.

import { describe, expect, test } from 'vitest';
import { EMULATOR } from '../../command-line/emulator.ts';
import { scheduleCalendar } from './calendar.ts';
import { SCHEDULE } from './data.ts';
import { defineSchedule } from './define-schedule.ts';
import { scheduleMarkdown } from './markdown.ts';

const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

describe('the page', () => {
  test('[SCHED8] it has every date, its entries, and their paths', () => {
    const page = scheduleMarkdown();
    for (const { date, title, operations } of SCHEDULE) {
      const [, ofDate = ''] = page.split(`\n## ${date}\n`);
      const [, ofEntry = ''] = ofDate.split('\n## ')[0]!.split(`\n### ${title}\n`);
      const text = `${date} ${title}\n${ofEntry.split('\n### ')[0]}`;
      for (const { path } of operations) expect(text).toContain(`| \`${path}\` |`);
      expect(ofEntry, title).not.toBe('');
    }
  });
});

describe('the calendar', () => {
  const text = scheduleCalendar({ nowMs: NOW_MS });
  const unfolded = text.replaceAll('\r\n ', '');

  test('[SCHED9] it has one all-day event for each entry', () => {
    const events = unfolded.split('BEGIN:VEVENT').slice(1);
    expect(events).toHaveLength(25);
    for (const [index, { id, date, title }] of SCHEDULE.entries()) {
      const lines = events[index]!.split('\r\n');
      expect(lines).toContain(`UID:${id}@${EMULATOR}`);
      expect(lines).toContain('DTSTAMP:20260102T030405Z');
      expect(lines).toContain(`DTSTART;VALUE=DATE:${date.replaceAll('-', '')}`);
      expect(lines).toContain(`SUMMARY:${title.replaceAll(',', '\\,')}`);
    }
    expect(text.startsWith('BEGIN:VCALENDAR\r\nVERSION:2.0\r\n')).toBe(true);
    expect(text.endsWith('END:VCALENDAR\r\n')).toBe(true);
  });

  test('[SCHED9] lines end with CRLF and are at most 75 bytes, without a character cut', () => {
    const schedule = defineSchedule(
      [],
      [{ ...SCHEDULE[0]!, title: 'é€😀'.repeat(30), note: 'a; b, c\\d\ne' }],
    );
    const special = scheduleCalendar({ schedule, nowMs: NOW_MS });
    for (const line of [...text.split('\r\n'), ...special.split('\r\n')]) {
      expect(line).not.toMatch(/[\r\n]/);
      expect(new TextEncoder().encode(line).length).toBeLessThanOrEqual(75);
      expect(line.isWellFormed()).toBe(true);
    }
    expect(special.replaceAll('\r\n ', '')).toContain(`SUMMARY:${'é€😀'.repeat(30)}\r\n`);
    expect(special.replaceAll('\r\n ', '')).toContain('a\\; b\\, c\\\\d\\ne\r\n');
  });
});
