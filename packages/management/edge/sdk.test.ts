// Tests that five versions of the real SDK work with the emulator.

import Cloudflare7 from 'cloudflare';
import Cloudflare3 from 'cloudflare-3';
import Cloudflare4 from 'cloudflare-4';
import Cloudflare5 from 'cloudflare-5';
import Cloudflare6 from 'cloudflare-6';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ACCOUNT_ID, startProvider, type TestProvider } from '../e2e/provider.ts';

let provider: TestProvider;
beforeAll(async () => {
  provider = await startProvider();
});
afterAll(() => provider.close());

/** Five versions of the real SDK, unmodified; only their address and `fetch` are set. */
const SDKS = {
  '3.5.0': Cloudflare3,
  '4.5.0': Cloudflare4,
  '5.2.0': Cloudflare5,
  '6.5.0': Cloudflare6,
  '7.3.0': Cloudflare7,
};

/**
 * Makes a client of that version. Its type is the newest version's, because every method called here exists in all
 * versions.
 */
function clientOf(version: keyof typeof SDKS, headers: Record<string, string> = {}) {
  const Sdk = SDKS[version] as unknown as typeof Cloudflare7;
  return new Sdk({
    apiToken: 'any',
    baseURL: provider.baseUrl,
    fetch: provider.sdkFetch as typeof fetch,
    defaultHeaders: headers,
  });
}

const versions = Object.keys(SDKS) as (keyof typeof SDKS)[];

async function all<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of pages) items.push(item);
  return items;
}

describe.each(versions)('cloudflare %s', (version) => {
  const name = `sdk-${version.replaceAll('.', '-')}.example`;

  test('[MG39] zones are created, listed, edited and deleted', async () => {
    const client = clientOf(version);
    const zone = await client.zones.create({ name, account: { id: ACCOUNT_ID }, type: 'full' });
    expect((await all(client.zones.list({ name }))).map(({ id }) => id)).toEqual([zone.id]);
    const account = { account: { id: ACCOUNT_ID }, name };
    expect(await all(client.zones.list(account))).toHaveLength(1);
    const zone_id = zone.id;
    expect((await client.zones.edit({ zone_id, paused: true })).paused).toBe(true);
    expect((await client.zones.get({ zone_id })).paused).toBe(true);
    expect(await client.zones.delete({ zone_id })).toEqual({ id: zone_id });
    expect(await all(client.accounts.list())).toHaveLength(2);
    const got = await client.accounts.get({ account_id: ACCOUNT_ID });
    expect(got).toMatchObject({ id: ACCOUNT_ID, name: 'First' });
  });

  test('[MG39] records are paged to their end, changed and deleted', async () => {
    const client = clientOf(version);
    const zone_id = (await provider.newZone()).id;
    for (let i = 0; i < 7; i++) {
      await client.dns.records.create({
        zone_id,
        type: 'A',
        name: `h${i}`,
        content: `192.0.2.${i}`,
        ttl: 1,
      });
    }
    const records = await all(client.dns.records.list({ zone_id, per_page: 3 }));
    expect(records.map(({ content }) => content).sort()).toEqual(
      Array.from({ length: 7 }, (_, i) => `192.0.2.${i}`),
    );
    const { id } = records[0]! as { id: string };
    const form = { zone_id, type: 'TXT', name: 'text', content: 'x', ttl: 60 } as const;
    expect(await client.dns.records.update(id, form)).toMatchObject({ id, type: 'TXT', ttl: 60 });
    const edited = await client.dns.records.edit(id, { ...form, content: 'y' });
    expect(edited).toMatchObject({ id, content: 'y' });
    expect(await client.dns.records.get(id, { zone_id })).toMatchObject({ content: 'y' });
    expect(await client.dns.records.delete(id, { zone_id })).toEqual({ id });
    expect(await all(client.dns.records.list({ zone_id, type: 'TXT' }))).toEqual([]);
  });

  test('[MG39] settings are read and written, also retired ones on their days', async () => {
    const client = clientOf(version);
    const old = clientOf(version, { 'x-emulator-date': '2024-08-14' });
    const zone_id = (await provider.newZone()).id;
    type Edit = Parameters<typeof client.zones.settings.edit>[1];
    const edit = { zone_id, id: 'ssl', value: 'strict' } as Edit;
    expect(await client.zones.settings.edit('ssl', edit)).toMatchObject({ value: 'strict' });
    expect(await client.zones.settings.get('ssl', { zone_id })).toMatchObject({ value: 'strict' });
    expect(await old.zones.settings.get('brotli', { zone_id })).toMatchObject({ value: 'on' });
    const { pools } = clientOf(version, { 'x-emulator-date': '2023-04-02' }).loadBalancers;
    const account_id = ACCOUNT_ID;
    const notification_email = 'a@example.com';
    const form = { account_id, name: 'one', origins: [{ name: 'a', address: '192.0.2.1' }] };
    const pool = await pools.create({ ...form, notification_email });
    expect(await pools.get(pool.id!, { account_id })).toMatchObject({ notification_email });
    expect(await all(pools.list({ account_id }))).toContainEqual(pool);
    await pools.delete(pool.id!, { account_id });
    expect(await client.pageShield.update({ zone_id, enabled: true })).toMatchObject({
      enabled: true,
    });
  });

  test('[MG39] errors carry status and codes; a gone operation is requested once', async () => {
    const calls: string[] = [];
    const Sdk = SDKS[version] as unknown as typeof Cloudflare7;
    const client = new Sdk({
      apiToken: 'any',
      baseURL: provider.baseUrl,
      fetch: ((url: string, init: RequestInit) => {
        calls.push(url);
        return provider.sdkFetch(url, init);
      }) as typeof fetch,
    });
    const zone_id = (await provider.newZone()).id;
    const bad = { zone_id, type: 'A', name: 'a', content: 'x', ttl: 1 } as const;
    await expect(client.dns.records.create(bad)).rejects.toMatchObject({
      status: 400,
      errors: [{ code: 9005 }],
    });
    await expect(client.zones.get({ zone_id: 'f'.repeat(32) })).rejects.toMatchObject({
      status: 404,
    });
    calls.length = 0;
    await expect(client.get(`/zones/${zone_id}/firewall/rules`)).rejects.toMatchObject({
      status: 410,
      errors: [{ code: 1410 }],
    });
    expect(calls).toHaveLength(1);
    await expect(
      clientOf(version, { 'x-emulator-date': '2024-09-30' }).dns.records.create(bad),
    ).rejects.toMatchObject({ errors: [{ code: 1004, error_chain: [{ code: 9005 }] }] });
  });
});

test('[MG39] image uploads are multipart forms; DNS settings have methods of their own', async () => {
  const client = clientOf('7.3.0');
  const upload = await client.images.v2.directUploads.create({
    account_id: ACCOUNT_ID,
    id: 'from-sdk',
    metadata: { key: 'value' },
    requireSignedURLs: true,
  });
  expect(upload).toMatchObject({ id: 'from-sdk' });
  const zone_id = (await provider.newZone()).id;
  const settings = await client.dns.settings.zone.edit({ zone_id, flatten_all_cnames: true });
  expect(settings.flatten_all_cnames).toBe(true);
  const account = await client.dns.settings.account.get({ account_id: ACCOUNT_ID });
  expect(account.zone_defaults.multi_provider).toBe(false);
});
