// Tests which calls the report names on a day, and how calls are recorded.

import type { BrowserContext, Page } from '@playwright/test';
import { describe, expect, expectTypeOf, test, vi } from 'vitest';
import { SCHEDULE } from '../schedule/data.ts';
import { defineSchedule } from '../schedule/define-schedule.ts';
import { type CallLog, DeprecatedCallsError } from './call-log.ts';
import { formatReport } from './formats.ts';
import { type PageRequest, type RecordedPage, recordedCalls, recordPage } from './record-page.ts';
import { recordRequests } from './record-requests.ts';
import type { RecordedCall } from './recorded-call.ts';
import { failuresOf, reportOf } from './report.ts';

const BASE = 'https://api.example.com/client/v4';
const RECORDS = `${BASE}/zones/z/dns_records`;

function call(method: string, path: string, bodies: Partial<RecordedCall> = {}): RecordedCall {
  return { method, url: `${BASE}${path}`, requestBody: null, responseBody: null, ...bodies };
}

function rows(calls: readonly RecordedCall[], at: string) {
  return reportOf(calls, { at }).findings.map(({ level, entry, field, count }) =>
    [level, entry.id, field?.path, count].filter((part) => part !== undefined).join(' '),
  );
}

describe('operations', () => {
  const calls = [
    call('GET', '/zones/a/filters'),
    call('GET', '/zones'),
    call('GET', '/zones/b/filters?page=2'),
    call('GET', '/zones/a/settings/minify'),
  ];

  test('[REP1] a call is deprecated before its date and gone from it on', () => {
    expect(rows(calls, '2024-08-04')).toEqual(['warning minify 1', 'warning firewall-rules 2']);
    expect(rows(calls, '2024-08-05')).toEqual(['error minify 1', 'warning firewall-rules 2']);
    expect(rows(calls, '2025-06-15')).toEqual(['error minify 1', 'error firewall-rules 2']);
  });

  test('[REP1] a finding says since when, how often, and the first of the calls', () => {
    const [, finding] = reportOf(calls, { at: '2025-06-05' }).findings;
    expect(finding).toMatchObject({
      daysLeft: 10,
      count: 2,
      first: { url: `${BASE}/zones/a/filters` },
      operation: { method: 'GET', path: '/zones/:zone_id/filters' },
    });
  });

  test('[REP1] calls are counted apart from findings', () => {
    const minified = { items: [{ id: 'minify' }, { id: 'brotli' }] };
    const both = call('PATCH', '/zones/z/settings', { requestBody: minified });
    const report = reportOf([...calls, both], { at: '2024-08-01' });
    expect(report).toMatchObject({ callCount: 5, affectedCallCount: 4 });
    expect(report.findings.filter(({ level }) => level !== 'note')).toHaveLength(4);
    expect(formatReport(report, 'text')).toMatch(
      /^5 calls, on 2024-08-01: \d+ findings in 4 calls \(0 gone, 4 deprecated, \d+ to look at\)\.\n/,
    );
  });

  test('[REP12] a whole URL without the base path is another API, a path alone may omit it', () => {
    const at = '2026-01-01';
    const found = (url: string) => rows([{ method: 'GET', url }], at);
    const gone = ['error firewall-rules 1'];
    expect(found('/zones/z/filters')).toEqual(gone);
    expect(found('/client/v4/zones/z/filters')).toEqual(gone);
    expect(found('https://any.example/client/v4/zones/z/filters')).toEqual(gone);
    expect(found('https://shop.example/zones/z/filters')).toEqual([]);
    expect(found('https://shop.example/client/v5/zones/z/filters')).toEqual([]);
    expect(found('HTTP://shop.example/client/zones/z/filters')).toEqual([]);
  });

  test('[REP12] `hosts` narrows the report; a path alone has no host', () => {
    const at = '2026-01-01';
    const recorded = [...calls, { method: 'GET', url: '/zones/z/filters' }];
    expect(reportOf(recorded, { at, hosts: ['api.example.com'] }).callCount).toBe(4);
    expect(reportOf(recorded, { at, hosts: ['other.example'] })).toMatchObject({
      callCount: 0,
      affectedCallCount: 0,
      findings: [],
    });
    for (const host of ['', 'a b', 'https://api.example.com', 'api.example.com/client', 'a@b']) {
      expect(() => reportOf([], { at, hosts: [host] })).toThrow('must be a host');
    }
  });

  test('[REP1] a schedule and a base path of the user apply', () => {
    const operations = [{ method: 'GET', path: '/zones/:zone_id/pagerules' }];
    const entry = { id: 'mine', title: 'Mine', date: '2027-01-01', kind: 'removed', operations };
    const schedule = defineSchedule(SCHEDULE, [entry]);
    const recorded = [{ method: 'get', url: '/api/zones/z/pagerules' }];
    const options = { at: '2026-01-01', schedule, basePath: '/api' };
    expect(reportOf(recorded, options).findings).toMatchObject([{ entry: { id: 'mine' } }]);
    expect(reportOf(recorded, { at: '2026-01-01', schedule }).findings).toEqual([]);
  });
});

describe('the sentence of a finding', () => {
  const srv = { type: 'SRV', data: { service: '_sip' } };
  const sent = (path: string, requestBody: object) => call('POST', path, { requestBody });
  const useName = 'Use the outer name of the record alone (name).';
  const records = '/zones/:zone_id/dns_records';

  test.each([
    [
      call('GET', '/user/billing/profile'),
      '2023-06-06',
      'GET /user/billing/profile is gone since 2023-06-06. The data is shown in the account dashboard.',
      'GET /user/billing/profile',
    ],
    [
      call('GET', '/zones/z/settings/minify'),
      '2024-08-03',
      'GET /zones/:zone_id/settings/minify ends on 2024-08-05, in 2 days. Nothing replaces it.',
      'GET /zones/:zone_id/settings/minify',
    ],
    [
      call('GET', '/zones/z/dns_settings/use_apex_ns'),
      '2024-09-13',
      'GET /zones/:zone_id/dns_settings/use_apex_ns is gone since 2024-09-13. Use DNS settings of the zone ' +
        '(/zones/:zone_id/dns_settings, multi_provider, secondary_overrides).',
      'GET /zones/:zone_id/dns_settings/use_apex_ns',
    ],
    [
      sent('/zones/z/dns_records', srv),
      '2024-05-30',
      `POST ${records} was sent data.service, which ends on 2024-05-31, in 1 day. ${useName}`,
      `POST ${records} (data.service)`,
    ],
    [
      sent('/zones/z/dns_records', srv),
      '2024-06-01',
      `POST ${records} was sent data.service, which is refused since 2024-05-31. ${useName}`,
      `POST ${records} (data.service)`,
    ],
    [
      sent('/user/load_balancers/pools', { notification_email: '' }),
      '2023-04-03',
      'POST /user/load_balancers/pools was sent notification_email, which is no longer there since 2023-04-03. ' +
        "Use the provider's central notification service.",
      'POST /user/load_balancers/pools (notification_email)',
    ],
    [
      call('GET', '/zones/z/settings', { responseBody: { result: [{ id: 'minify' }] } }),
      '2030-01-01',
      'Answers to GET /zones/:zone_id/settings had minify, which is not there since 2024-08-05. Nothing replaces it.',
      'GET /zones/:zone_id/settings (minify)',
    ],
    [
      { method: 'PATCH', url: '/zones/z/dns_records/r', responseBody: null },
      '2024-05-30',
      `PATCH ${records}/:dns_record_id changes on 2024-05-31, in 1 day (Name fields in the data of SRV records); ` +
        `the recorded calls do not show whether this client is affected. ${useName}`,
      `PATCH ${records}/:dns_record_id`,
    ],
  ])(
    '[REP1] [REP2] the report of %j on %s says what, when and what to do',
    (recorded, at, message, subject) => {
      const { findings } = JSON.parse(formatReport(reportOf([recorded], { at }), 'json'));
      expect(findings).toMatchObject([{ message, subject }]);
    },
  );
});

describe('the place of a call', () => {
  const gone = (where?: string) => ({
    method: 'GET',
    url: '/zones/z/filters',
    ...(where && { where }),
  });
  const at = '2025-06-15';

  test('[REP8] the text says how often a finding was seen, and where, if that is known', () => {
    const lines = (...calls: RecordedCall[]) =>
      formatReport(reportOf(calls, { at }), 'text').split('\n').slice(2);
    expect(lines(gone())).toEqual(['      once, first: GET /zones/z/filters', '']);
    expect(lines(gone('a test'), gone())).toEqual([
      '      2 times, first: a test: GET /zones/z/filters',
      '',
    ]);
  });

  test.each([
    [undefined, undefined],
    ['a test', undefined],
    ['a b.har#log', [{ uri: 'a%20b.har' }, 'log']],
    ['folder\\a#1.har#log.entries[0]', [{ uri: 'folder/a#1.har' }, 'log.entries[0]']],
  ])('[REP8] SARIF has the place %j as %j', (where, expected) => {
    const log = JSON.parse(formatReport(reportOf([gone(where)], { at }), 'sarif'));
    const [{ locations }] = log.runs[0].results;
    expect(
      locations?.flatMap(
        (one: {
          physicalLocation: { artifactLocation: object };
          logicalLocations: { fullyQualifiedName: string }[];
        }) => [one.physicalLocation.artifactLocation, one.logicalLocations[0]!.fullyQualifiedName],
      ),
    ).toEqual(expected);
  });
});

describe('fields', () => {
  const srv = { type: 'SRV', data: { service: '_sip', port: 5060 } };

  test('[REP2] a field that is sent is deprecated, then gone', () => {
    const calls = [call('POST', '/zones/z/dns_records', { requestBody: srv })];
    expect(rows(calls, '2024-05-30')).toEqual(['warning srv-data-fields data.service 1']);
    expect(rows(calls, '2024-05-31')).toEqual(['error srv-data-fields data.service 1']);
  });

  test('[REP2] the same field of another type of record does not count', () => {
    const naptr = { type: 'NAPTR', data: { service: 'E2U+sip' } };
    expect(
      rows([call('POST', '/zones/z/dns_records', { requestBody: naptr })], '2030-01-01'),
    ).toEqual([]);
  });

  test('[REP2] the answer tells the type that a patch leaves out', () => {
    const patch = (type: string) =>
      call('PATCH', '/zones/z/dns_records/r', {
        requestBody: { data: { name: 'x' } },
        responseBody: { result: { type } },
      });
    expect(rows([patch('SRV')], '2030-01-01')).toEqual(['error srv-data-fields data.name 1']);
    expect(rows([patch('URI')], '2030-01-01')).toEqual([]);
  });

  test('[REP2] a field in an answer is a note: whether the client reads it is not known', () => {
    const responseBody = { result: [{ type: 'A' }, { type: 'A', zone_id: 'z', locked: false }] };
    const calls = [call('GET', '/zones/z/dns_records', { responseBody })];
    expect(rows(calls, '2024-07-01')).toEqual([
      'note dns-record-locked locked 1',
      'note dns-record-zone-fields zone_id 1',
    ]);
    const report = reportOf(calls, { at: '2024-07-01' });
    expect(failuresOf(report)).toEqual([]);
    expect(failuresOf(report, { strict: true })).toHaveLength(2);
  });

  test('[REP2] settings among several are seen on both ways, errors in their chain', () => {
    const items = [{ id: 'ipv6' }, { id: 'cname_flattening', value: 'on' }];
    const errors = [{ code: 1004, error_chain: [{ code: 9005 }] }];
    const calls = [
      call('PATCH', '/zones/z/settings', { requestBody: { items } }),
      call('GET', '/zones/z/settings', { responseBody: { result: items } }),
      call('POST', '/zones/z/dns_records', { responseBody: { errors } }),
      call('PUT', '/accounts/a', { requestBody: { settings: { default_nameservers: 'x' } } }),
    ];
    expect(rows(calls, '2024-09-30')).toEqual([
      'warning account-nameservers settings.default_nameservers 1',
      'warning cname-flattening items[].id 1',
      'note dns-validation-error-chain error_chain 1',
      'note cname-flattening id 1',
    ]);
  });

  test('[REP2] an unrecorded answer leaves a note until no answer has the field; an unrecorded request, for ever', () => {
    const list = { method: 'GET', url: RECORDS, requestBody: null };
    // Answers have `zone_id` until 2024-11-29.
    expect(reportOf([list], { at: '2024-11-29' }).findings).toMatchObject([
      { level: 'note', isGuess: true, entry: { id: 'dns-record-zone-fields' } },
    ]);
    expect(reportOf([list], { at: '2024-11-30' }).findings).toEqual([]);
    // A client may send `data` of SRV records, which ended on 2024-05-31, on any later day.
    const post = { method: 'POST', url: RECORDS };
    expect(reportOf([post], { at: '2030-01-01' }).findings).toMatchObject([
      { level: 'note', isGuess: true, entry: { id: 'srv-data-fields' } },
    ]);
  });
});

describe('recordRequests()', () => {
  const answer = { result: { type: 'A', zone_id: 'z' }, success: true };

  test('[REP3] the recording fetch passes on request and answer unchanged, and records both', async () => {
    const sent: unknown[] = [];
    const { fetch, log } = recordRequests(
      async (input, init) => {
        sent.push(await new Request(input, init).json());
        return Response.json(answer, { status: 201 });
      },
      { where: () => 'test 1' },
    );
    const body = { type: 'SRV', data: { proto: '_tcp' } };
    const init = { method: 'POST', body: JSON.stringify(body) };
    const responses = [
      await fetch(RECORDS, init),
      await fetch(new URL(RECORDS), init),
      await fetch(new Request(RECORDS, init)),
    ];
    for (const response of responses) {
      expect(response.status).toBe(201);
      expect(await response.json()).toEqual(answer);
    }
    expect(sent).toEqual([body, body, body]);
    const recorded = { method: 'POST', url: RECORDS, where: 'test 1' };
    const whole = { ...recorded, requestBody: body, responseBody: answer };
    expect(await log.calls()).toEqual([whole, whole, whole]);
  });

  test('[REP3] bodies are left alone where the schedule has nothing to look for in them', async () => {
    const response = Response.json(answer);
    let sent: Request | undefined;
    const { fetch, log } = recordRequests(async (input, init) => {
      sent = new Request(input, init);
      return response;
    });
    const url = `${BASE}/zones/z/filters`;
    const request = new Request(url, { method: 'POST', body: '{"type":"SRV"}' });
    const clones = [vi.spyOn(request, 'clone'), vi.spyOn(response, 'clone')];
    expect(await fetch(request)).toBe(response);
    expect(await log.calls()).toEqual([{ method: 'POST', url }]);
    for (const clone of clones) expect(clone).not.toHaveBeenCalled();
    expect(await sent!.text()).toBe('{"type":"SRV"}');
    expect(await response.json()).toEqual(answer);
  });

  test('[REP3] a call that fails is recorded, and fails for its caller', async () => {
    const { fetch, log } = recordRequests(() => Promise.reject(new TypeError('offline')));
    await expect(fetch(RECORDS)).rejects.toThrow('offline');
    expect(await log.calls()).toEqual([{ method: 'GET', url: RECORDS, requestBody: null }]);
  });

  test('[REP3] a body that is neither text nor JSON is unknown or none', async () => {
    const { fetch, log } = recordRequests(async () => new Response('<p>', { status: 502 }));
    await fetch(RECORDS, { method: 'POST', body: new FormData() });
    await fetch(RECORDS, { method: 'POST', body: 'no json' });
    expect(await log.calls()).toEqual([
      { method: 'POST', url: RECORDS, responseBody: null },
      { method: 'POST', url: RECORDS, requestBody: null, responseBody: null },
    ]);
  });

  test('[REP4] assertNoDeprecated() passes, or throws with the list', async () => {
    const { fetch, log } = recordRequests(async () => Response.json(answer));
    await fetch(RECORDS);
    await log.assertNoDeprecated({ at: '2024-11-01' });
    await expect(log.assertNoDeprecated({ at: '2024-11-01', strict: true })).rejects.toThrow(
      'Answers to GET /zones/:zone_id/dns_records had zone_id, which ends on 2024-11-30, in 29 days.',
    );
    await fetch(`${BASE}/zones/z/filters`);
    await fetch(`${BASE}/zones/z/filters`);
    const thrown = await log.assertNoDeprecated({ at: '2025-06-15' }).catch((error) => error);
    expect(thrown).toBeInstanceOf(DeprecatedCallsError);
    expect(thrown.findings).toHaveLength(1);
    expect(thrown.message).toBe(
      'Deprecated or gone on 2025-06-15, and in how many calls:\n' +
        '  GET /zones/:zone_id/filters is gone since 2025-06-15. Use WAF custom rules. (2x)',
    );
    log.clear();
    await log.assertNoDeprecated({ at: '2025-06-15' });
    await expect(log.assertNoDeprecated({ at: 'soon' })).rejects.toThrow('"soon" is not a date');
  });
});

describe('recordPage()', () => {
  function fakePage() {
    const listeners = new Map<string, Set<(request: PageRequest) => void>>();
    const of = (event: string) =>
      listeners.get(event) ?? listeners.set(event, new Set()).get(event)!;
    const page: RecordedPage = {
      on: (event: string, listener: (request: PageRequest) => void) => of(event).add(listener),
      off: (event: string, listener: (request: PageRequest) => void) => of(event).delete(listener),
    };
    const end = (event: string, request: PageRequest) => {
      for (const listener of of(event)) listener(request);
    };
    return { page, end };
  }

  test('[REP5] pages and contexts of Playwright fit', () => {
    expectTypeOf<Page>().toExtend<RecordedPage>();
    expectTypeOf<BrowserContext>().toExtend<RecordedPage>();
  });

  const request = (text: () => Promise<string>): PageRequest => ({
    method: () => 'POST',
    url: () => RECORDS,
    postData: () => '{"type":"SRV","data":{"name":"x"}}',
    response: async () => ({ text }),
  });

  test('[REP5] requests of a page that end are recorded, until it is stopped', async () => {
    const { page, end } = fakePage();
    const { log, stop } = recordPage(page);
    end(
      'requestfinished',
      request(async () => '{"result":{"type":"SRV"}}'),
    );
    end('requestfailed', { ...request(async () => ''), response: async () => null });
    end(
      'requestfinished',
      request(() => Promise.reject(new Error('Target closed'))),
    );
    stop();
    for (const event of ['requestfinished', 'requestfailed']) {
      end(
        event,
        request(async () => '{}'),
      );
    }
    const requestBody = { type: 'SRV', data: { name: 'x' } };
    const recorded = { method: 'POST', url: RECORDS, requestBody };
    expect(await log.calls()).toEqual([
      { ...recorded, responseBody: { result: { type: 'SRV' } } },
      recorded,
      recorded,
    ]);
    const { findings } = await log.report({ at: '2025-01-01' });
    expect(findings).toMatchObject([{ level: 'error', count: 3 }]);
  });

  test('[REP5] the fixture records calls of the context while the test runs, and none after it', async () => {
    const { page, end } = fakePage();
    const call = request(async () => '{}');
    end('requestfinished', call);
    let log: CallLog | undefined;
    await recordedCalls({ context: page }, async (calls) => {
      end('requestfinished', call);
      log = calls;
    });
    end('requestfinished', call);
    expect(await log!.calls()).toMatchObject([{ method: 'POST', url: RECORDS, responseBody: {} }]);
  });

  test('[REP3] [REP5] bodies of a page are not read where the schedule names no field', async () => {
    const { page, end } = fakePage();
    const { log } = recordPage(page);
    const read = () => {
      throw new Error('A body was read.');
    };
    const url = `${BASE}/zones/z/filters`;
    end('requestfinished', {
      method: () => 'POST',
      url: () => url,
      postData: read,
      response: read,
    });
    expect(await log.calls()).toEqual([{ method: 'POST', url }]);
  });

  test('[REP5] a body that Playwright cannot read is unknown, not absent', async () => {
    const { page, end } = fakePage();
    const { log } = recordPage(page);
    const response = async () => ({ text: async () => '{}' });
    const unread = { url: () => RECORDS, postData: () => null, response };
    end('requestfinished', { ...unread, method: () => 'POST' });
    end('requestfinished', { ...unread, method: () => 'GET' });
    expect(await log.calls()).toEqual([
      { method: 'POST', url: RECORDS, responseBody: {} },
      { method: 'GET', url: RECORDS, requestBody: null, responseBody: {} },
    ]);
    const { findings } = await log.report({ at: '2025-01-01' });
    expect(findings).toMatchObject([
      { level: 'note', isGuess: true, operation: { method: 'POST' } },
    ]);
  });
});
