// Tests the Markdown page and the calendar that are made from the schedule.

import { describe, expect, test } from 'vitest';
import { EMULATOR } from '../../command-line/emulator.ts';
import { scheduleCalendar } from './calendar.ts';
import { SCHEDULE } from './data.ts';
import { defineSchedule } from './define-schedule.ts';
import { scheduleMarkdown } from './markdown.ts';

const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

describe('the page', () => {
  test('[SCHED8] the page has every date, its entries, and their paths', () => {
    const page = scheduleMarkdown();
    for (const { date, title, operations } of SCHEDULE) {
      const [, ofDate = ''] = page.split(`\n## ${date}\n`);
      const [, ofEntry = ''] = ofDate.split('\n## ')[0]!.split(`\n### ${title}\n`);
      const text = `${date} ${title}\n${ofEntry.split('\n### ')[0]}`;
      for (const { path } of operations) expect(text).toContain(`| \`${path}\` |`);
      expect(ofEntry, title).not.toBe('');
    }
  });

  test('[SCHED8] a section has the facts of its entry and a row for each path, the latest date first', () => {
    const page = scheduleMarkdown([
      {
        id: 'books',
        title: 'Books',
        date: '2026-01-01',
        announced: '2025-01-01',
        kind: 'replaced',
        operations: [
          { method: 'GET', path: '/v1/books' },
          { method: 'POST', path: '/v1/books' },
          { method: 'GET', path: '/v1/books/:book_id' },
        ],
        affected: [{ method: 'PUT', path: '/v1/shelves', inferred: true }],
        fields: [
          { in: 'request', path: 'isbn' },
          { in: 'result', path: 'isbn' },
          { in: 'result', path: 'id', equals: 'minify' },
        ],
        replacement: {
          text: 'version 2',
          operations: [
            { method: 'GET', path: '/v2/books' },
            { method: 'PUT', path: '/v2/books' },
          ],
          fields: ['name'],
        },
        note: 'A note.',
        history: [{ date: '2024-06-01' }, { date: '2025-06-01' }],
      },
      { id: 'bare', title: 'Bare', date: '2027-01-01', kind: 'transport', operations: [] },
    ]);
    const [head, ...sections] = page.split('\n## ');
    expect(head).toContain('2 entries on 2 dates, the latest first.');
    expect(sections).toEqual([
      '2027-01-01\n\n### Bare\n\n- `bare`, transport.\n',
      '2026-01-01\n\n### Books\n\n- `books`, replaced, announced on 2025-01-01.\n- Fields: `isbn`, `minify`.\n' +
        '- Replacement: version 2: `/v2/books`, `name`.\n- A note.\n' +
        '- Dates given before: 2024-06-01, 2025-06-01.\n\n| path | methods |\n|---|---|\n' +
        '| `/v1/books` | GET, POST |\n| `/v1/books/:book_id` | GET |\n| `/v1/shelves` | PUT, changes, inferred |\n',
    ]);
  });
});

describe('the calendar', () => {
  const unfolded = (text: string) => text.replaceAll('\r\n ', '');

  test('[SCHED9] the calendar has one all-day event for each entry', () => {
    const text = scheduleCalendar({ nowMs: NOW_MS });
    const events = unfolded(text).split('BEGIN:VEVENT').slice(1);
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

  test('[SCHED9] an event has what ends, what changes, the replacement and the note', () => {
    const schedule = defineSchedule(
      [],
      [
        {
          id: 'books',
          title: 'Books',
          date: '2026-01-01',
          kind: 'replaced',
          operations: [{ method: 'GET', path: '/books' }],
          affected: [{ method: 'PUT', path: '/shelves' }],
          replacement: { text: 'version 2' },
          note: 'A note.',
        },
        { id: 'bare', title: 'Bare', date: '2027-01-01', kind: 'transport', operations: [] },
      ],
    );
    const event = (id: string, title: string, day: string, description: string, kind: string) => [
      'BEGIN:VEVENT',
      `UID:${id}@${EMULATOR}`,
      'DTSTAMP:20260102T030405Z',
      `DTSTART;VALUE=DATE:${day}`,
      `SUMMARY:${title}`,
      `DESCRIPTION:${description}`,
      `CATEGORIES:${kind}`,
      'TRANSP:TRANSPARENT',
      'END:VEVENT',
    ];
    const facts = 'Ends: GET /books\\nChanges: PUT /shelves\\nReplacement: version 2\\nA note.';
    expect(unfolded(scheduleCalendar({ schedule, nowMs: NOW_MS })).split('\r\n')).toEqual([
      'BEGIN:VCALENDAR',
      'VERSION:2.0',
      `PRODID:-//${EMULATOR}//Deprecation schedule//EN`,
      'CALSCALE:GREGORIAN',
      ...event('books', 'Books', '20260101', facts, 'replaced'),
      ...event('bare', 'Bare', '20270101', '', 'transport'),
      'END:VCALENDAR',
      '',
    ]);
  });

  test('[SCHED9] lines end with CRLF and are at most 75 bytes, without a character cut', () => {
    const schedule = defineSchedule(
      [],
      [{ ...SCHEDULE[0]!, title: 'é€😀'.repeat(30), note: 'a; b, c\\d\ne' }],
    );
    const text = scheduleCalendar({ nowMs: NOW_MS });
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
