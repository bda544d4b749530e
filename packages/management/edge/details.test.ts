// Tests details of single calls: dates, times in answers, error pointers, paths, methods, and writers at the same time.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ACCOUNT_ID, startProvider, type TestProvider } from '../e2e/provider.ts';
import { reportOf } from '../report/report.ts';
import { dayOf } from '../schedule/day.ts';
import { lookup } from '../schedule/lookup.ts';

let provider: TestProvider;
beforeAll(async () => {
  provider = await startProvider();
});
afterAll(() => provider.close());

async function zonePath(): Promise<string> {
  return `/zones/${(await provider.newZone()).id}`;
}

describe('dates', () => {
  test.each([
    '2024-02-30T00:00:00Z',
    '2023-02-29T12:00:00+02:00',
    '2024-04-31T23:59:59.999Z',
    '2024-02-30',
    '2024-01-01T24:00:01Z',
    '2024-01-01T1:00Z',
  ])('[MG11] %s is refused, because it is not a date', async (date) => {
    expect((await provider.call('GET /zones', { at: date })).status).toBe(400);
    expect(() => lookup('GET', '/zones', date)).toThrow('is not a date');
  });

  test('[MG11] a moment is the day it has in UTC', () => {
    expect(dayOf('2024-02-29T23:30:00-01:00')).toBe('2024-03-01');
    expect(dayOf('2024-03-01T00:30:00+01:00')).toBe('2024-02-29');
  });
});

describe('times in answers', () => {
  const timesOf = ({ created_on, modified_on }: Record<string, string>) => [
    created_on,
    modified_on,
  ];
  const record = { type: 'A', name: 'dated', content: '192.0.2.77' };

  test('[MG58] times have the day of the call and the time of day of the clock, unless the header has a time', async () => {
    const own = await startProvider();
    own.clock.nowMs = Date.parse('2026-01-01T10:20:30.456Z');
    const { id } = await own.newZone();
    const records = `/zones/${id}/dns_records`;
    const made = await own.call(`POST ${records}`, { at: '2024-02-29', body: record });
    const created = '2024-02-29T10:20:30.456Z';
    expect(timesOf(made.body.result)).toEqual([created, created]);
    own.clock.nowMs += 1000;
    const path = `${records}/${made.body.result.id}`;
    const body = { comment: 'later' };
    const changed = await own.call(`PATCH ${path}`, { at: '2024-03-01', body });
    expect(timesOf(changed.body.result)).toEqual([created, '2024-03-01T10:20:31.456Z']);
    const at = '2024-07-01T01:30:00+02:00';
    const moment = await own.call(`PATCH ${path}`, { at, body });
    expect(timesOf(moment.body.result)).toEqual([created, '2024-06-30T23:30:00.000Z']);
    const today = await own.call(`PATCH ${path}`, { body });
    expect(timesOf(today.body.result)).toEqual([created, '2026-01-01T10:20:31.456Z']);
    await own.close();
  });

  test('[MG58] times have the day to which the account is pinned', async () => {
    const own = await startProvider();
    await own.api.pinAccount(ACCOUNT_ID, '2021-05-05');
    const zone = await own.newZone();
    const path = `/zones/${zone.id}`;
    const { body } = await own.call(`PATCH ${path}/settings/ssl`, { body: { value: 'full' } });
    expect(body.result.modified_on).toMatch(/^2021-05-05T/);
    const made = await own.call(`POST ${path}/dns_records`, { body: record });
    expect(timesOf(made.body.result)[0]).toMatch(/^2021-05-05T/);
    await own.close();
  });

  test('[MG58] an account that exists from the start is older than every date of the schedule', async () => {
    const { body } = await provider.call(`GET /accounts/${ACCOUNT_ID}`, { at: '2019-01-01' });
    expect(body.result.created_on).toBe('2010-01-01T00:00:00.000Z');
  });
});

describe('cname_flattening among other settings', () => {
  const at = '2025-03-20';
  const ssl = { id: 'ssl', value: 'full' };
  const flatten = (value: unknown) => ({ id: 'cname_flattening', value });

  test.each([
    [[flatten('on'), { id: 'ssl', value: 'wrong' }], '/items/1/value'],
    [[ssl, flatten('on'), flatten('off'), { id: 'nothing', value: 1 }], '/items/3/id'],
    [[ssl, flatten('maybe')], '/items/1/value'],
    [[flatten('on'), flatten('maybe')], '/items/1/value'],
    [[flatten('on'), 5], '/items/1'],
  ])('[MG27] %j is refused at %s', async (items, pointer) => {
    const path = await zonePath();
    const got = await provider.call(`PATCH ${path}/settings`, { at, body: { items } });
    expect(got.status).toBe(400);
    expect(got.body.errors[0].source.pointer).toBe(pointer);
    const { body } = await provider.call(`GET ${path}/dns_settings`);
    expect(body.result.flatten_all_cnames).toBe(false);
  });

  test('[MG27] of several values the last one holds, and each is answered', async () => {
    const path = await zonePath();
    for (const [values, flattens] of [
      [['off', 'off', 'on'], true],
      [['on', 'on', 'off'], false],
      [['on', 'off', 'on'], true],
    ] as const) {
      const [first, ...others] = values.map(flatten);
      const items = [first, ssl, ...others];
      const { body } = await provider.call(`PATCH ${path}/settings`, { at, body: { items } });
      expect(body.result).toMatchObject(items);
      const { result } = (await provider.call(`GET ${path}/dns_settings`)).body;
      expect(result.flatten_all_cnames, values.join()).toBe(flattens);
    }
  });
});

describe('settings that have ended, among others', () => {
  test.each([
    ['minify', '2024-08-05', 'Nothing replaces it'],
    ['cname_flattening', '2025-03-21', 'flatten_all_cnames'],
  ])('[MG30] %s is refused by name, with its date and replacement', async (id, date, told) => {
    const path = await zonePath();
    const items = [
      { id: 'ssl', value: 'full' },
      { id, value: 'on' },
    ];
    const got = await provider.call(`PATCH ${path}/settings`, { at: date, body: { items } });
    expect(got.status).toBe(400);
    const [error] = got.body.errors;
    expect(error.message).toContain(`The setting "${id}" ended on ${date}.`);
    expect(error.message).toContain(told);
    expect(error.source.pointer).toBe('/items/1/id');
    expect(error.documentation_url).toMatch(/#[a-z-]+$/);
    const { body } = await provider.call(`GET ${path}/settings/ssl`);
    expect(body.result.value).not.toBe('full');
  });
});

describe('tunnels', () => {
  const path = `/accounts/${ACCOUNT_ID}/tunnels`;

  test('[MG20] the list is filtered by name until its date; then the answer says that the replacement is not here', async () => {
    const at = '2024-02-03';
    for (const name of ['first', 'second', 'First']) {
      await provider.call(`POST ${path}`, { at, body: { name, tunnel_secret: 'x' } });
    }
    const { body } = await provider.call(`GET ${path}?name=first`, { at });
    expect(body.result.map(({ name }: { name: string }) => name)).toEqual(['first']);
    expect((await provider.call(`GET ${path}?is_deleted=false`, { at })).status).toBe(400);
    const gone = await provider.call(`GET ${path}`, { at: '2024-02-04' });
    expect(gone.status).toBe(410);
    expect(gone.body.errors[0].message).toContain('the emulator does not have it');
  });
});

describe('paths and methods', () => {
  test('[MG6] an unknown zone is 404 also with a wrong body in an older form', async () => {
    const unknown = `/zones/${'e'.repeat(32)}`;
    for (const path of ['dns_settings/use_apex_ns', 'settings/cname_flattening', 'settings']) {
      const body = { items: [{ id: 'cname_flattening', value: 5 }] };
      const got = await provider.call(`PATCH ${unknown}/${path}`, { at: '2024-01-01', body });
      expect(got).toMatchObject({ status: 404, body: { errors: [{ code: 1404 }] } });
    }
    const settings = { default_nameservers: 5 };
    const got = await provider.call(`PUT /accounts/${'e'.repeat(32)}`, {
      at: '2024-01-01',
      body: { settings },
    });
    expect(got.status).toBe(404);
  });

  test.each(['/zones//ID', '/zones//ID/dns_records', '/zones/ID//filters', '//accounts//x'])(
    '[MG2] the path %s, with an empty segment, does not exist',
    async (path) => {
      const { id } = await provider.newZone();
      for (const method of ['GET', 'DELETE']) {
        const got = await provider.call(`${method} ${path.replace('ID', id)}`);
        expect(got).toMatchObject({ status: 404, body: { errors: [{ code: 7003 }] } });
        expect(got.headers.get('deprecation')).toBeNull();
      }
    },
  );

  test('[MG2] HEAD is answered as GET is, without a body', async () => {
    const [path, at] = [await zonePath(), '2025-06-14'];
    const ask = async (method: string, below: string, day = at) => {
      const headers = { 'x-emulator-date': day };
      const url = `${provider.baseUrl}${below}`;
      return provider.api.fetch(new Request(url, { method, headers }));
    };
    for (const below of [`${path}/filters`, path, '/nothing', '/emulator/schedule']) {
      const [head, get] = [await ask('HEAD', below), await ask('GET', below)];
      expect(head.status).toBe(get.status);
      expect([...head.headers]).toEqual([...get.headers]);
      expect(await head.text()).toBe('');
    }
    const gone = await ask('HEAD', `${path}/filters`, '2025-06-15');
    expect(gone.status).toBe(410);
    expect(gone.headers.get('deprecation')).toBe('@1749945600');
    const { findings } = reportOf([{ method: 'HEAD', url: `${path}/filters` }], { at });
    expect(findings).toMatchObject([{ level: 'warning', operation: { method: 'GET' } }]);
  });
});

describe('writers at the same time', () => {
  test('[MG27] each of many writers at the same time is answered with its own write', async () => {
    const types = ['custom.account', 'custom.tenant', 'provider.standard'];
    const written = Array.from({ length: 21 }, (_, i) => ({
      name: `n${i}`,
      settings: { default_nameservers: types[i % types.length] },
    }));
    const writes = written.map(async (body) => {
      const got = await provider.call(`PUT /accounts/${ACCOUNT_ID}`, { at: '2025-03-13', body });
      return [got.body.result, body];
    });
    for (const [answered, written] of await Promise.all(writes)) {
      expect(answered).toMatchObject(written);
    }
  });
});

describe('values', () => {
  test("[MG14] the provider's own word is taken for the neutral one", async () => {
    const path = `/accounts/${ACCOUNT_ID}/dns_settings`;
    for (const rest of ['standard', 'standard.random']) {
      const nameservers = { type: `cloudflare.${rest}` };
      const got = await provider.call(`PATCH ${path}`, {
        body: { zone_defaults: { nameservers } },
      });
      expect(got.body.errors).toEqual([]);
      expect(got.body.result.zone_defaults.nameservers.type).toBe(`provider.${rest}`);
    }
    const settings = { default_nameservers: 'cloudflare.standard' };
    const body = { name: 'First', settings };
    const got = await provider.call(`PUT /accounts/${ACCOUNT_ID}`, { at: '2025-03-13', body });
    expect(got.body.result.settings.default_nameservers).toBe('provider.standard');
    const wrong = { zone_defaults: { nameservers: { type: 'other.standard' } } };
    expect((await provider.call(`PATCH ${path}`, { body: wrong })).status).toBe(400);
  });

  test('[MG14] every setting that a version of the SDK has a type for is there', async () => {
    const path = `${await zonePath()}/settings`;
    const at = '2020-01-01';
    const { body } = await provider.call(`GET ${path}`, { at });
    const there = new Set(body.result.map(({ id }: { id: string }) => id));
    const ids = ['-3', '-4', '-5', '-6', ''].flatMap((version) => {
      const url = `../../../node_modules/cloudflare${version}/resources/zones/settings.d.ts`;
      const types = readFileSync(new URL(url, import.meta.url), 'utf8');
      return [...types.matchAll(/^\s+id\??: '(\w+)'/gm)].map(([, id]) => id);
    });
    expect(ids.length).toBeGreaterThan(200);
    expect([...new Set(ids)].filter((id) => !there.has(id))).toEqual([]);
    const recommender = `${path}/ssl_recommender`;
    const patched = await provider.call(`PATCH ${recommender}`, { body: { enabled: true } });
    expect(patched.body.result).toMatchObject({ id: 'ssl_recommender', enabled: true });
    expect(patched.body.result).not.toHaveProperty('value');
    const wrong = await provider.call(`PATCH ${recommender}`, { body: { value: true } });
    expect(wrong.body.errors[0].source.pointer).toBe('/enabled');
    const items = [
      { id: 'ssl_recommender', enabled: false },
      { id: 'fonts', value: 'on' },
    ];
    expect((await provider.call(`PATCH ${path}`, { body: { items } })).body.result).toMatchObject(
      items,
    );
  });
});
