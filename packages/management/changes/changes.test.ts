// Tests each dated change of the interface on the day before its date and on the date itself.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ACCOUNT_ID, dayBefore, startProvider, type TestProvider } from '../e2e/provider.ts';

let provider: TestProvider;
beforeAll(async () => {
  provider = await startProvider();
});
afterAll(() => provider.close());

async function result(operation: string, at: string, body?: unknown) {
  const got = await provider.call(operation, { at, body });
  expect(got).toMatchObject({ status: 200, body: { errors: [] } });
  return got.body.result;
}

describe('DNS records by date', () => {
  const FORM = { type: 'A', name: 'www', content: '192.0.2.1' };

  test.each([
    ['2024-11-30', ['zone_id', 'zone_name']],
    ['2024-07-14', ['locked']],
  ])('[MG24] until %s a record has %s, in every answer', async (date, fields) => {
    const zone = await provider.newZone();
    const path = `/zones/${zone.id}/dns_records`;
    const sent = { ...FORM, zone_id: 'x', zone_name: 5, locked: true };
    for (const at of [dayBefore(date), date]) {
      const made = await result(`POST ${path}`, at, { ...sent, name: `on-${at}` });
      const one = `${path}/${made.id}`;
      const answers = [
        made,
        await result(`GET ${one}`, at),
        await result(`PATCH ${one}`, at, { ttl: 60, locked: true }),
        await result(`PUT ${one}`, at, { ...sent, name: `on-${at}` }),
        (await result(`GET ${path}?name=on-${at}.${zone.name}`, at))[0],
      ];
      for (const record of answers) {
        for (const field of fields) expect(field in record).toBe(at !== date);
        if (at === '2024-11-29')
          expect(record).toMatchObject({ zone_id: zone.id, zone_name: zone.name });
        if (at === '2024-07-13') expect(record.locked).toBe(false);
      }
    }
  });

  const DATA = { priority: 1, weight: 2, port: 3, target: 'sip.example.com' };
  const NAMES = { service: '_sip', proto: '_tcp' };

  test.each([
    ['data alone', undefined, NAMES, '_sip._tcp.ZONE'],
    ['data with the zone', undefined, { ...NAMES, name: 'ZONE' }, '_sip._tcp.ZONE'],
    ['data with @', undefined, { ...NAMES, name: '@' }, '_sip._tcp.ZONE'],
    ['data with a base name', undefined, { ...NAMES, name: 'voice' }, '_sip._tcp.voice.ZONE'],
    ['an outer base name', 'ZONE', { ...NAMES, name: 'ZONE' }, '_sip._tcp.ZONE'],
    ['an outer base name below', 'voice', NAMES, '_sip._tcp.voice.ZONE'],
    ['an outer @', '@', NAMES, '_sip._tcp.ZONE'],
    ['a full outer name', '_xmpp._udp.voice', NAMES, '_xmpp._udp.voice.ZONE'],
    ['a full outer name alone', '_xmpp._udp', {}, '_xmpp._udp.ZONE'],
  ])('[MG25] until 2024-05-31 an SRV record is written by %s', async (_, name, names, full) => {
    const at = '2024-05-30';
    const zone = await provider.newZone();
    const path = `/zones/${zone.id}/dns_records`;
    const inZone = (text: string | undefined) => text?.replace('ZONE', zone.name);
    const data = { ...DATA, ...names, ...('name' in names && { name: inZone(names.name) }) };
    const outer = name === undefined ? {} : { name: inZone(name) };
    const made = await result(`POST ${path}`, at, { type: 'SRV', ...outer, data });
    const [service, proto, ...base] = inZone(full)!.split('.');
    const shown = { ...DATA, service, proto, name: base.join('.') };
    expect(made).toMatchObject({ name: inZone(full), data: shown });
    const replaced = await result(`PUT ${path}/${made.id}`, at, { type: 'SRV', ...outer, data });
    expect(replaced.name).toBe(inZone(full));
    const later = await result(`GET ${path}/${made.id}`, '2024-05-31');
    expect(later).toMatchObject({ name: inZone(full), data: DATA });
  });

  test('[MG25] until 2024-05-31 a patch of SRV data names the changed parts of the name', async () => {
    const at = '2024-05-30';
    const zone = await provider.newZone();
    const path = `/zones/${zone.id}/dns_records`;
    const made = await result(`POST ${path}`, at, { type: 'SRV', data: { ...DATA, ...NAMES } });
    const patch = async (body: object) => (await result(`PATCH ${path}/${made.id}`, at, body)).name;
    expect(await patch({ data: { ...made.data, port: 9 } })).toBe(made.name);
    expect(await patch({ data: { ...DATA, port: 10 } })).toBe(made.name);
    expect(await patch({ ttl: 60 })).toBe(made.name);
    expect(await patch({ data: { ...DATA, proto: '_udp' } })).toBe(`_sip._udp.${zone.name}`);
    expect(await patch({ name: 'voice', data: { ...DATA, ...NAMES } })).toBe(
      `_sip._tcp.voice.${zone.name}`,
    );
  });

  test('[MG25] a name that no part of an SRV record tells is refused, in the form of its day', async () => {
    const zone = await provider.newZone();
    const send = (at: string, body: object) =>
      provider.call(`POST /zones/${zone.id}/dns_records`, { at, body });
    for (const names of [
      {},
      { service: '_sip' },
      { proto: '_tcp' },
      { service: 5, proto: '_tcp' },
    ]) {
      const body = { type: 'SRV', data: { ...DATA, ...names } };
      const got = await send('2024-05-30', body);
      expect(got).toMatchObject({ status: 400, body: { errors: [{ code: 1004 }] } });
      expect(got.body.errors[0].error_chain[0].source.pointer).toBe('/name');
    }
    const late = await send('2024-10-01', { type: 'SRV', data: { ...DATA, ...NAMES } });
    expect(late).toMatchObject({ status: 400, body: { errors: [{ code: 9102 }] } });
  });

  test('[MG25] data of other types keeps fields of these names', async () => {
    const at = '2024-05-30';
    const path = `/zones/${(await provider.newZone()).id}/dns_records`;
    const naptr = { order: 1, preference: 1, flags: 'S', service: 'SIP+D2U', regex: '' };
    const data = { ...naptr, replacement: 'x.example' };
    const other = await result(`POST ${path}`, at, { type: 'NAPTR', name: 'n', data });
    const again = await result(`PATCH ${path}/${other.id}`, at, { data: { ...data, order: 2 } });
    expect(again.data).toEqual({ ...data, order: 2 });
  });

  test('[MG52] an SRV record without service and protocol is refused on every date', async () => {
    const zone = await provider.newZone();
    const body = { type: 'SRV', name: 'plain', data: DATA };
    for (const at of ['2024-05-30', '2024-05-31', '2024-10-01']) {
      const got = await provider.call(`POST /zones/${zone.id}/dns_records`, { at, body });
      expect(got.status, at).toBe(400);
    }
  });

  test('[MG25] from 2024-05-31 name fields of SRV data are refused', async () => {
    const at = '2024-05-31';
    const zone = await provider.newZone();
    const path = `/zones/${zone.id}/dns_records`;
    const form = { type: 'SRV', name: '_sip._tcp' };
    const { id } = await result(`POST ${path}`, at, { ...form, data: DATA });
    for (const field of ['service', 'proto', 'name']) {
      const body = { ...form, data: { ...DATA, [field]: 'x' } };
      for (const operation of [`POST ${path}`, `PUT ${path}/${id}`, `PATCH ${path}/${id}`]) {
        const got = await provider.call(operation, { at: '2024-10-01', body });
        expect(got).toMatchObject({ status: 400, body: { errors: [{ code: 9102 }] } });
        expect((await provider.call(operation, { at, body })).status).toBe(400);
      }
    }
  });

  test('[MG26] until 2024-10-01 code 1004 wraps the cause of an invalid record', async () => {
    const zone = await provider.newZone();
    const operation = `POST /zones/${zone.id}/dns_records`;
    const body = { ...FORM, content: 'no address' };
    const cause = { code: 9005, message: expect.stringContaining('IPv4') };
    const before = await provider.call(operation, { at: '2024-09-30', body });
    expect(before.status).toBe(400);
    expect(before.body.errors).toEqual([
      {
        code: 1004,
        message: 'DNS Validation Error',
        error_chain: [expect.objectContaining(cause)],
      },
    ]);
    const after = await provider.call(operation, { at: '2024-10-01', body });
    expect(after.body.errors).toEqual([expect.objectContaining(cause)]);
    expect(after.body.errors[0].error_chain).toBeUndefined();
  });
});

describe('settings that moved to the DNS settings', () => {
  test.each([
    ['off', false, 'off'],
    ['apex', false, 'off'],
    ['on', true, 'on'],
  ])('[MG27] cname_flattening %s is flatten_all_cnames %s', async (value, flag, shown) => {
    const at = '2025-03-20';
    const zone = await provider.newZone();
    const setting = `/zones/${zone.id}/settings/cname_flattening`;
    const settings = `/zones/${zone.id}/dns_settings`;
    await result(`PATCH ${settings}`, at, { flatten_all_cnames: !flag });
    expect(await result(`PATCH ${setting}`, at, { value })).toMatchObject({ value: shown });
    expect((await result(`GET ${settings}`, at)).flatten_all_cnames).toBe(flag);
    await result(`PATCH ${settings}`, '2026-01-01', { flatten_all_cnames: !flag });
    expect(await result(`GET ${setting}`, at)).toMatchObject({
      id: 'cname_flattening',
      value: flag ? 'off' : 'on',
    });
  });

  test.each([
    ['flatten_at_root', false, 'off'],
    ['flatten_all', true, 'on'],
  ])(
    '[MG27] cname_flattening %s, a word of the SDK, is answered as it was sent',
    async (value, flag, shown) => {
      const at = '2025-03-20';
      const zone = await provider.newZone();
      const settings = `/zones/${zone.id}/settings`;
      const flattens = `GET /zones/${zone.id}/dns_settings`;
      await result(`PATCH /zones/${zone.id}/dns_settings`, at, { flatten_all_cnames: !flag });
      expect(await result(`PATCH ${settings}/cname_flattening`, at, { value })).toMatchObject({
        value,
      });
      expect((await result(flattens, at)).flatten_all_cnames).toBe(flag);
      expect(await result(`GET ${settings}/cname_flattening`, at)).toMatchObject({ value: shown });
      await result(`PATCH /zones/${zone.id}/dns_settings`, at, { flatten_all_cnames: !flag });
      const items = [
        { id: 'ssl', value: 'full' },
        { id: 'cname_flattening', value },
      ];
      expect(await result(`PATCH ${settings}`, at, { items })).toMatchObject(items);
      expect((await result(flattens, at)).flatten_all_cnames).toBe(flag);
    },
  );

  test('[MG27] cname_flattening among all settings, written with the others or not at all', async () => {
    const at = '2025-03-20';
    const zone = await provider.newZone();
    const path = `/zones/${zone.id}/settings`;
    const flattens = async () =>
      (await result(`GET /zones/${zone.id}/dns_settings`, at)).flatten_all_cnames;
    const cname = { id: 'cname_flattening', value: 'on' };
    const wrong = [cname, { id: 'ssl', value: 'maybe' }];
    expect((await provider.call(`PATCH ${path}`, { at, body: { items: wrong } })).status).toBe(400);
    expect(await flattens()).toBe(false);
    const items = [{ id: 'ssl', value: 'full' }, cname, { id: 'ipv6', value: 'off' }];
    expect(await result(`PATCH ${path}`, at, { items })).toMatchObject(items);
    expect(await flattens()).toBe(true);
    expect(await result(`GET ${path}`, at)).toContainEqual(expect.objectContaining(cname));
    const after = await result(`GET ${path}`, '2025-03-21');
    expect(after.map(({ id }: { id: string }) => id)).not.toContain('cname_flattening');
    const gone = await provider.call(`PATCH ${path}`, { at: '2025-03-21', body: { items } });
    expect(gone).toMatchObject({ status: 400, body: { errors: [{ code: 1400 }] } });
    for (const value of ['flat', undefined, true]) {
      const sent = { at, body: { items: [{ id: 'cname_flattening', value }] } };
      expect((await provider.call(`PATCH ${path}`, sent)).status).toBe(400);
      const one = await provider.call(`PATCH ${path}/cname_flattening`, { at, body: { value } });
      expect(one.status).toBe(400);
    }
  });

  test.each([
    ['use_apex_ns', 'multi_provider'],
    ['secondary_overrides', 'secondary_overrides'],
  ])('[MG27] dns_settings/%s is the field %s, both ways', async (name, field) => {
    const at = '2024-09-12';
    const zone = await provider.newZone();
    const path = `/zones/${zone.id}/dns_settings`;
    expect(await result(`GET ${path}/${name}`, at)).toEqual({ enabled: false });
    expect(await result(`PATCH ${path}/${name}`, at, { enabled: true })).toEqual({ enabled: true });
    expect((await result(`GET ${path}`, '2024-09-13'))[field]).toBe(true);
    await result(`PATCH ${path}`, '2024-09-13', { [field]: false });
    expect(await result(`GET ${path}/${name}`, at)).toEqual({ enabled: false });
    for (const [body, code] of [
      [undefined, 1401],
      [{}, 1401],
      [{ enabled: 'yes' }, 1400],
    ] as const) {
      const got = await provider.call(`PATCH ${path}/${name}`, { at, body });
      const errors = [{ code, source: { pointer: '/enabled' } }];
      expect(got).toMatchObject({ status: 400, body: { errors } });
    }
  });
});

describe('nameserver defaults of accounts', () => {
  const AT = '2025-03-13';
  const typeOf = async (id: string) =>
    (await result(`GET /accounts/${id}/dns_settings`, AT)).zone_defaults.nameservers.type;
  const newAccount = async (settings?: object) =>
    await result('POST /accounts', AT, { name: 'N', ...(settings && { settings }) });

  test.each([
    ['provider.standard', 'provider.standard', false],
    ['provider.standard.random', 'provider.standard', false],
    ['custom.account', 'custom.account', true],
    ['custom.tenant', 'custom.tenant', false],
  ])('[MG27] the type %s is shown as %s and %s', async (type, name, custom) => {
    const { id } = await newAccount();
    await result(`PATCH /accounts/${id}/dns_settings`, AT, {
      zone_defaults: { nameservers: { type } },
    });
    const fields = { default_nameservers: name, use_account_custom_ns_by_default: custom };
    const account = await result(`GET /accounts/${id}`, AT);
    expect(account.settings).toMatchObject(fields);
    const listed = await result('GET /accounts?per_page=1000', AT);
    expect(listed).toContainEqual(account);
    expect(await result(`PUT /accounts/${id}`, AT, account)).toEqual(account);
    expect(await typeOf(id)).toBe(type);
    const after = await result(`GET /accounts/${id}`, '2025-03-14');
    expect(after.settings).not.toHaveProperty('default_nameservers');
    expect(after.settings).not.toHaveProperty('use_account_custom_ns_by_default');
  });

  test('[MG27] the older fields set the type, also of a new account', async () => {
    expect(await typeOf((await newAccount({ default_nameservers: 'custom.tenant' })).id)).toBe(
      'custom.tenant',
    );
    const { id } = await newAccount({ use_account_custom_ns_by_default: true });
    expect(await typeOf(id)).toBe('custom.account');
    const put = (settings: object) => result(`PUT /accounts/${id}`, AT, { name: 'N', settings });
    expect((await put({ use_account_custom_ns_by_default: false })).settings).toMatchObject({
      default_nameservers: 'provider.standard',
    });
    expect(await typeOf(id)).toBe('provider.standard');
    await put({ default_nameservers: 'custom.account' });
    expect(await typeOf(id)).toBe('custom.account');
    await put({ enforce_twofactor: true });
    expect(await typeOf(id), 'neither field was sent').toBe('custom.account');
  });

  test('[MG27] from 2025-03-14 the older fields are ignored; before, wrong values of them are refused', async () => {
    const { id } = await newAccount();
    const settings = { default_nameservers: 'custom.account' };
    await result(`PUT /accounts/${id}`, '2025-03-14', { name: 'N', settings });
    expect(await typeOf(id)).toBe('provider.standard');
    const types = 'provider.standard, custom.account, custom.tenant';
    for (const [field, value, reason] of [
      ['default_nameservers', 'provider.standard.random', `must be one of ${types}`],
      ['use_account_custom_ns_by_default', 'yes', 'must be true or false'],
    ]) {
      const body = { name: 'N', settings: { [field!]: value } };
      const got = await provider.call(`PUT /accounts/${id}`, { at: AT, body });
      const message = `settings.${field} ${reason}.`;
      const source = { pointer: `/settings/${field}` };
      expect(got).toMatchObject({
        status: 400,
        body: { errors: [{ code: 1400, message, source }] },
      });
    }
  });
});

describe('other changes', () => {
  test.each([
    ['privacy_pass', '2024-03-31', 'off'],
    ['server_side_exclude', '2024-06-14', 'off'],
    ['mobile_redirect', '2024-06-30', { status: 'on', mobile_subdomain: 'm', strip_uri: true }],
    ['minify', '2024-08-05', { css: 'on', html: 'off', js: 'on' }],
    ['brotli', '2024-08-15', 'off'],
  ])('[MG30] the setting %s is among the settings until %s', async (id, date, value) => {
    const zone = await provider.newZone();
    const path = `/zones/${zone.id}/settings`;
    const before = dayBefore(date);
    await result(`PATCH ${path}`, before, { items: [{ id, value }] });
    const item = expect.objectContaining({ id, value });
    expect(await result(`GET ${path}/${id}`, before)).toEqual(item);
    expect(await result(`GET ${path}`, before)).toContainEqual(item);
    const after = await result(`GET ${path}`, date);
    expect(after.map((one: { id: string }) => one.id)).not.toContain(id);
    const sent = { at: date, body: { items: [{ id, value }] } };
    expect((await provider.call(`PATCH ${path}`, sent)).status).toBe(400);
  });

  describe.each([`/accounts/${ACCOUNT_ID}`, '/user'])('load balancer pools of %s', (owner) => {
    const [at, after] = ['2023-04-02', '2023-04-03'];
    const path = `${owner}/load_balancers/pools`;
    const form = { name: 'one', origins: [{ name: 'a', address: '192.0.2.1' }] };
    const notification_email = 'a@example.com, b@example.com';
    let id: string;
    let one: string;
    beforeEach(async () => {
      ({ id } = await result(`POST ${path}`, at, { ...form, notification_email }));
      one = `${path}/${id}`;
    });
    afterEach(() => result(`DELETE ${one}`, at));

    test('[MG24] until 2023-04-03 they show notification_email; then it is neither shown nor checked nor changed', async () => {
      expect(await result(`GET ${one}`, at)).toMatchObject({ notification_email });
      expect(await result(`GET ${path}`, at)).toMatchObject([{ notification_email }]);
      const now = await result(`PUT ${one}`, after, { ...form, notification_email: 5 });
      expect(now).not.toHaveProperty('notification_email');
      expect(await result(`GET ${one}`, after)).not.toHaveProperty('notification_email');
      const [listed] = await result(`GET ${path}`, after);
      expect(listed.id).toBe(id);
      expect(listed).not.toHaveProperty('notification_email');
      expect(await result(`GET ${one}`, at)).toMatchObject({ notification_email });
    });

    test.each(['a@example.com,', ',', 'nobody', 5, null])(
      '[MG24] until 2023-04-03 the notification_email %j is 400',
      async (wrong) => {
        const body = { ...form, notification_email: wrong };
        expect((await provider.call(`POST ${path}`, { at, body })).status).toBe(400);
      },
    );

    test('[MG24] until 2023-04-03 a PATCH of one sets or clears notification_email, a PATCH of all only clears it, a PUT without it removes it', async () => {
      const cleared = await result(`PATCH ${one}`, at, { notification_email: '' });
      expect(cleared.notification_email).toBe('');
      const set = await result(`PATCH ${one}`, at, { notification_email });
      expect(set).toMatchObject({ notification_email });
      const all = await result(`PATCH ${path}`, at, { notification_email: '' });
      expect(all).toMatchObject([{ id, notification_email: '' }]);
      const setting = { at, body: { notification_email } };
      expect((await provider.call(`PATCH ${path}`, setting)).status).toBe(400);
      await result(`PATCH ${one}`, at, { notification_email });
      expect(await result(`PUT ${one}`, at, form)).not.toHaveProperty('notification_email');
    });
  });

  test('[MG30] until 2022-10-11 page_shield is called script_monitor', async () => {
    const at = '2022-10-10';
    const zone = await provider.newZone();
    const [old, path] = ['script_monitor', 'page_shield'].map(
      (name) => `/zones/${zone.id}/${name}`,
    );
    expect(await result(`PUT ${old}`, at, { enabled: true })).toMatchObject({ enabled: true });
    expect(await result(`GET ${path}`, '2022-10-11')).toMatchObject({ enabled: true });
    const policy = { action: 'log', enabled: true, expression: 'true', value: 'v' };
    const made = await result(`POST ${old}/policies`, at, policy);
    expect(await result(`GET ${old}/policies/${made.id}`, at)).toEqual(made);
    await result(`DELETE ${old}/policies/${made.id}`, at);
    const gone = await provider.call(`GET ${old}/scripts`, { at: '2022-10-11' });
    expect(gone.status).toBe(410);
    expect(gone.body.errors[0].message).toContain(`${path}/scripts`);
  });

  test('[MG30] until 2022-07-01 image uploads v1 give an address and no id', async () => {
    const path = `/accounts/${ACCOUNT_ID}/images/v1/direct_upload`;
    const body = { id: 'x', metadata: { a: 1 }, expiry: '2030-01-01T00:00:00Z' };
    expect(await result(`POST ${path}`, '2022-06-30', body)).toEqual({
      uploadURL: expect.any(String),
    });
    const ignored = { id: '', metadata: 'not JSON', requireSignedURLs: 'maybe' };
    await result(`POST ${path}`, '2022-06-30', ignored);
    const wrong = { at: '2022-06-30', body: { expiry: 'soon' } };
    expect((await provider.call(`POST ${path}`, wrong)).status).toBe(400);
    const gone = await provider.call(`POST ${path}`, { at: '2022-07-01', body });
    expect(gone.status).toBe(410);
    expect(gone.headers.get('link')).toContain(`/accounts/${ACCOUNT_ID}/images/v2/direct_upload`);
  });
});
