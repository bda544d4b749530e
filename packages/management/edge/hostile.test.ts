// Tests input that is made to break the emulator: ids with the names of JavaScript's members, deep nesting, large
// bodies and addresses.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { ACCOUNT_ID, startProvider, type TestProvider } from '../e2e/provider.ts';

let provider: TestProvider;
let zonePath: string;
beforeAll(async () => {
  provider = await startProvider();
  zonePath = `/zones/${(await provider.newZone()).id}`;
});
afterAll(() => provider.close());

const UPLOADS = `/accounts/${ACCOUNT_ID}/images/v2/direct_upload`;
const MB = 1_000_000;

async function uploaded(fields: Readonly<Record<string, string>>): Promise<number> {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  const url = `${provider.baseUrl}${UPLOADS}`;
  return (await provider.api.fetch(new Request(url, { method: 'POST', body }))).status;
}

test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf'])(
  '[MG50] the name %s of a JavaScript member is not a setting, record type, zone or account',
  async (name) => {
    const settings = `${zonePath}/settings`;
    const items = [{ id: name, value: 'on' }];
    for (const at of ['2020-01-01', '2026-01-01']) {
      const many = await provider.call(`PATCH ${settings}`, { at, body: { items } });
      expect(many.status).toBe(400);
      expect(many.body.errors[0].source.pointer).toBe('/items/0/id');
    }
    const one = await provider.call(`PATCH ${settings}/${name}`, { body: { value: 'on' } });
    expect(one.status).toBe(404);
    expect((await provider.call(`GET ${settings}/${name}`)).status).toBe(404);
    const record = { type: name, name: 'x', content: 'x' };
    expect((await provider.call(`POST ${zonePath}/dns_records`, { body: record })).status).toBe(
      400,
    );
    expect((await provider.call(`GET /zones/${name}`)).status).toBe(404);
    expect((await provider.call(`GET /accounts/${name}`)).status).toBe(404);
    const query = `GET /zones?${name}=1&${name}.contains=2`;
    expect((await provider.call(query)).status).toBe(400);
  },
);

test.each([65, 4200, 100_000, 500_000])('[MG50] JSON of %i levels is 400', async (depth) => {
  const deep = '['.repeat(depth) + ']'.repeat(depth);
  const operations = ['POST /zones', `PATCH ${zonePath}/dns_settings`, `POST ${UPLOADS}`];
  for (const operation of operations) {
    for (const body of [deep, `{"name":"a","metadata":${deep}}`]) {
      const got = await provider.call(operation, { body });
      expect(got.status).toBe(400);
      expect(got.body.errors[0].code).toBe(6007);
    }
  }
  expect(await uploaded({ metadata: deep })).toBe(400);
});

test('[MG50] JSON of 64 levels is read', async () => {
  const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  const askedWith = (levels: number) =>
    provider.call(`POST ${UPLOADS}`, { body: `{"metadata":${deep(levels - 1)}}` });
  expect((await askedWith(64)).body.errors).not.toMatchObject([{ code: 6007 }]);
  expect((await askedWith(65)).body.errors).toMatchObject([{ code: 6007 }]);
});

test('[MG50] brackets inside JSON strings do not count as levels', async () => {
  const metadata = { text: `"${'['.repeat(100)}\\` };
  expect((await provider.call(`POST ${UPLOADS}`, { body: { metadata } })).status).toBe(200);
});

test('[MG4] fields of 10 MB are 413, in JSON and in forms', async () => {
  const long = 'x'.repeat(10 * MB);
  const json = await provider.call(`POST ${UPLOADS}`, { body: { creator: long } });
  expect(json).toMatchObject({ status: 413, body: { success: false, errors: [{ code: 1416 }] } });
  expect(await uploaded({ creator: long })).toBe(413);
});

test('[MG50] an item that grows too large to keep is 413, piece by piece or by escapes', {
  tags: 'long',
}, async () => {
  expect(await uploaded({ creator: '\u0001'.repeat(0.9 * MB) })).toBe(413);
  const at = '2024-01-01';
  const rules = `${zonePath}/firewall/rules`;
  const made = await provider.call(`POST ${rules}`, { at, body: { filter: {}, action: 'block' } });
  const path = `${rules}/${made.body.result[0].id}`;
  const settings = `${zonePath}/dns_settings`;
  const statuses: number[] = [];
  for (const piece of ['mname', 'rname', 'third']) {
    const body = { [piece]: `\u{1f5c3}${'x'.repeat(0.6 * MB)}` };
    statuses.push((await provider.call(`PATCH ${path}`, { at, body })).status);
  }
  for (const piece of ['mname', 'rname']) {
    const body = { soa: { [piece]: `\u{1f5c3}${'x'.repeat(40_000)}` } };
    statuses.push((await provider.call(`PATCH ${settings}`, { body })).status);
  }
  expect(statuses).toEqual([200, 413, 413, 200, 413]);
});

test('[MG50] an address of 3 MB is 400, or of little more than 16 KiB, of little less not', async () => {
  const statusOf = async (length: number) =>
    (await provider.call(`GET /zones/${'x'.repeat(length)}`)).status;
  expect([await statusOf(16_000), await statusOf(16_500)]).toEqual([404, 400]);
  const long = 'x'.repeat(3 * MB);
  for (const path of [`/zones?name=${long}`, `/zones/${long}`, `/accounts/${long}`]) {
    expect((await provider.call(`GET ${path}`)).status).toBe(400);
  }
});
