// The emulated provider in a page.

import { createManagementApi, ManagementObject } from '../src/management/index.ts';
import { createObjects } from '../worker/node-objects.ts';
import { openBlank } from './blank-page.ts';
import { expect, test } from './fixtures.ts';
import { runScenario, scenarioOptions } from './management/scenario.ts';

const MODULE = '/e2e/management/page.ts';

test('[MG37] the same calls have the same answers in a page and in Node', async ({
  profile,
  server,
}) => {
  const page = await openBlank(await (await profile.launch()).newPage(), server);
  const there = await page.evaluate(async (module) => (await import(module)).transcript(), MODULE);
  const objects = await createObjects({ ManagementObject });
  const namespace = objects.env.ManagementObject;
  const here = await runScenario(createManagementApi({ ...scenarioOptions(), namespace }).fetch);
  await objects.close();
  expect(there).toEqual(here);
});

test('[MG38] in a page the state outlives a reload', async ({ profile, server }) => {
  const page = await openBlank(await (await profile.launch()).newPage(), server);
  const made = await page.evaluate(async (module) => {
    const calls = [{ operation: 'POST /zones', body: { name: 'kept.example' } }];
    return (await import(module)).fetched(calls);
  }, MODULE);
  expect(made).toMatchObject([{ success: true, result: { name: 'kept.example' } }]);
  await page.reload();
  const kept = await page.evaluate(async (module) => {
    return (await import(module)).fetched([{ operation: 'GET /zones' }]);
  }, MODULE);
  expect(kept).toMatchObject([{ result: [{ name: 'kept.example' }] }]);
});
