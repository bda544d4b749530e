// A client on the way through a deprecation: before it is announced, before its end, and after.

import { forEachDate, recordRequests } from 'api-deprecation-emulator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { flattens, flattensBySetting, setFlattens } from '../src/flattening.ts';
import { startProvider } from './provider.ts';

let provider: Awaited<ReturnType<typeof startProvider>>;
beforeAll(async () => {
  provider = await startProvider();
});
afterAll(() => provider.close());

test('before the announcement, the old call works without notice', async () => {
  provider.moveTo('2024-09-12');
  const api = provider.client();
  expect(await flattensBySetting(api, provider.zone)).toBe(false);
  expect(api.notices).toEqual([]);
});

test('until the end, it works, and its answer names the end and the successor', async () => {
  provider.moveTo('2025-03-20');
  const api = provider.client();
  expect(await flattensBySetting(api, provider.zone)).toBe(false);
  expect(api.notices).toEqual([
    {
      operation: 'cname_flattening',
      endsOn: '2025-03-21',
      successor: `/client/v4/zones/${provider.zone}/dns_settings`,
    },
  ]);
});

test('from then on, it fails, and the message names the successor', async () => {
  provider.moveTo('2025-03-21');
  const old = flattensBySetting(provider.client(), provider.zone);
  await expect(old).rejects.toThrow(/ended on 2025-03-21. Use DNS settings of the zone/);
});

test('the successor works on every day, and reads what the old call reads', async () => {
  const { zone } = provider;
  const matrix = await forEachDate(async ({ at, check }) => {
    provider.moveTo(at);
    const api = provider.client();
    await check('new', async () => {
      await setFlattens(api, zone, true);
      expect(await flattens(api, zone)).toBe(true);
      expect(api.notices).toEqual([]);
    });
    await check('old', async () => expect(await flattensBySetting(api, zone)).toBe(true));
  });
  const daysOfFailure = (name: string) => {
    const { outcomes } = matrix.checks.find((check) => check.name === name)!;
    return matrix.intervals.filter((_, i) => outcomes[i]!.kind === 'failed').map(({ at }) => at);
  };
  expect(daysOfFailure('new')).toEqual([]);
  expect(daysOfFailure('old')).toEqual(['2025-03-21', '2025-06-15']);
});

test('the client makes no call that has an end', async () => {
  provider.moveTo('2025-01-01');
  const recorded = recordRequests(provider.send);
  await flattens(provider.client(recorded.fetch), provider.zone);
  await recorded.log.assertNoDeprecated({ at: '2025-01-01' });

  await flattensBySetting(provider.client(recorded.fetch), provider.zone);
  const refused = recorded.log.assertNoDeprecated({ at: '2025-01-01' });
  await expect(refused).rejects.toThrow(/cname_flattening/);
});
