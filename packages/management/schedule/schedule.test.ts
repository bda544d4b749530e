// Tests every operation that ends: it works until the day before its date, and is refused from then on.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ChangeChain } from '../changes/change-chain.ts';
import { CHANGES } from '../changes/changes.ts';
import { ACCOUNT_ID, dayBefore, startProvider, type TestProvider } from '../e2e/provider.ts';
import { publicRoutes } from '../routes/routes.ts';
import { SCHEDULE } from './data.ts';
import type { Operation, ScheduleEntry } from './entry.ts';

let provider: TestProvider;
beforeAll(async () => {
  provider = await startProvider();
});
afterAll(() => provider.close());

const RULE = { filter: { expression: 'true' }, action: 'block' };
const FILTER = { expression: 'true' };
const LIMIT = { match: {}, action: {}, threshold: 1, period: 1 };
const TUNNEL = { name: 'one', tunnel_secret: 'secret' };
const INVITE = { invited_member_email: 'a@b.example' };

/** Sample calls for each path: the body by method, and the body that creates an item if the path needs one. */
const SAMPLES: Record<string, { bodies?: Record<string, unknown>; item?: string; made?: unknown }> =
  {
    '/zones/:zone_id/firewall/rules': {
      bodies: { POST: [RULE], PATCH: 'items', PUT: 'items', DELETE: 'items' },
      made: [RULE],
    },
    '/zones/:zone_id/firewall/rules/:rule_id': { bodies: { PATCH: RULE, PUT: RULE }, made: [RULE] },
    '/zones/:zone_id/filters': {
      bodies: { POST: [FILTER], PUT: 'items', DELETE: 'items' },
      made: [FILTER],
    },
    '/zones/:zone_id/filters/:filter_id': { bodies: { PUT: FILTER }, made: [FILTER] },
    '/zones/:zone_id/firewall/waf/packages/:package_id': {
      bodies: { PATCH: { sensitivity: 'low' } },
    },
    '/zones/:zone_id/firewall/waf/packages/:package_id/groups/:group_id': {
      bodies: { PATCH: { mode: 'off' } },
    },
    '/zones/:zone_id/firewall/waf/packages/:package_id/rules/:rule_id': {
      bodies: { PATCH: { mode: 'off' } },
    },
    '/zones/:zone_id/firewall/waf/overrides': { bodies: { POST: { urls: ['a.example/*'] } } },
    '/zones/:zone_id/firewall/waf/overrides/:override_id': {
      bodies: { PUT: { urls: ['a.example/*'] } },
      made: { urls: [] },
    },
    '/zones/:zone_id/rate_limits': { bodies: { POST: LIMIT } },
    '/zones/:zone_id/rate_limits/:rate_limit_id': { bodies: { PUT: LIMIT }, made: LIMIT },
    '/zones/:zone_id/settings/cname_flattening': { bodies: { PATCH: { value: 'on' } } },
    '/zones/:zone_id/settings/brotli': { bodies: { PATCH: { value: 'off' } } },
    '/zones/:zone_id/settings/minify': { bodies: { PATCH: { value: { css: 'on' } } } },
    '/zones/:zone_id/settings/mobile_redirect': { bodies: { PATCH: { value: { status: 'on' } } } },
    '/zones/:zone_id/settings/server_side_exclude': { bodies: { PATCH: { value: 'off' } } },
    '/zones/:zone_id/settings/privacy_pass': { bodies: { POST: { value: 'off' } } },
    '/zones/:zone_id/dns_settings/use_apex_ns': { bodies: { PATCH: { enabled: true } } },
    '/zones/:zone_id/dns_settings/secondary_overrides': { bodies: { PATCH: { enabled: true } } },
    '/accounts/:account_id/images/v1/direct_upload': { bodies: { POST: {} } },
    '/accounts/:account_id/tunnels': { bodies: { POST: TUNNEL } },
    '/accounts/:account_id/tunnels/:tunnel_id': { made: TUNNEL },
    '/accounts/:account_id/access/bookmarks/:uuid': {
      bodies: { POST: { name: 'b' }, PUT: { name: 'c' } },
      made: 'at its id',
    },
    '/organizations/:organization_id': { bodies: { PATCH: { name: 'First' } } },
    '/organizations/:organization_id/invites': { bodies: { POST: INVITE } },
    '/organizations/:organization_id/invites/:identifier': {
      bodies: { PATCH: { roles: [] } },
      made: INVITE,
    },
    '/organizations/:organization_id/members/:identifier': { bodies: { PATCH: { roles: [] } } },
    '/organizations/:organization_id/legacy_connector': { bodies: { POST: { name: 'r' } } },
    '/organizations/:organization_id/legacy_connector/:identifier': {
      bodies: { PATCH: { name: 's' } },
      made: { name: 'r' },
    },
    '/organizations/:organization_id/legacy_connector/:identifier/zones': { made: { name: 'r' } },
  };

/** Returns a concrete call of the operation that can succeed on that day. */
async function prepared({ method, path }: Operation, at: string) {
  const zone = path.startsWith('/zones') ? (await provider.newZone()).id : '';
  const fixed = path
    .replace(':zone_id', zone)
    .replace(':account_id', ACCOUNT_ID)
    .replace(':organization_id', ACCOUNT_ID)
    .replace('/*', '');
  const { bodies = {}, made } = SAMPLES[path] ?? {};
  const item = /\/:\w+/.exec(fixed);
  const list = item ? fixed.slice(0, item.index) : fixed;
  const id = await existing(list, made, method, at);
  let body = bodies[method];
  if (body === 'items') {
    const [one] = made as object[];
    body = [{ ...one, id }];
  }
  // Groups and rules of a package are below the package's path, and have an id of their own.
  const own = fixed.replace(/:package_id/, id ?? '');
  const second = /\/:\w+/.exec(own);
  const last =
    second && own !== fixed ? await existing(own.slice(0, second.index), null, '', at) : id;
  return { operation: `${method} ${own.replace(/:\w+/, last ?? '')}`, body };
}

/** Returns the id of an item of the list: a new one, or one that exists from the start. */
async function existing(list: string, made: unknown, method: string, at: string) {
  if (made === 'at its id') {
    const id = crypto.randomUUID();
    if (method !== 'POST') await provider.call(`POST ${list}/${id}`, { body: { name: 'b' }, at });
    return id;
  }
  if (made) {
    const { body } = await provider.call(`POST ${list}`, { body: made, at });
    return (Array.isArray(body.result) ? body.result[0] : body.result).id as string;
  }
  const { body } = await provider.call(`GET ${list}`, { at });
  return Array.isArray(body.result) ? (body.result[0]?.id as string | undefined) : undefined;
}

const NOT_EMULATED = new Set(
  ['POST', 'PATCH', 'DELETE'].map((method) => `${method} /zones/:zone_id/script_monitor/*`),
);
const ended = SCHEDULE.flatMap((entry) =>
  entry.operations
    .filter(({ method, path }) => !NOT_EMULATED.has(`${method} ${path}`))
    .map((operation) => ({ entry, operation, name: `${operation.method} ${operation.path}` })),
);

describe('operations that end', () => {
  test.each(ended)('[MG20] $name works until the day before $entry.date', async (row) => {
    const at = dayBefore(row.entry.date);
    const { operation, body } = await prepared(row.operation, at);
    const got = await provider.call(operation, { body, at });
    expect(got).toMatchObject({ status: 200, body: { success: true, errors: [] } });
    expect(got.headers.get('deprecation')).toMatch(/^@\d+$/);
    expect(got.headers.get('sunset')).toBe(new Date(row.entry.date).toUTCString());
    expect(got.headers.get('link')).toContain(`#${row.entry.id}>; rel="deprecation"`);
  });

  test.each(ended)('[MG20] $name is gone on $entry.date', async ({ entry, operation }) => {
    const path = operation.path.replace('/*', '').replaceAll(/:\w+/g, 'f'.repeat(32));
    const got = await provider.call(`${operation.method} ${path}`, { at: entry.date });
    expect(got).toMatchObject({ status: 410, body: { result: null, success: false } });
    const [error] = got.body.errors;
    expect(error.code).toBe(1410);
    expect(error.message).toContain(entry.replacement?.text ?? 'Nothing replaces it');
    expect(error.documentation_url).toContain(`/emulator/schedule#${entry.id}`);
    expect(got.headers.get('sunset')).toBe(new Date(entry.date).toUTCString());
  });

  test('[MG20] the page that a gone operation leads to describes every entry', async () => {
    const response = await provider.api.fetch(new Request(`${provider.baseUrl}/emulator/schedule`));
    const html = await response.text();
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    for (const { id } of SCHEDULE) expect(html).toContain(`<section id="${id}">`);
    const minify = /<section id="minify">.*<\/section>/.exec(html)![0];
    const operations = ['GET', 'PATCH'].map(
      (method) => `${method} /zones/:zone_id/settings/minify`,
    );
    const list = ['GET', 'PATCH'].map((method) => `${method} /zones/:zone_id/settings`);
    expect(minify).toBe(
      '<section id="minify"><h2>Setting minify</h2><p><time>2024-08-05</time> removed<ul>' +
        `${[...operations, ...list].map((one) => `<li><code>${one}</code>`).join('')}</ul></section>`,
    );
  });

  test('[MG20] the page shows texts of a custom schedule as text', async () => {
    const text = '<b title="x">&</b>';
    const own = await startProvider({
      schedule: [
        {
          id: 'evil',
          title: text,
          date: '2030-01-01',
          kind: 'replaced',
          operations: [{ method: 'GET', path: '/<i>' }],
          replacement: { text },
          note: text,
        },
      ],
    });
    const response = await own.api.fetch(new Request(`${own.baseUrl}/emulator/schedule`));
    const html = await response.text();
    const shown = '&lt;b title=&quot;x&quot;>&amp;&lt;/b>';
    expect(html).toContain(
      `<h2>${shown}</h2><p><time>2030-01-01</time> replaced<p>Replacement: ${shown}<p>${shown}<ul>`,
    );
    expect(html).toContain('<code>GET /&lt;i></code>');
    expect(html).not.toContain('<b ');
    await own.close();
  });

  test('[MG20] the answer names the operation that replaces one, with its parameters', async () => {
    const zone = await provider.newZone();
    const path = `/zones/${zone.id}/dns_settings`;
    const old = await provider.call(`GET ${path}/use_apex_ns`, { at: '2024-09-12' });
    expect(old.headers.get('link')).toContain(`</client/v4${path}>; rel="successor-version"`);
    const gone = await provider.call(`GET ${path}/use_apex_ns`, { at: '2024-09-13' });
    expect(gone.body.errors[0].message).toContain(`${path} (multi_provider, secondary_overrides)`);
  });

  test("[MG20] a schedule of one's own ends operations on its own days", async () => {
    const entry: ScheduleEntry = {
      id: 'zones-end',
      title: 'Zones',
      date: '2030-01-01',
      kind: 'removed',
      operations: [{ method: 'GET', path: '/zones' }],
    };
    const own = await startProvider({ schedule: [entry] });
    expect((await own.call('GET /zones', { at: '2029-12-31' })).status).toBe(200);
    expect((await own.call('GET /zones', { at: '2030-01-01' })).status).toBe(410);
    await own.close();
  });
});

test('[MG23] every change has its entry, and every operation is a route or brought up to one', () => {
  const entryOf = (id: string) => SCHEDULE.find((one) => one.id === id);
  expect(CHANGES.filter(({ id }) => entryOf(id) === undefined)).toEqual([]);
  expect(new Set(CHANGES.map(({ id }) => id)).size).toBe(CHANGES.length);
  const newest = publicRoutes();
  const older = new ChangeChain((id) => entryOf(id)?.date);
  for (const { operations, affected = [] } of SCHEDULE) {
    for (const { method, path } of [...operations, ...affected]) {
      const concrete = path.replaceAll(/:\w+/g, 'a1').replace('*', 'scripts/a2');
      const kinds = [newest, older].map((table) => table.match(method, concrete).kind);
      expect(kinds, `${method} ${path}`).toContain('route');
    }
  }
});
