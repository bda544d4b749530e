// The events and estimates of storage space that a page gets, in real browsers.

import { startSite } from '../break/torture/site.ts';
import { openBlank } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, REST } from '../browsers/tags.ts';
import type {} from './pages/asking.ts';

test('[CARE1] [CARE2] the browser is asked to keep the data at the first write, which does not wait for it', async ({
  profile,
  server,
}) => {
  const page = await openBlank(await (await profile.launch()).newPage(), server);
  const seen = await page.evaluate(async () => {
    const storage = await window.api.openStorage('care');
    await storage.get('a');
    const before = storage.persisted;
    for (const n of [1, 2, 3]) await storage.put('a', n);
    const { usage, quota } = await storage.estimate();
    return { before, after: storage.persisted, usage, quota };
  });
  // Firefox asks its user, who is not there.
  expect(['asked', 'granted', 'refused']).toContain(seen.after);
  expect(seen.before).toBe('unknown');
  expect(seen.usage).toBeGreaterThan(0);
  expect(seen.quota).toBeGreaterThan(seen.usage);
});

test('[CARE3] [CARE5] every tab is told before the quota is used up', { tag: LONG }, async ({
  profile,
  server,
  browserName,
}) => {
  // Only Chromium lets a test set the quota; elsewhere the worker must not tell that space is short.
  const hasQuota = browserName === 'chromium';
  // Otherwise it reports 10 GiB more than the used space, whatever is granted.
  const context = await profile.launch(['--disable-features=StaticStorageQuota']);
  const one = await openBlank(await context.newPage(), server);
  const two = await openBlank(await context.newPage(), server);
  const listen = () =>
    window.api.openStorage('care').then(async (storage) => {
      await storage.put('kept', 1);
      const told: unknown[] = [];
      Object.assign(window, { told });
      storage.addEventListener('storagelow', ({ detail }) => told.push(detail));
    });
  for (const page of [one, two]) await page.evaluate(listen);
  const toldOf = (tab: typeof one) =>
    tab.evaluate(() => (window as unknown as { told: { usage: number; quota: number }[] }).told);
  expect(await toldOf(one)).toEqual([]);
  const MIB = 1024 * 1024;
  if (hasQuota) {
    const cdp = await context.newCDPSession(one);
    const { usage = 0 } = await one.evaluate(() => navigator.storage.estimate());
    await cdp.send('Storage.overrideQuotaForOrigin', {
      origin: server.origin,
      quotaSize: usage + 50 * MIB,
    });
  }
  // A new worker, which does not know the former quota.
  await one.reload();
  await one.waitForFunction(() => 'api' in window);
  await one.evaluate(listen);
  const outcome = await two.evaluate(async () => {
    const storage = await window.api.openStorage('care');
    await storage.sql.exec('CREATE TABLE IF NOT EXISTS t(x)').ready;
    const { told } = window as unknown as { told: unknown[] };
    for (let n = 0; n < 40 && told.length === 0; n++) {
      await storage.sql.exec('INSERT INTO t VALUES (randomblob(1000000))').ready;
    }
    return told.length;
  });
  if (!hasQuota) {
    expect(outcome).toBe(0);
    return;
  }
  expect(outcome).toBe(1);
  await expect.poll(async () => (await toldOf(one)).length).toBe(1);
  const [space] = await toldOf(two);
  expect(space!.quota - space!.usage).toBeLessThan(32 * MIB);
  // No write waits for the browser's answer, so how much is left depends on how long that takes.
  expect(space!.usage).toBeLessThan(space!.quota);
});

test('[CARE3] a worker asks for the free space apart from its writes: Firefox answers on the thread of a page', {
  tag: REST,
}, async ({ context }) => {
  const site = await startSite({
    page: 'e2e/specs/pages/asking.ts',
    'objects-worker': 'e2e/specs/pages/asking-worker.ts',
  });
  const page = await context.newPage();
  await page.goto(site.origin);
  await page.waitForFunction(() => 'asking' in window);
  expect(await page.evaluate(() => window.asking.add(1))).toBe(1);
  await expect.poll(() => page.evaluate(() => window.asking.questions)).toContain('apart');
  expect(await page.evaluate(() => window.asking.questions)).not.toContain('in a write');
  await page.close();
  await site.close();
});
