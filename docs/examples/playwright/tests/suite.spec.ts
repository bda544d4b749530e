// The suite of docs/testing.md, as it is printed there.

import { expect, test } from 'ctx-storage/playwright';

test('goes on counting', async ({ page, seed, objects }) => {
  await seed('Counter', 'visits', { entries: { count: 41 } });
  await page.goto('/');
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(page.locator('#visits')).toHaveText('42');
  await expect(objects.storage('Counter', 'visits')).toHaveStored('count', 42);
});

test('forgets after a minute', async ({ page, objects, clock }) => {
  await page.goto('/');
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(objects.storage('Counter', 'visits')).toHaveAlarm();
  await clock.advance(60_000);
  await expect(objects.storage('Counter', 'visits')).not.toHaveStored('count');
});

test('survives a crash of the worker', async ({ page, objects, faults }) => {
  await page.goto('/');
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(objects.storage('Counter', 'visits')).toHaveStored('count', 1);
  await faults.crashWorker();
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(page.locator('#visits')).toHaveText('2');
});
