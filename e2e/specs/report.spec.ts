// The migration report over the calls of a real page.

import { routeManagement } from '../../packages/management/adapters/adapters.ts';
import {
  type CallLog,
  createManagementApi,
  DeprecatedCallsError,
  ManagementObject,
  recordedCalls,
  recordPage,
} from '../../packages/management/index.ts';
import { createObjects } from '../../worker/start/entries/node-objects.ts';
import { expect, test } from '../browsers/fixtures.ts';

const ACCOUNT = '0123456789abcdef0123456789abcdef';

test("[REP5] calls of a context's pages are in the report", async ({ context, browserName }) => {
  const objects = await createObjects({ ManagementObject });
  const accounts = [{ id: ACCOUNT, name: 'First' }];
  const api = createManagementApi({ namespace: objects.env.ManagementObject, accounts });
  await routeManagement(context, '**/client/v4/**', api);
  const { log, stop } = recordPage(context);
  await context.route('https://api.example/', (route) => route.fulfill({ body: 'A page.' }));
  const page = await context.newPage();
  await page.goto('https://api.example/');
  await page.evaluate(async (account) => {
    const base = 'https://api.example/client/v4';
    const headers = { 'x-emulator-date': '2023-06-05' };
    const read = async (path: string, init?: RequestInit) => {
      await (await fetch(`${base}${path}`, { headers, ...init })).text();
    };
    await read('/user/billing/profile');
    await read(`/accounts/${account}`);
    const settings = { default_nameservers: 'custom.account' };
    await read(`/accounts/${account}`, { method: 'PUT', body: JSON.stringify({ settings }) });
  }, ACCOUNT);
  await expect.poll(async () => (await log.calls()).filter(isOfProvider).length).toBe(3);
  stop();
  await page.evaluate(() => fetch('https://api.example/client/v4/user/billing/history'));
  const { findings } = await log.report({ at: '2025-03-14' });
  const seen = findings.map(({ level, operation, field }) =>
    [level, operation.method, operation.path, field?.in, field?.path].filter(Boolean).join(' '),
  );
  const put = 'PUT /accounts/:account_id';
  const fields = ['settings.default_nameservers', 'settings.use_account_custom_ns_by_default'];
  const answered = fields.map((field) => `note GET /accounts/:account_id result ${field}`);
  // Playwright cannot read the requests of an unmodified Firefox.
  expect(seen).toEqual(
    browserName === 'firefox'
      ? ['error GET /user/billing/profile', ...answered, `note ${put}`]
      : ['error GET /user/billing/profile', `error ${put} request ${fields[0]}`, ...answered],
  );
  await objects.close();
});

const recording = test.extend<{ calls: CallLog }>({
  calls: recordedCalls,
});

recording("[REP5] a fixture has the calls of a test's pages", async ({ context, calls }) => {
  await context.route('https://api.example/**', (route) => route.fulfill({ body: '{}' }));
  const page = await context.newPage();
  await page.goto('https://api.example/');
  await page.evaluate(() => fetch('https://api.example/client/v4/user/billing/profile'));
  await expect.poll(async () => (await calls.calls()).some(isOfProvider)).toBe(true);
  const failed = calls.assertNoDeprecated({ at: '2025-06-15' });
  await expect(failed).rejects.toThrow(DeprecatedCallsError);
  await expect(failed).rejects.toThrow('GET /user/billing/profile is gone since 2023-06-06');
});

function isOfProvider({ url }: { readonly url: string }): boolean {
  return url.startsWith('https://api.example/client/v4/');
}
