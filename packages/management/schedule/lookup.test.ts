// Tests lookups in the schedule, custom entries, and the headers made from a lookup.

import { describe, expect, test } from 'vitest';
import { SCHEDULE } from './data.ts';
import { defineSchedule } from './define-schedule.ts';
import { deprecationHeaders } from './headers.ts';
import { type DateLike, datesOf, dayFrom, deprecations, lookup } from './lookup.ts';
import { fillPath, matchPath, normalPath } from './paths.ts';

const RULE = {
  id: 'page-rules',
  title: 'Page rules',
  date: '2026-01-01',
  kind: 'replaced',
  operations: [{ method: 'GET', path: '/zones/:zone_id/pagerules' }],
} as const;

describe('paths', () => {
  test.each([
    'zones/:zone_id/filters',
    '/zones/{zone_id}/filters/',
    '/client/v4/zones/:zone_id/filters',
    'client/v4//zones/{zone_id}/filters?page=2#top',
    'https://api.example.com/client/v4/zones/:zone_id/filters',
  ])('[SCHED3] the spelling %s becomes the one form', (spelling) => {
    expect(normalPath(spelling)).toBe('/zones/:zone_id/filters');
  });

  test('[SCHED3] the base path can be another, and is taken off in whole segments only', () => {
    expect(normalPath('/api/zones/1', '/api')).toBe('/zones/1');
    expect(normalPath('/apiary/zones', 'api/')).toBe('/apiary/zones');
    expect(normalPath('/client/v4', '/client/v4')).toBe('/');
  });

  test('[SCHED3] parameters get their values, a rest may be empty', () => {
    expect(matchPath('/zones/:zone_id/filters', '/zones/z/filters')?.params).toEqual({
      zone_id: 'z',
    });
    expect(matchPath('/zones/:zone_id/filters', '/zones/z/filters/f')).toBeUndefined();
    expect(matchPath('/a/*', '/a')?.params).toEqual({ '*': '' });
    expect(matchPath('/a/*', '/b')).toBeUndefined();
    expect(fillPath('/b/:id/*', { id: '1', '*': 'c/d' })).toBe('/b/1/c/d');
    expect(fillPath('/b/:id/*', { id: '1', '*': '' })).toBe('/b/1');
    expect(fillPath('/b/:id', {})).toBeUndefined();
  });
});

describe('lookup()', () => {
  test('[SCHED4] an operation the schedule says nothing of is live', () => {
    expect(lookup('GET', '/zones/z', '2030-01-01')).toEqual({ state: 'live' });
    expect(lookup('DELETE', '/zones/z/settings/minify', '2030-01-01').state).toBe('live');
  });

  test('[SCHED4] an operation that has ended comes with its entry, its replacement and the values of its path', () => {
    const found = lookup('post', '/accounts/a/images/v1/direct_upload', '2022-07-01');
    expect(found).toMatchObject({
      state: 'gone',
      change: {
        entry: { id: 'image-direct-upload-v1' },
        params: { account_id: 'a' },
        replacement: {
          operations: [{ method: 'POST', path: '/accounts/:account_id/images/v2/direct_upload' }],
        },
      },
    });
  });

  test('[SCHED4] an operation that stays has its changes, those in force and those to come', () => {
    const found = lookup('GET', '/zones/z/dns_records', '2024-07-14');
    expect(
      found.state === 'modified' && found.changes.map((c) => [c.entry.id, c.isInForce]),
    ).toEqual([
      ['srv-data-fields', true],
      ['dns-record-locked', true],
      ['dns-record-zone-fields', false],
    ]);
  });

  test('[SCHED4] fixed words win over parameters', () => {
    const entry = (id: string, date: string, setting: string) => {
      const operations = [{ method: 'GET', path: `/zones/:zone_id/settings/${setting}` }];
      return { ...RULE, id, date, operations };
    };
    const schedule = defineSchedule(
      [],
      [
        entry('any-setting', '2024-01-01', ':setting_id'),
        entry('minify', '2025-01-01', 'minify'),
        entry('any-setting-again', '2026-01-01', ':setting_id'),
      ],
    );
    const found = lookup('GET', '/zones/z/settings/minify', '2027-01-01', { schedule });
    expect(found).toMatchObject({
      change: { entry: { id: 'minify' }, params: { zone_id: 'z' } },
    });
  });

  test.each([
    ['fixed words first', ['minify', ':setting_id']],
    ['parameters first', [':setting_id', 'minify']],
  ])('[SCHED4] of the operations of one entry the most exact wins, %s', (_, settings) => {
    const operations = settings.map((setting) => ({
      method: 'GET',
      path: `/zones/:zone_id/settings/${setting}`,
    }));
    const schedule = defineSchedule([], [{ ...RULE, operations }]);
    const paramsOf = (setting: string) =>
      lookup('GET', `/zones/z/settings/${setting}`, '2027-01-01', { schedule });
    expect(paramsOf('minify')).toMatchObject({ change: { params: { zone_id: 'z' } } });
    expect(paramsOf('minify')).not.toHaveProperty('change.params.setting_id');
    expect(paramsOf('ssl')).toMatchObject({ change: { params: { setting_id: 'ssl' } } });
  });

  test('[SCHED4] of operations that match equally, the first wins', () => {
    const operations = ['/a/:first', '/a/:second'].map((path) => ({ method: 'GET', path }));
    const schedule = defineSchedule([], [{ ...RULE, operations }]);
    expect(lookup('GET', '/a/x', '2027-01-01', { schedule })).toMatchObject({
      change: { params: { first: 'x' } },
    });
  });

  test('[SCHED4] HEAD is looked up as GET, any other method as itself', () => {
    expect(lookup('HEAD', '/zones/z/settings/minify', '2030-01-01').state).toBe('gone');
    expect(lookup('PUT', '/zones/z/settings/minify', '2030-01-01').state).toBe('live');
  });

  test('[SCHED5] a day begins at midnight UTC, however it is given', () => {
    const before: DateLike[] = [
      '2025-06-14',
      '2025-06-14T23:59:59.999Z',
      Date.UTC(2025, 5, 15) - 1,
    ];
    const after: DateLike[] = [
      '2025-06-15',
      '2025-06-15T01:00:00+01:00',
      new Date('2025-06-15'),
      Date.UTC(2025, 5, 15),
    ];
    for (const at of before) expect(lookup('GET', '/zones/z/filters', at).state).toBe('deprecated');
    for (const at of after) expect(lookup('GET', '/zones/z/filters', at).state).toBe('gone');
  });

  test.each([
    'tomorrow',
    '2025-02-30',
    '15 June 2025',
    '',
    Number.NaN,
    1e20,
    new Date(Number.NaN),
    null as unknown as string,
  ])('[SCHED5] %s is refused with the fact and the way out', (at) => {
    expect(() => dayFrom(at)).toThrow(/is not a date; use YYYY-MM-DD/);
    expect(() => deprecations({ at })).toThrow(/is not a date/);
  });
});

describe('deprecations()', () => {
  test('[SCHED6] every entry is listed, with whether it is in force on the day', () => {
    const inForce = (at: string) => deprecations({ at }).filter((e) => e.isInForce).length;
    expect(inForce('2020-04-01')).toBe(0);
    expect(inForce('2020-04-02')).toBe(1);
    expect(inForce('2023-07-01')).toBe(9);
    expect(inForce('2025-06-15')).toBe(25);
    expect(deprecations({ at: '2020-01-01' })).toHaveLength(25);
  });

  test('[SCHED6] an entry is not known before its announcement', () => {
    const schedule = defineSchedule([], [{ ...RULE, announced: '2025-01-06' }]);
    expect(deprecations({ at: '2025-01-05', schedule })).toEqual([]);
    expect(deprecations({ at: '2025-01-06', schedule })).toHaveLength(1);
    expect(lookup('GET', '/zones/z/pagerules', '2025-01-05', { schedule }).state).toBe('live');
  });
});

test('[SCHED6] the dates of a schedule are each listed once, the earliest first', () => {
  const on = (date: string) => ({ ...RULE, date });
  const dates = datesOf([on('2026-02-01'), on('2025-01-01'), on('2026-02-01')]);
  expect(dates).toEqual(['2025-01-01', '2026-02-01']);
});

describe('defineSchedule()', () => {
  test('[SCHED2] entries are added in the order of dates, one of the same id takes its place', () => {
    const moved = { ...SCHEDULE.find(({ id }) => id === 'tunnels')!, date: '2025-12-31' };
    const schedule = defineSchedule(SCHEDULE, [RULE, moved]);
    expect(schedule).toHaveLength(26);
    expect(schedule.slice(-2).map(({ id }) => id)).toEqual(['tunnels', 'page-rules']);
  });

  test.each([
    [{ ...RULE, date: '2026-02-31' }, 'page-rules: date must be a day, YYYY-MM-DD.'],
    [{ ...RULE, date: undefined }, 'page-rules: date is missing.'],
    [{ ...RULE, kind: 'gone' }, 'page-rules: kind must be one of removed, replaced'],
    [{ ...RULE, operations: [{ method: 'FETCH', path: '/x' }] }, 'operations.0.method must be one'],
    [{ ...RULE, operations: [{ method: 'GET', path: 'x/{id}' }] }, 'operations.0.path must begin'],
    [{ ...RULE, colour: 1 }, 'page-rules: colour is not a known field.'],
    [{ ...RULE, announced: '2026-01-02' }, 'page-rules: announced must not be after date.'],
    [{ ...RULE, id: 'Page Rules' }, 'Page Rules: id must be words with hyphens.'],
    [{}, 'number 0: id is missing.'],
    [null, 'number 0: it '],
  ])('[SCHED2] %j is refused by entry and field', (entry, message) => {
    expect(() => defineSchedule(SCHEDULE, [entry])).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining(message),
      }),
    );
  });

  test('[SCHED2] two added entries of one id are refused, and a value that is not an array', () => {
    expect(() => defineSchedule([], [RULE, RULE])).toThrow('page-rules: id is used by another');
    expect(() => defineSchedule([], {} as unknown as [])).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: 'defineSchedule(): the entries must be an array.',
      }),
    );
  });
});

describe('deprecationHeaders()', () => {
  const documentation = 'https://docs.example/schedule';

  test('[MG20] an operation that ends has Deprecation, Sunset and Link, before and after', () => {
    for (const at of ['2022-06-30', '2022-07-01']) {
      const found = lookup('POST', '/accounts/a/images/v1/direct_upload', at);
      expect(deprecationHeaders(found, { documentation, base: '/client/v4' })).toEqual({
        Deprecation: '@1656633600',
        Sunset: 'Fri, 01 Jul 2022 00:00:00 GMT',
        Link:
          '</client/v4/accounts/a/images/v2/direct_upload>; rel="successor-version", ' +
          '<https://docs.example/schedule#image-direct-upload-v1>; rel="deprecation"; type="text/html"',
      });
    }
  });

  test('[MG20] the successor keeps the rest of a renamed path', () => {
    const found = lookup('GET', '/zones/z/script_monitor/scripts/s', '2022-01-01');
    expect(deprecationHeaders(found)).toMatchObject({
      Link: '</zones/z/page_shield/scripts/s>; rel="successor-version"',
    });
  });

  test.each([
    ['GET /v1/books', '/v2/books'],
    ['GET /v1/books/7', '/v2/books/7'],
    ['PATCH /v1/books/7', '/v2/books/7'],
    ['POST /v1/books', '/v2/books'],
    ['GET /v1/authors', '/v2/authors'],
    ['GET /v1/books/7/pages/8', '/v2/books/7/pages/8'],
    ['GET /v1/books/7/pages', '/v2/books/7/pages'],
    ['DELETE /v1/shelves/9', '/v2/books'],
    ['GET /v1/news', '/v2/news/read'],
    ['POST /v1/news', '/v2/news/write'],
    ['GET /v1/loans/5/days/open', '/v2/loans/5'],
  ])('[SCHED10] of several replacements, %s leads to %s', (operation, successor) => {
    const on = (path: string, methods: string) =>
      methods.split(' ').map((method) => ({ method, path }));
    const operations = [
      ...on('/v1/books', 'GET POST'),
      ...on('/v1/books/:book_id', 'GET PATCH'),
      ...on('/v1/books/:book_id/pages', 'GET'),
      ...on('/v1/books/:book_id/pages/:page', 'GET'),
      ...on('/v1/authors', 'GET'),
      ...on('/v1/shelves/:shelf', 'DELETE'),
      ...on('/v1/news', 'GET POST'),
      ...on('/v1/loans/:loan/days/open', 'GET'),
    ];
    const replacing = [
      ...on('/v2/books', 'GET POST DELETE'),
      ...on('/v2/books/:book_id', 'GET PUT'),
      ...on('/v2/books/:book_id/pages/:page', 'GET'),
      ...on('/v2/books/:book_id/pages', 'PUT'),
      ...on('/v2/authors', 'PATCH'),
      ...on('/v2/news/write', 'POST'),
      ...on('/v2/news/read', 'GET'),
      ...on('/v2/loans/days/open', 'GET'),
      ...on('/v2/loans/:loan', 'PATCH'),
    ];
    const entry = { id: 'books', title: 'Books', date: '2026-01-01', kind: 'replaced', operations };
    const replacement = { text: 'v2', operations: replacing };
    const schedule = defineSchedule([], [{ ...entry, replacement }]);
    const [method, path] = operation.split(' ') as [string, string];
    const found = lookup(method, path, '2025-01-01', { schedule });
    expect(deprecationHeaders(found)).toMatchObject({
      Link: `<${successor}>; rel="successor-version"`,
    });
  });

  test('[MG20] Deprecation is the day of the announcement where one is known', () => {
    const schedule = defineSchedule([], [{ ...RULE, announced: '2025-01-06' }]);
    const found = lookup('GET', '/zones/z/pagerules', '2025-06-01', { schedule });
    expect(deprecationHeaders(found)).toEqual({
      Deprecation: '@1736121600',
      Sunset: 'Thu, 01 Jan 2026 00:00:00 GMT',
    });
  });

  test('[MG20] an operation that changes has a link until the change, a live one nothing', () => {
    const link = (at: string) =>
      deprecationHeaders(lookup('GET', '/zones/z/settings', at), { documentation });
    expect(link('2025-03-20')).toEqual({
      Link: '<https://docs.example/schedule#cname-flattening>; rel="deprecation"; type="text/html"',
    });
    expect(link('2025-03-21')).toEqual({});
    expect(deprecationHeaders({ state: 'live' }, { documentation })).toEqual({});
  });
});
