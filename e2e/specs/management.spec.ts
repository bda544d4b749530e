// The emulated provider in a page.

import {
  runScenario,
  SCENARIO_ACCOUNT,
  scenarioOptions,
} from '../../packages/management/e2e/scenario.ts';
import {
  createManagementApi,
  ManagementObject,
  routeManagement,
} from '../../packages/management/index.ts';
import { createObjects } from '../../worker/start/entries/node-objects.ts';
import { openBlank } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, ONCE, REST } from '../browsers/tags.ts';

const MODULE = '/packages/management/e2e/page.ts';

test('[MG37] the same calls have the same answers in a page and in Node', {
  tag: [LONG, ONCE],
}, async ({ context, server }) => {
  const page = await openBlank(await context.newPage(), server);
  const there = await page.evaluate(async (module) => (await import(module)).transcript(), MODULE);
  const objects = await createObjects({ ManagementObject });
  const namespace = objects.env.ManagementObject;
  const here = await runScenario(createManagementApi({ ...scenarioOptions(), namespace }).fetch);
  await objects.close();
  expect(there).toEqual(here);
});

test('[MG37] in a page the state outlives a reload', { tag: REST }, async ({ context, server }) => {
  const page = await openBlank(await context.newPage(), server);
  const made = await page.evaluate(async (module) => {
    const calls = [{ operation: 'POST /zones', body: { name: 'kept.example' } }];
    return (await import(module)).fetchAnswers(calls);
  }, MODULE);
  expect(made).toMatchObject([{ success: true, result: { name: 'kept.example' } }]);
  await page.reload();
  const kept = await page.evaluate(async (module) => {
    return (await import(module)).fetchAnswers([{ operation: 'GET /zones' }]);
  }, MODULE);
  expect(kept).toMatchObject([{ result: [{ name: 'kept.example' }] }]);
});

test('[MG34] a Playwright route answers the requests of a page', async ({ context, server }) => {
  const objects = await createObjects({ ManagementObject });
  const accounts = [{ id: SCENARIO_ACCOUNT, name: 'First' }];
  const api = createManagementApi({ namespace: objects.env.ManagementObject, accounts });
  await routeManagement(context, '**/client/v4/**', api);
  const page = await openBlank(await context.newPage(), server);
  // Only requests without a body: Playwright cannot read those of an unmodified Firefox.
  const seen = await page.evaluate(async () => {
    const base = 'https://api.example/client/v4';
    const headers = { 'x-emulator-date': '2023-06-05' };
    const listed = await fetch(`${base}/accounts`);
    const before = await fetch(`${base}/user/billing/profile`, { headers });
    const gone = await fetch(`${base}/user/billing/profile`);
    return [(await listed.json()).result[0].name, before.status, gone.status];
  });
  expect(seen).toEqual(['First', 200, 410]);
  await objects.close();
});

test('[MG34] a service worker is the provider for its pages', { tag: LONG }, async ({
  context,
  server,
}) => {
  const page = await openBlank(await context.newPage(), server);
  await page.evaluate(async () => {
    const address = '/packages/management/e2e/service-worker.ts';
    const { installing } = await navigator.serviceWorker.register(address, { type: 'module' });
    await new Promise<void>((resolve) => {
      const isActive = () => installing?.state === 'activated' && resolve();
      installing?.addEventListener('statechange', isActive);
      isActive();
    });
  });
  await page.goto(`${server.origin}/packages/management/e2e/inside`);
  expect(await page.title()).toBe('inside');
  const seen = await page.evaluate(async () => {
    const base = 'https://api.example/client/v4';
    const body = JSON.stringify({ name: 'served.example' });
    const made = await fetch(`${base}/zones`, { method: 'POST', body });
    const listed = await fetch(`${base}/zones?name=served.example`);
    return [made.status, (await listed.json()).result_info.total_count];
  });
  expect(seen).toEqual([200, 1]);
});
