// Tests the resources of the newest interface, and the groups of items that end: what is created is shown, changed and
// deleted.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ACCOUNT_ID, startProvider, type TestProvider } from '../e2e/provider.ts';

let provider: TestProvider;
beforeAll(async () => {
  provider = await startProvider();
});
afterAll(() => provider.close());

async function result(operation: string, body?: unknown) {
  const got = await provider.call(operation, { body });
  expect(got).toMatchObject({ status: 200 });
  return got.body.result;
}

describe('zones and accounts', () => {
  test('[MG14] a zone is created, shown, listed, changed and deleted', async () => {
    const account = await result('POST /accounts', { name: 'Third' });
    const made = await result('POST /zones', {
      name: 'Shop.Example.',
      account: { id: account.id },
    });
    expect(made).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      name: 'shop.example',
      account: { id: account.id, name: 'Third' },
      status: 'active',
      paused: false,
      created_on: '2026-01-01T00:00:00.000Z',
    });
    expect(await result(`GET /zones/${made.id}`)).toEqual(made);
    expect(await result(`GET /zones?account.id=${account.id}`)).toEqual([made]);
    expect(await result('GET /zones?account.name=Third&name=shop.example')).toEqual([made]);
    expect(await result(`GET /zones?account.id=${account.id}&name=other.example`)).toEqual([]);
    const changed = await result(`PATCH /zones/${made.id}`, { paused: true, type: 'partial' });
    expect(changed).toMatchObject({ paused: true, type: 'partial', name: 'shop.example' });
    expect(await result('GET /zones?type=partial')).toEqual([changed]);
    await result(`POST /zones/${made.id}/dns_records`, { type: 'TXT', name: '@', content: 'x' });
    expect(await result(`DELETE /zones/${made.id}`)).toEqual({ id: made.id });
    expect((await provider.call(`GET /zones/${made.id}`)).status).toBe(404);
    const again = await result('POST /zones', {
      name: 'shop.example',
      account: { id: account.id },
    });
    expect(again.id).not.toBe(made.id);
    expect(await result(`GET /zones/${again.id}/dns_records`)).toEqual([]);
  });

  test('[MG14] an account is created, listed and replaced; its zones show its name', async () => {
    const settings = { enforce_twofactor: true };
    const made = await result('POST /accounts', { name: 'Fourth', settings });
    expect(made).toMatchObject({ name: 'Fourth', type: 'standard', settings });
    expect(await result('GET /accounts?name=fourth')).toEqual([made]);
    const zone = await provider.newZone(made.id);
    const renamed = await result(`PUT /accounts/${made.id}`, { ...made, name: 'Fifth' });
    expect(renamed).toEqual({ ...made, name: 'Fifth' });
    expect(await result(`GET /accounts/${made.id}`)).toEqual(renamed);
    expect((await result(`GET /zones/${zone.id}`)).account).toEqual({ id: made.id, name: 'Fifth' });
  });
});

describe('DNS records', () => {
  test('[MG14] a record is created, shown, patched, replaced and deleted', async () => {
    const zone = await provider.newZone();
    const records = `/zones/${zone.id}/dns_records`;
    const form = { type: 'A', name: 'www', content: '192.0.2.1', proxied: true, comment: 'first' };
    const made = await result(`POST ${records}`, form);
    expect(made).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      ...form,
      name: `www.${zone.name}`,
      ttl: 1,
      proxiable: true,
      tags: [],
      settings: {},
      meta: {},
      created_on: expect.any(String),
      modified_on: expect.any(String),
    });
    const patched = await result(`PATCH ${records}/${made.id}`, { content: '192.0.2.2' });
    expect(patched).toEqual({ ...made, content: '192.0.2.2' });
    const replaced = await result(`PUT ${records}/${made.id}`, {
      type: 'TXT',
      name: zone.name,
      content: 'text',
    });
    expect(replaced).toMatchObject({ id: made.id, type: 'TXT', proxied: false, comment: null });
    expect(await result(`GET ${records}/${made.id}`)).toEqual(replaced);
    expect(await result(`DELETE ${records}/${made.id}`)).toEqual({ id: made.id });
    expect((await provider.call(`GET ${records}/${made.id}`)).status).toBe(404);
  });

  test('[MG14] records of data have their content from it', async () => {
    const zone = await provider.newZone();
    const make = (form: object) => result(`POST /zones/${zone.id}/dns_records`, form);
    const srv = { priority: 10, weight: 20, port: 5060, target: 'sip.example.com' };
    expect(await make({ type: 'SRV', name: '_sip._tcp', data: srv })).toMatchObject({
      name: `_sip._tcp.${zone.name}`,
      content: '20 5060 sip.example.com',
      priority: 10,
      data: srv,
    });
    const caa = { flags: 0, tag: 'issue', value: 'ca.example' };
    expect(await make({ type: 'CAA', name: '@', data: caa })).toMatchObject({
      name: zone.name,
      content: '0 issue "ca.example"',
    });
    const mx = { type: 'MX', name: '@', content: 'mx.example.com', priority: 5 };
    expect(await make(mx)).toMatchObject({ priority: 5 });
  });

  test('[MG16] pages end: a page past the end is empty', async () => {
    const zone = await provider.newZone();
    const records = `/zones/${zone.id}/dns_records`;
    for (let i = 0; i < 5; i++) {
      await result(`POST ${records}`, { type: 'A', name: `h${i}`, content: `192.0.2.${i}` });
    }
    const page = async (number: number) =>
      (await provider.call(`GET ${records}?per_page=2&page=${number}`)).body;
    const contents = async (number: number) =>
      (await page(number)).result.map(({ content }: { content: string }) => content);
    expect([await contents(1), await contents(2), await contents(3)]).toEqual([
      ['192.0.2.0', '192.0.2.1'],
      ['192.0.2.2', '192.0.2.3'],
      ['192.0.2.4'],
    ]);
    const third = await page(3);
    expect(third.result_info).toEqual({
      page: 3,
      per_page: 2,
      count: 1,
      total_count: 5,
      total_pages: 3,
    });
    expect((await page(4)).result).toEqual([]);
  });

  test('[MG16] filters and orders of the list', async () => {
    const zone = await provider.newZone();
    const records = `/zones/${zone.id}/dns_records`;
    const forms = [
      { type: 'A', name: 'alpha', content: '192.0.2.1', proxied: true, comment: 'Main' },
      { type: 'A', name: 'beta', content: '192.0.2.2', ttl: 300 },
      { type: 'TXT', name: 'alpha', content: 'hello 100% _x' },
    ];
    for (const form of forms) await result(`POST ${records}`, form);
    const contents = async (query: string) =>
      (await result(`GET ${records}?${query}`)).map(({ content }: { content: string }) => content);
    const [first, second, text] = forms.map(({ content }) => content);
    expect(await contents('type=A')).toEqual([first, second]);
    expect(await contents(`name=alpha.${zone.name}`)).toEqual([first, text]);
    expect(await contents('name.startswith=BE')).toEqual([second]);
    expect(await contents('name[endswith]=.example&type=TXT')).toEqual([text]);
    expect(await contents('content.contains=100%25 _')).toEqual([text]);
    expect(await contents('comment.present=')).toEqual([first]);
    expect(await contents('comment.absent=')).toEqual([second, text]);
    expect(await contents('proxied=true')).toEqual([first]);
    expect(await contents('search=main')).toEqual([first]);
    expect(await contents('type=TXT&proxied=true&match=any')).toEqual([first, text]);
    expect(await contents('order=content&direction=desc')).toEqual([text, second, first]);
    expect((await provider.call(`GET ${records}?order=secret`)).status).toBe(400);
  });
});

describe('groups that end', () => {
  const at = '2023-03-18';
  async function send(operation: string, body?: unknown) {
    const got = await provider.call(operation, { at, body });
    expect(got, operation).toMatchObject({ status: 200, body: { errors: [] } });
    return got.body.result;
  }

  test('[MG20] until their date, rules are created, patched, replaced and deleted, one and several at once', async () => {
    const rules = `/zones/${(await provider.newZone()).id}/firewall/rules`;
    const form = (action: string) => ({ filter: {}, action, note: 'kept' });
    const forms = ['a', 'b', 'c'].map(form);
    const created: { id: string }[] = await send(
      `POST ${rules}`,
      forms.map((one) => ({ ...one, id: 'ignored' })),
    );
    expect(created).toMatchObject(forms);
    const ids = created.map(({ id }) => id);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
    const stored = async () =>
      (await send(`GET ${rules}`)).map((rule: { id: string; action: string; note?: string }) => [
        ids.indexOf(rule.id),
        rule.action,
        rule.note,
      ]);
    await send(`PATCH ${rules}`, [
      { id: ids[0], action: 'd' },
      { id: ids[2], action: 'e' },
    ]);
    expect(await stored()).toEqual([
      [0, 'd', 'kept'],
      [1, 'b', 'kept'],
      [2, 'e', 'kept'],
    ]);
    await send(`PUT ${rules}`, [{ id: ids[1], filter: {}, action: 'f' }]);
    const patched = await send(`PATCH ${rules}/${ids[0]}`, { action: 'g' });
    expect(patched).toMatchObject([{ id: ids[0], action: 'g', note: 'kept' }]);
    const replaced = await send(`PUT ${rules}/${ids[2]}`, { filter: {}, action: 'h' });
    expect(replaced).toMatchObject({ id: ids[2], action: 'h' });
    expect(await stored()).toEqual([
      [0, 'g', 'kept'],
      [1, 'f', undefined],
      [2, 'h', undefined],
    ]);
    const deleted = await send(`DELETE ${rules}?id=${ids[0]}&id=${ids[2]}`);
    expect(deleted).toEqual([{ id: ids[0] }, { id: ids[2] }]);
    expect(await stored()).toEqual([[1, 'f', undefined]]);
    expect(await send(`DELETE ${rules}/${ids[1]}`)).toEqual({ id: ids[1] });
    expect(await stored()).toEqual([]);
  });

  test('[MG20] until its date, a bookmark is created at the id of its path, once', async () => {
    const path = `/accounts/${ACCOUNT_ID}/access/bookmarks`;
    const created = await send(`POST ${path}/b1`, { name: 'first', id: 'ignored' });
    expect(created).toMatchObject({ id: 'b1', name: 'first' });
    const again = await provider.call(`POST ${path}/b1`, { at, body: { name: 'second' } });
    expect(again).toMatchObject({ status: 400, body: { errors: [{ code: 1409 }] } });
    expect(await send(`GET ${path}`)).toEqual([created]);
    await send(`PUT ${path}/b1`, { name: 'third' });
    expect(await send(`GET ${path}/b1`)).toMatchObject({ id: 'b1', name: 'third' });
    await send(`DELETE ${path}/b1`);
    expect(await send(`GET ${path}`)).toEqual([]);
  });

  test('[MG20] groups and rules belong to their package, which exists from the start', async () => {
    const packages = `/zones/${(await provider.newZone()).id}/firewall/waf/packages`;
    const [{ id }] = await send(`GET ${packages}`);
    const [group] = await send(`GET ${packages}/${id}/groups`);
    expect(group).toMatchObject({ package_id: id, mode: 'on' });
    await send(`PATCH ${packages}/${id}/groups/${group.id}`, { mode: 'off' });
    expect(await send(`GET ${packages}/${id}/groups`)).toMatchObject([
      { id: group.id, mode: 'off' },
    ]);
    expect(await send(`GET ${packages}/${id}/rules`)).toMatchObject([
      { package_id: id, mode: 'on' },
    ]);
    const other = await provider.call(`GET ${packages}/${'e'.repeat(32)}/groups`, { at });
    expect(other).toMatchObject({ status: 404, body: { errors: [{ code: 1404 }] } });
  });
});

describe('settings and other resources', () => {
  test('[MG14] a patch changes the DNS settings of a zone that it names, and no others', async () => {
    const zone = await provider.newZone();
    const path = `/zones/${zone.id}/dns_settings`;
    const before = await result(`GET ${path}`);
    const first = { ...before, multi_provider: true, soa: { ...before.soa, ttl: 60 } };
    const patch = { soa: { ttl: 60 }, multi_provider: true };
    expect(await result(`PATCH ${path}`, patch)).toEqual(first);
    expect(await result(`GET ${path}`)).toEqual(first);
    const second = { ...first, ns_ttl: 300, soa: { ...first.soa, retry: 70 } };
    expect(await result(`PATCH ${path}`, { soa: { retry: 70 }, ns_ttl: 300 })).toEqual(second);
    expect(await result(`GET ${path}`)).toEqual(second);
  });

  test('[MG14] a patch changes the DNS settings of an account that it names, and no others', async () => {
    const { id } = await result('POST /accounts', { name: 'Settings' });
    const path = `/accounts/${id}/dns_settings`;
    await result(`PATCH ${path}`, { enforce_dns_only: true, zone_defaults: { ns_ttl: 300 } });
    const { zone_defaults, ...others } = await result(`GET ${path}`);
    expect([others, zone_defaults]).toMatchObject([{ enforce_dns_only: true }, { ns_ttl: 300 }]);
    for (const type of [
      'provider.standard',
      'provider.standard.random',
      'custom.account',
      'custom.tenant',
    ]) {
      const patch = { zone_defaults: { nameservers: { type } } };
      const changed = { ...others, zone_defaults: { ...zone_defaults, nameservers: { type } } };
      expect(await result(`PATCH ${path}`, patch)).toEqual(changed);
      expect(await result(`GET ${path}`)).toEqual(changed);
    }
  });

  test("[MG14] types of nameservers can carry the provider's own word", async () => {
    const own = await startProvider({ nameserverWord: 'brand' });
    const path = `/accounts/${ACCOUNT_ID}/dns_settings`;
    const patch = { zone_defaults: { nameservers: { type: 'brand.standard.random' } } };
    expect((await own.call(`PATCH ${path}`, { body: patch })).body.result).toMatchObject(patch);
    const old = await own.call(`GET /accounts/${ACCOUNT_ID}`, { at: '2025-03-13' });
    expect(old.body.result.settings.default_nameservers).toBe('brand.standard');
    await own.close();
  });

  test('[MG14] zone settings are read and written, one and several', async () => {
    const zone = await provider.newZone();
    const path = `/zones/${zone.id}/settings`;
    expect(await result(`GET ${path}/ssl`)).toMatchObject({
      id: 'ssl',
      value: 'off',
      editable: true,
    });
    await result(`PATCH ${path}/ssl`, { value: 'strict' });
    const items = [
      { id: 'min_tls_version', value: '1.2' },
      { id: 'ciphers', value: ['X'] },
    ];
    expect(await result(`PATCH ${path}`, { items })).toMatchObject(items);
    const all: { id: string; value: unknown }[] = await result(`GET ${path}`);
    for (const item of [...items, { id: 'ssl', value: 'strict' }]) {
      expect(all).toContainEqual(expect.objectContaining(item));
    }
    expect((await provider.call(`GET ${path}/toString`)).status).toBe(404);
  });

  test.each([`/accounts/${ACCOUNT_ID}`, '/user'])(
    '[MG14] load balancer pools of %s are created, listed, changed and deleted',
    async (owner) => {
      const path = `${owner}/load_balancers/pools`;
      const form = { name: 'pool-1', origins: [{ name: 'a', address: '192.0.2.1' }] };
      const made = await result(`POST ${path}`, form);
      expect(made).toMatchObject({ ...form, enabled: true, minimum_origins: 1 });
      expect(await result(`GET ${path}`)).toEqual([made]);
      expect(await result(`GET ${path}/${made.id}`)).toEqual(made);
      expect(await result(`PATCH ${path}/${made.id}`, { enabled: false })).toMatchObject({
        ...form,
        enabled: false,
      });
      expect(await result(`PUT ${path}/${made.id}`, { ...form, description: 'd' })).toMatchObject({
        description: 'd',
        enabled: true,
      });
      for (const wrong of [{ ...form, name: 'a b' }, { name: 'x' }, { ...form, origins: [5] }]) {
        expect((await provider.call(`POST ${path}`, { body: wrong })).status).toBe(400);
      }
      expect(await result(`DELETE ${path}/${made.id}`)).toEqual({ id: made.id });
      expect(await result(`GET ${path}`)).toEqual([]);
      expect((await provider.call(`GET ${path}/${made.id}`)).status).toBe(404);
    },
  );

  test('[MG14] page shield has settings, policies and empty observations', async () => {
    const zone = await provider.newZone();
    const path = `/zones/${zone.id}/page_shield`;
    expect(await result(`PUT ${path}`, { enabled: true })).toMatchObject({ enabled: true });
    expect(await result(`GET ${path}`)).toMatchObject({ enabled: true });
    const policy = { action: 'log', enabled: true, expression: 'true', value: "script-src 'none'" };
    const made = await result(`POST ${path}/policies`, { ...policy, description: 'p' });
    expect(
      await result(`PUT ${path}/policies/${made.id}`, { ...policy, action: 'allow' }),
    ).toMatchObject({
      action: 'allow',
    });
    expect(await result(`GET ${path}/policies`)).toMatchObject([{ id: made.id, action: 'allow' }]);
    await result(`DELETE ${path}/policies/${made.id}`);
    expect(await result(`GET ${path}/policies`)).toEqual([]);
    expect(await result(`GET ${path}/scripts`)).toEqual([]);
  });

  test('[MG14] an image upload takes an id, once', async () => {
    const path = `/accounts/${ACCOUNT_ID}/images/v2/direct_upload`;
    const made = await result(`POST ${path}`, { id: 'mine', requireSignedURLs: true });
    expect(made).toEqual({ id: 'mine', uploadURL: expect.stringContaining('mine') });
    const again = await provider.call(`POST ${path}`, { body: { id: 'mine' } });
    expect(again).toMatchObject({ status: 400, body: { errors: [{ code: 1409 }] } });
  });
});
