// Runs real versions of the SDK against the Playwright fixture; a fake browser context passes each request to the
// fixture's route.

import type { BrowserContext } from '@playwright/test';
import Cloudflare7 from 'cloudflare';
import Cloudflare3 from 'cloudflare-3';
import Cloudflare4 from 'cloudflare-4';
import Cloudflare5 from 'cloudflare-5';
import Cloudflare6 from 'cloudflare-6';
import { afterEach, expect, test } from 'vitest';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { ManagementObject } from '../objects/management-object.ts';
import type { RouteLike } from './adapters.ts';
import { TestManagement } from './node-playwright.ts';

const SDKS = {
  '3.5.0': Cloudflare3,
  '4.5.0': Cloudflare4,
  '5.2.0': Cloudflare5,
  '6.5.0': Cloudflare6,
  '7.3.0': Cloudflare7,
} as unknown as Readonly<Record<string, typeof Cloudflare7>>;

const ACCOUNT_ID = 'a'.repeat(32);

let management: TestManagement;
afterEach(() => management.close());

/** Starts the fixture on the date, and returns a `fetch` whose requests go through its route, as those of a page. */
async function pageFetch(date: string): Promise<typeof fetch> {
  let handle: (route: RouteLike) => Promise<void> = () => Promise.reject(new Error('No route.'));
  const context = {
    route: async (_pattern: string, handler: typeof handle) => {
      handle = handler;
    },
  };
  management = new TestManagement(context as unknown as BrowserContext, async () => {
    const objects = await createObjects({ ManagementObject });
    return { namespace: objects.env.ManagementObject, close: () => objects.close() };
  });
  await management.emulate(date, { accounts: [{ id: ACCOUNT_ID, name: 'First' }] });
  return async (input, init) => {
    const request = new Request(String(input), init);
    const body = new Uint8Array(await request.arrayBuffer());
    return await new Promise<Response>((resolve, reject) => {
      handle({
        request: () => ({
          url: () => request.url,
          method: () => request.method,
          allHeaders: async () => Object.fromEntries(request.headers),
          postDataBuffer: () => (body.length > 0 ? body : null),
        }),
        fulfill: async ({ status, headers, body: text }) => {
          resolve(new Response(text, { status, headers }));
        },
      }).catch(reject);
    });
  };
}

test.each(Object.keys(SDKS))(
  "[MG59] cloudflare %s meets the provider of the test's date, before and after",
  async (version) => {
    const send = await pageFetch('2025-06-14');
    const client = new SDKS[version]!({
      apiToken: 'any',
      baseURL: 'https://api.example/client/v4',
      fetch: send,
      maxRetries: 0,
    });
    const zone = await client.zones.create({ name: 'a.example', account: { id: ACCOUNT_ID } });
    const rules = `/zones/${zone.id}/firewall/rules`;
    await expect(client.get(rules)).resolves.toMatchObject({ result: [] });
    await management.moveTo('2025-06-15');
    await expect(client.get(rules)).rejects.toMatchObject({ status: 410 });
    await management.moveTo('2024-07-13');
    const a = { type: 'A', name: 'www', content: '192.0.2.1', ttl: 1 } as const;
    const record = await client.dns.records.create({ zone_id: zone.id, ...a });
    expect(record).toMatchObject({ locked: false, zone_name: 'a.example' });
  },
);
