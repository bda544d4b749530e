// Closed pages hold no resources, and the counter notices the resources of open pages.

import { openBlank } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';

test('[DUR6] an open page holds locks, files and a worker; a closed one nothing', async ({
  sharedProfile,
  server,
  observer,
}) => {
  await observer.expectNothing();
  const page = await openBlank(await sharedProfile.newPage(), server);
  await page.evaluate(async () => {
    const storage = await window.api.openStorage('held');
    await storage.put('a', 1);
  });
  const during = await observer.holdings();
  expect(during.locks).not.toEqual([]);
  expect(during.openFiles).not.toEqual([]);
  expect(during.workers).toBeGreaterThan(0);
  await page.close();
  await observer.expectNothing();
});

test('[DUR6] handles that are opened and closed again leave no more than one does', async ({
  storagePage,
  observer,
}) => {
  const openAndClose = (times: number) =>
    storagePage.evaluate(async (times) => {
      for (let i = 0; i < times; i++) {
        const storage = await window.api.openStorage('again');
        await storage.put('a', i);
        await storage.close();
      }
    }, times);
  await openAndClose(1);
  const once = await observer.holdings();
  await openAndClose(50);
  expect(await observer.holdings()).toEqual(once);
});
