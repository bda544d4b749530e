// Tests the parameters that lists accept: the filters and orders of the SDK's types work, and everything else is
// refused.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ACCOUNT_ID, OTHER_ACCOUNT_ID, startProvider, type TestProvider } from '../e2e/provider.ts';

let provider: TestProvider;
let records: string;
beforeAll(async () => {
  provider = await startProvider();
  const zone = await provider.newZone();
  records = `/zones/${zone.id}/dns_records`;
  for (const form of [
    { type: 'A', name: 'a', content: '192.0.2.1', proxied: true, comment: 'Main' },
    { type: 'TXT', name: 'b', content: 'two' },
  ]) {
    await provider.call(`POST ${records}`, { body: form });
  }
});
afterAll(() => provider.close());

const names = async (path: string) => {
  const got = await provider.call(`GET ${path}`);
  expect(got.body.errors).toEqual([]);
  return got.body.result.map(({ name }: { name: string }) => name);
};

const LISTS: Readonly<Record<string, readonly string[]>> = {
  zones: ['order=', 'order=bogus', 'direction=up', 'match=', 'status=', 'status=gone', 'type=none'],
  accounts: ['direction=', 'direction=up', 'order=name'],
  records: ['order=', 'order=id', 'type=', 'type=a', 'type=A,TXT', 'proxied=', 'proxied=1'],
  pools: ['order=name', 'monitor='],
  rules: ['action=block', 'description=x', 'order=id'],
};

const EVERYWHERE = ['filter=x', 'nmae=x', '__proto__=1', 'constructor=1', 'page=', '=x'];

describe('a list', () => {
  test.each(Object.entries(LISTS))(
    '[MG16] the list of %s refuses unknown parameters and words',
    async (list, queries) => {
      const paths: Readonly<Record<string, string>> = {
        zones: '/zones',
        accounts: '/accounts',
        records,
        pools: `/accounts/${ACCOUNT_ID}/load_balancers/pools`,
        rules: records.replace('dns_records', 'firewall/rules'),
      };
      expect((await provider.call(`GET ${paths[list]}`, { at: '2024-01-01' })).status).toBe(200);
      for (const query of [...queries, ...EVERYWHERE]) {
        const got = await provider.call(`GET ${paths[list]}?${query}`, { at: '2024-01-01' });
        expect(got.status, query).toBe(400);
        expect([1400, 1402], query).toContain(got.body.errors[0].code);
      }
    },
  );

  test.each([
    [
      '/accounts',
      'nmae=x',
      'The list has no parameter "nmae"; it has name, direction, page, per_page.',
    ],
    ['/accounts', 'name=', 'name is empty; leave it out to list all items.'],
    ['/accounts', 'direction=up', 'direction is "up"; it must be asc or desc.'],
    [
      '/zones',
      'type=full,none',
      'type is "full,none"; it must be full or partial or secondary or internal.',
    ],
    ['/accounts', 'page=0', 'page is "0"; it must be an integer from 1 to 9007199254740991.'],
    ['/accounts', 'per_page=1001', 'per_page is "1001"; it must be an integer from 1 to 1000.'],
  ])(
    '[MG16] %s?%s is refused by its name, with the values that it takes',
    async (path, query, message) => {
      const got = await provider.call(`GET ${path}?${query}`);
      expect(got).toMatchObject({ status: 400, body: { errors: [{ message }] } });
    },
  );

  test('[MG16] two spellings of one parameter are refused, as one parameter sent twice', async () => {
    const query = 'name.contains=a&name[contains]=b';
    const got = await provider.call(`GET ${records}?${query}`);
    expect(got.status).toBe(400);
    expect(got.body.errors[0].message).toBe(
      'name.contains is sent in two spellings; send it once.',
    );
  });

  test('[MG16] a parameter that is repeated is refused by its name, unless the list takes several words', async () => {
    const pools = `/accounts/${ACCOUNT_ID}/load_balancers/pools`;
    for (const [path, name, value] of [
      ['/zones', 'name', 'a'],
      ['/zones', 'status', 'active'],
      ['/zones', 'page', '1'],
      ['/accounts', 'direction', 'asc'],
      [records, 'search', 'a'],
      [records, 'name[contains]', 'a'],
      [records, 'type', 'A'],
      [pools, 'monitor', 'a'],
    ]) {
      expect((await provider.call(`GET ${path}?${name}=${value}`)).status, name).toBe(200);
      const got = await provider.call(`GET ${path}?${name}=${value}&${name}=${value}`);
      expect(got.status, name).toBe(400);
      expect(got.body.errors[0].message).toContain(`${name} is sent several times; send it once.`);
    }
    const several = await provider.call('GET /zones?type=full&type=partial');
    expect(several.status).toBe(200);
  });

  test.each([
    'name',
    'content',
    'comment',
    'search',
    'name.contains',
    'name[contains]',
    'comment.exact',
  ])('[MG16] an empty text is refused as a filter: %s=', async (name) => {
    const got = await provider.call(`GET ${records}?${name}=`);
    expect(got).toMatchObject({ status: 400, body: { errors: [{ code: 1400 }] } });
  });

  test('[MG16] tags and shadow metadata, which are not emulated, are refused', async () => {
    for (const query of ['tag.present=x', 'tag_match=any', 'include_shadow_metadata=true']) {
      expect((await provider.call(`GET ${records}?${query}`)).status, query).toBe(400);
    }
  });

  test('[MG16] `search` counts whatever `match` says', async () => {
    expect(await names(`${records}?match=any&type=TXT&proxied=true&search=main`)).toEqual([
      expect.stringMatching(/^a\./),
    ]);
  });
});

describe('the list of zones', () => {
  beforeAll(async () => {
    const forms = [
      { name: 'z.example', account: { id: ACCOUNT_ID }, type: 'full' },
      { name: 'y.example', account: { id: OTHER_ACCOUNT_ID }, type: 'partial' },
      { name: 'x.example', account: { id: ACCOUNT_ID }, type: 'internal' },
    ];
    for (const body of forms) await provider.call('POST /zones', { body });
  });
  const own = (all: readonly string[]) => all.filter((name) => /^[xyz]\./.test(name));
  const listed = async (query: string) => own(await names(`/zones?${query}`));

  test('[MG16] orders are those of the SDK', async () => {
    const [z, y] = ['z.example', 'y.example'];
    expect(await listed('order=name')).toEqual([y, z]);
    expect(await listed('order=account.name')).toEqual([z, y]);
    expect(await listed('order=account.name&direction=desc')).toEqual([y, z]);
    expect(await listed('order=account.id')).toEqual([z, y]);
    for (const order of ['status', 'plan.id']) {
      expect(await listed(`order=${order}`)).toEqual([z, y]);
    }
  });

  test('[MG16] types can be several; internal zones are listed where they are asked for', async () => {
    expect(await listed('type=partial,internal&order=name')).toEqual(['x.example', 'y.example']);
    expect(await listed('type=partial&type=full&order=name')).toEqual(['y.example', 'z.example']);
    expect(await listed('')).not.toContain('x.example');
  });

  test('[MG16] every zone is active, also where any filter may match', async () => {
    expect(await listed('status=active')).toHaveLength(2);
    expect(await listed('status=active&name=z.example&match=any')).toHaveLength(2);
    expect(await listed('status=pending')).toEqual([]);
    expect(await listed('status=moved&name=z.example&match=any')).toEqual(['z.example']);
  });

  test('[MG16] accounts of one name are all meant', async () => {
    const zones = ['v.example', 'w.example'];
    for (const name of zones) {
      const { body } = await provider.call('POST /accounts', { body: { name: 'Twin' } });
      const account = { id: body.result.id };
      await provider.call('POST /zones', { body: { name, account } });
    }
    expect(await names('/zones?account.name=Twin&order=name')).toEqual(zones);
  });

  test.each(['contains:z', 'not_equal:z.example', 'starts_with_case_sensitive:z'])(
    '[MG16] the operator in name=%s is refused, not taken for a part of the name',
    async (value) => {
      for (const filter of ['name', 'account.name']) {
        expect((await provider.call(`GET /zones?${filter}=${value}`)).status).toBe(400);
      }
    },
  );
});

test('[MG16] pools are filtered by their monitor', async () => {
  const pools = `/accounts/${ACCOUNT_ID}/load_balancers/pools`;
  for (const [name, monitor] of [
    ['one', 'm1'],
    ['two', 'm2'],
  ]) {
    const body = { name, monitor, origins: [] };
    expect((await provider.call(`POST ${pools}`, { body })).status).toBe(200);
  }
  expect(await names(`${pools}?monitor=m2`)).toEqual(['two']);
});
