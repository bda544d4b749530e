// Tests the envelope of answers, the refusal of bad input, and which day a call belongs to.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ACCOUNT_ID, OTHER_ACCOUNT_ID, startProvider, type TestProvider } from '../e2e/provider.ts';
import { SCHEDULE } from '../schedule/data.ts';
import { MovableClock } from '../schedule/movable-clock.ts';

let provider: TestProvider;
beforeAll(async () => {
  provider = await startProvider();
});
afterAll(() => provider.close());

const UNKNOWN_ID = 'e'.repeat(32);
const A_RECORD = { type: 'A', name: 'www', content: '192.0.2.1' };

function failure(code: number) {
  return {
    result: null,
    success: false,
    errors: [expect.objectContaining({ code, message: expect.any(String) })],
    messages: [],
  };
}

describe('the envelope', () => {
  test('[MG1] a success has its result, a failure its errors, each under its own status', async () => {
    const zone = await provider.newZone();
    const good = await provider.call(`GET /zones/${zone.id}`);
    expect(good).toMatchObject({ status: 200, body: { success: true, errors: [], messages: [] } });
    expect(good.headers.get('content-type')).toContain('application/json');
    const bad = await provider.call(`GET /zones/${UNKNOWN_ID}`);
    expect(bad).toMatchObject({ status: 404, body: failure(1404) });
  });
});

describe('bad input', () => {
  test('[MG2] an unknown route is 7003', async () => {
    for (const path of ['/', '/nonsense', '/zones/1/nonsense', '/zones/1/dns_records/2/3']) {
      expect(await provider.call(`GET ${path}`)).toMatchObject({
        status: 404,
        body: failure(7003),
      });
    }
  });

  test('[MG2] a wrong method is 405 and Allow lists the right ones', async () => {
    const zone = await provider.newZone();
    const rows = [
      ['PUT /zones', 'GET, POST'],
      [`POST /zones/${zone.id}`, 'GET, PATCH, DELETE'],
      [`PUT /zones/${zone.id}/dns_records`, 'GET, POST'],
      [`DELETE /zones/${zone.id}/dns_settings`, 'GET, PATCH'],
      [`PUT /zones/${zone.id}/dns_settings/use_apex_ns`, 'GET, PATCH'],
      [`PATCH /zones/${zone.id}/firewall/waf/overrides`, 'GET, POST'],
      ['OPTIONS /user/load_balancers/pools', 'GET, POST, PATCH'],
    ];
    for (const [operation, allow] of rows) {
      const got = await provider.call(operation!);
      expect(got).toMatchObject({ status: 405, body: failure(7001) });
      expect(got.headers.get('allow')).toBe(allow);
    }
  });

  test.each(['{', '[1,', 'name=x', '{"a":}'])('[MG4] the body %s is not JSON', async (body) => {
    expect(await provider.call('POST /zones', { body })).toMatchObject({
      status: 400,
      body: failure(6007),
    });
  });

  test('[MG4] a wrong type and a missing field are named by a pointer', async () => {
    const zone = await provider.newZone();
    const rows: [string, unknown, string, number][] = [
      ['POST /zones', { name: 5 }, '/name', 1400],
      ['POST /zones', { account: { id: ACCOUNT_ID } }, '/name', 1401],
      ['POST /zones', { name: 'x.example' }, '/account/id', 1401],
      ['POST /zones', [], '', 1400],
      ['POST /accounts', {}, '/name', 1401],
      [`PUT /accounts/${ACCOUNT_ID}`, { name: '' }, '/name', 1400],
      [`PATCH /zones/${zone.id}`, { paused: 'yes' }, '/paused', 1400],
      [`POST /zones/${zone.id}/dns_records`, { ...A_RECORD, ttl: 'long' }, '/ttl', 9021],
      [`POST /zones/${zone.id}/dns_records`, { ...A_RECORD, content: 'x' }, '/content', 9005],
      [`POST /zones/${zone.id}/dns_records`, { ...A_RECORD, type: 'ZZ' }, '/type', 9001],
      [`POST /zones/${zone.id}/dns_records`, { ...A_RECORD, name: 'a b' }, '/name', 9000],
      [`PATCH /zones/${zone.id}/dns_settings`, { ns_ttl: 1 }, '/ns_ttl', 1400],
      [`PATCH /zones/${zone.id}/settings/ssl`, { value: 'maybe' }, '/value', 1400],
      [`PATCH /zones/${zone.id}/settings/ssl`, {}, '/value', 1401],
      ['POST /user/load_balancers/pools', { name: 'x' }, '/origins', 1401],
      [`PUT /zones/${zone.id}/page_shield`, { enabled: 1 }, '/enabled', 1400],
      [
        `PATCH /accounts/${ACCOUNT_ID}/dns_settings`,
        { zone_defaults: { nameservers: { type: 'other' } } },
        '/zone_defaults/nameservers/type',
        1400,
      ],
    ];
    for (const [operation, body, pointer, code] of rows) {
      const got = await provider.call(operation, { body });
      expect(got.status, operation).toBe(400);
      expect(got.body.errors[0]).toMatchObject({ code, source: { pointer } });
    }
  });

  test('[MG6] a resource of an unknown zone or account is 404, and nothing is created', async () => {
    const all = async () => [
      (await provider.call('GET /zones')).body.result,
      (await provider.call('GET /accounts')).body.result,
      await provider.storedObjects(),
    ];
    await provider.newZone();
    const before = await all();
    expect(before.map(({ length }) => length > 0)).toEqual([true, true, true]);
    const rows = [
      `GET /zones/${UNKNOWN_ID}/dns_records`,
      `POST /zones/${UNKNOWN_ID}/dns_records`,
      `DELETE /zones/${UNKNOWN_ID}`,
      `PATCH /zones/${UNKNOWN_ID}/dns_settings`,
      `GET /accounts/${UNKNOWN_ID}/dns_settings`,
      `PUT /accounts/${UNKNOWN_ID}`,
    ];
    for (const operation of rows) {
      const body = operation.startsWith('GET') ? undefined : { ...A_RECORD };
      expect(await provider.call(operation, { body })).toMatchObject({
        status: 404,
        body: failure(1404),
      });
    }
    expect(await all()).toEqual(before);
  });

  test('[MG7] a duplicate is refused', async () => {
    const zone = await provider.newZone();
    const records = `/zones/${zone.id}/dns_records`;
    await provider.call(`POST ${records}`, { body: A_RECORD });
    const again = await provider.call(`POST ${records}`, { body: A_RECORD });
    expect(again).toMatchObject({ status: 400, body: failure(81058) });
    const cname = { type: 'CNAME', name: 'www', content: 'other.example' };
    const beside = await provider.call(`POST ${records}`, { body: cname });
    expect(beside).toMatchObject({ status: 400, body: failure(81053) });
    expect((await provider.call(`GET ${records}`)).body.result_info.total_count).toBe(1);
    const same = { name: zone.name.toUpperCase(), account: { id: OTHER_ACCOUNT_ID } };
    expect(await provider.call('POST /zones', { body: same })).toMatchObject({
      status: 400,
      body: failure(1061),
    });
  });

  test('[MG6] ids of another zone or account lead nowhere', async () => {
    const [mine, other] = [await provider.newZone(), await provider.newZone(OTHER_ACCOUNT_ID)];
    const { body } = await provider.call(`POST /zones/${other.id}/dns_records`, { body: A_RECORD });
    const path = `/zones/${mine.id}/dns_records/${body.result.id}`;
    for (const method of ['GET', 'PATCH', 'PUT', 'DELETE']) {
      const sent = method === 'PATCH' || method === 'PUT' ? A_RECORD : undefined;
      const got = await provider.call(`${method} ${path}`, { body: sent });
      expect(got).toMatchObject({ status: 404, body: failure(1404) });
    }
    const right = `/zones/${other.id}/dns_records/${body.result.id}`;
    expect((await provider.call(`GET ${right}`)).status).toBe(200);
  });

  test('[MG6] a token sees its accounts only', async () => {
    const tokens = {
      mine: [ACCOUNT_ID],
      other: [OTHER_ACCOUNT_ID],
      all: [ACCOUNT_ID, OTHER_ACCOUNT_ID],
    };
    const own = await startProvider({ tokens });
    const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
    const zone = { name: 'other.example', account: { id: OTHER_ACCOUNT_ID } };
    const made = await own.call('POST /zones', { ...as('all'), body: zone });
    const { id } = made.body.result;
    for (const operation of [
      `GET /zones/${id}`,
      `DELETE /zones/${id}`,
      `GET /accounts/${OTHER_ACCOUNT_ID}`,
    ]) {
      expect(await own.call(operation, as('mine'))).toMatchObject({
        status: 403,
        body: failure(9109),
      });
    }
    expect(
      (await own.call('POST /zones', { ...as('mine'), body: { ...zone, name: 'z.example' } }))
        .status,
    ).toBe(403);
    expect((await own.call('GET /zones', as('mine'))).body.result).toEqual([]);
    for (const [token, ids] of Object.entries(tokens)) {
      const accounts = (await own.call('GET /accounts', as(token))).body.result;
      expect(accounts.map(({ id: account }: { id: string }) => account)).toEqual(ids);
    }
    expect((await own.call('GET /zones', as('other'))).body.result).toMatchObject([{ id }]);
    expect((await own.call(`GET /zones/${id}`, as('all'))).status).toBe(200);
    expect(await own.call('GET /zones', as('nobody'))).toMatchObject({
      status: 401,
      body: failure(10000),
    });
    await own.close();
  });

  test.each([
    'page=0',
    'page=x',
    'page=-1',
    'page=1.5',
    'per_page=0',
    'per_page=99999999',
    'page=',
  ])('[MG16] a list refuses the page ?%s', async (query) => {
    const zone = await provider.newZone();
    for (const path of ['/zones', '/accounts', `/zones/${zone.id}/dns_records`]) {
      const got = await provider.call(`GET ${path}?${query}`);
      expect(got).toMatchObject({ status: 400, body: failure(1402) });
    }
  });

  test('[MG7] a refused call changes nothing, also one of several items', async () => {
    const zone = await provider.newZone();
    const settings = `/zones/${zone.id}/settings`;
    const items = [
      { id: 'ssl', value: 'full' },
      { id: 'min_tls_version', value: '9' },
    ];
    expect((await provider.call(`PATCH ${settings}`, { body: { items } })).status).toBe(400);
    expect((await provider.call(`GET ${settings}/ssl`)).body.result.value).toBe('off');
    const old = { at: '2025-01-01' };
    const rules = `/zones/${zone.id}/firewall/rules`;
    const body = [{ filter: {}, action: 'block' }, { filter: {} }];
    expect((await provider.call(`POST ${rules}`, { ...old, body })).status).toBe(400);
    expect((await provider.call(`GET ${rules}`, old)).body.result).toEqual([]);
    const record = await provider.call(`POST /zones/${zone.id}/dns_records`, { body: A_RECORD });
    const path = `/zones/${zone.id}/dns_records/${record.body.result.id}`;
    expect((await provider.call(`PATCH ${path}`, { body: { content: 'x' } })).status).toBe(400);
    expect((await provider.call(`GET ${path}`)).body.result).toEqual(record.body.result);
  });
});

test('[MG7] no form of a body makes the emulator itself fail', { tags: 'long' }, async () => {
  const zone = await provider.newZone();
  const operations = SCHEDULE.flatMap(({ operations, affected = [] }) => [
    ...operations,
    ...affected,
  ]).filter(({ method }) => method !== 'GET');
  const bodies = [
    null,
    'x',
    [],
    [null],
    { items: [null] },
    { data: null },
    { type: 'SRV', name: 'x', data: 5 },
    { type: 'toString', name: '..' },
    { name: 'x', settings: { default_nameservers: {} } },
    { id: {}, value: {} },
  ];
  for (const { method, path } of operations) {
    const concrete = path
      .replace(':zone_id', zone.id)
      .replace(/:account_id|:organization_id/, ACCOUNT_ID)
      .replace('/*', '')
      .replaceAll(/:\w+/g, '1');
    for (const body of bodies) {
      const sent = { at: '2020-01-01', body: JSON.stringify(body) };
      const { status, body: got } = await provider.call(`${method} ${concrete}`, sent);
      const said = `${method} ${path} ${sent.body}: ${status} ${JSON.stringify(got.errors)}`;
      expect([200, 400, 404, 405], said).toContain(status);
      expect(got.success, said).toBe(status === 200);
    }
  }
});

describe('which day it is', () => {
  const GROUP = `/accounts/${ACCOUNT_ID}/tunnels`;
  const [BEFORE, AFTER] = ['2024-02-03', '2024-02-04'];

  test('[MG11] the header of the emulator, then api-version, then the pin, then the clock', async () => {
    const provider = await startProvider({ apiVersion: true });
    const status = async (headers: Record<string, string>) =>
      (await provider.call(`GET ${GROUP}`, { headers })).status;
    provider.clock.nowMs = Date.parse(AFTER);
    expect(await status({})).toBe(410);
    provider.clock.nowMs = Date.parse(AFTER) - 1;
    expect(await status({})).toBe(200);
    await provider.api.pinAccount(ACCOUNT_ID, AFTER);
    expect(await status({})).toBe(410);
    expect(await status({ 'api-version': BEFORE })).toBe(200);
    expect(await status({ 'api-version': BEFORE, 'x-emulator-date': AFTER })).toBe(410);
    await provider.api.pinAccount(ACCOUNT_ID, null);
    expect(await status({})).toBe(200);
    await provider.close();
  });

  test('[MG11] the pin of an account holds for its zones and for no other account', async () => {
    provider.clock.nowMs = Date.parse('2026-01-01');
    const [mine, other] = [await provider.newZone(), await provider.newZone(OTHER_ACCOUNT_ID)];
    await provider.api.pinAccount(ACCOUNT_ID, '2024-01-01');
    expect((await provider.call(`GET /zones/${mine.id}/filters`)).status).toBe(200);
    expect((await provider.call(`GET /zones/${other.id}/filters`)).status).toBe(410);
    await provider.api.pinAccount(ACCOUNT_ID, null);
    expect((await provider.call(`GET /zones/${mine.id}/filters`)).status).toBe(410);
    await expect(provider.api.pinAccount('nobody', '2024-01-01')).rejects.toThrow('no account');
    await expect(provider.api.pinAccount(ACCOUNT_ID, 'soon')).rejects.toThrow('must be a date');
  });

  test.each(['yesterday', '2024-02-31', '2024-13-01', '24-01-01', ''])(
    '[MG11] the date "%s" in a header is refused',
    async (date) => {
      const provider = await startProvider({ apiVersion: true });
      for (const name of ['x-emulator-date', 'api-version']) {
        const got = await provider.call(`GET ${GROUP}`, { headers: { [name]: date } });
        expect(got).toMatchObject({ status: 400, body: failure(1412) });
      }
      await provider.close();
    },
  );

  test('[MG11] a clock that was set decides instead of api-version', async () => {
    const own = await startProvider();
    const headers = { 'api-version': BEFORE };
    expect((await own.call(`GET ${GROUP}`, { headers })).status).toBe(410);
    expect((await own.call(`GET ${GROUP}`, { headers, at: BEFORE })).status).toBe(200);
    await own.close();
  });

  test('[MG11] a movable clock decides from the first time it was moved', async () => {
    const clock = new MovableClock(undefined, { now: () => Date.parse(AFTER) });
    const own = await startProvider({ clock });
    const headers = { 'api-version': BEFORE };
    expect((await own.call(`GET ${GROUP}`, { headers })).status).toBe(200);
    clock.moveTo(AFTER);
    expect((await own.call(`GET ${GROUP}`, { headers })).status).toBe(410);
    await own.close();
  });

  test('[MG11] apiVersion says otherwise, in both directions', async () => {
    const headers = { 'api-version': BEFORE };
    const status = async (options: Parameters<typeof startProvider>[0]) => {
      const own = await startProvider(options);
      const got = await own.call(`GET ${GROUP}`, { headers });
      await own.close();
      return got.status;
    };
    expect(await status({ apiVersion: true })).toBe(200);
    const clock = new MovableClock(undefined, { now: () => Date.parse(AFTER) });
    expect(await status({ clock, apiVersion: false })).toBe(410);
  });
});
