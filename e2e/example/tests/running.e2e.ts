// Green: time, tabs, faults and the management interface, while the app runs.

import {
  defineObjects,
  evictDurableObject,
  expect,
  listDurableObjectIds,
  reset,
  runDurableObjectAlarm,
  runInDurableObject,
  test,
} from 'ctx-storage/playwright';

test('moves the time of objects and pages past an alarm', async ({ page, objects, clock }) => {
  const visits = objects.storage('Counter', 'visits');
  await page.goto('/');
  await expect(page.locator('#visits')).toHaveText('0');
  await clock.set('2030-01-01');
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(visits).toHaveAlarm(new Date('2030-01-01T00:01:00Z'));
  expect(await page.evaluate(() => Date.now())).toBe(Date.UTC(2030, 0, 1));
  await clock.advance(60_000);
  await expect(visits).toHaveAlarm(null);
  await expect(visits).not.toHaveStored('count');
  expect(await page.evaluate(() => Date.now())).toBe(Date.UTC(2030, 0, 1) + 60_000);
  expect(await clock.runNextAlarm()).toBeNull();
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(visits).toHaveAlarm();
  expect(await clock.runNextAlarm()).toMatchObject({ className: 'Counter', name: 'visits' });
});

test('works while page.clock stands still', async ({ page, objects }) => {
  await page.clock.install({ time: new Date('2030-01-01') });
  await page.goto('/');
  await expect(page.locator('#visits')).toHaveText('0'); // the page's own timers stand still as well
  await page.clock.pauseAt(new Date('2030-01-02'));
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(objects.storage('Counter', 'visits')).toHaveStored('count', 1);
});

test('an alarm that was seeded runs in the app', async ({ page, seed, objects }) => {
  const visits = objects.storage('Counter', 'visits');
  await seed('Counter', 'visits', { entries: { count: 5 }, alarm: Date.now() + 3_600_000 });
  await expect(visits).toHaveAlarm();
  await seed('Counter', 'visits', { alarm: Date.now() - 60_000 });
  await expect(visits).toHaveStored('count', 5);
  await page.goto('/');
  await expect(visits).toHaveAlarm(null);
  await expect(visits).not.toHaveStored('count', 5);
});

test('knows which tab leads, and closes it', async ({ tabs, objects }) => {
  const first = await tabs.open();
  await expect(first.locator('#visits')).toHaveText('0');
  const second = await tabs.open();
  await expect(second.locator('#visits')).toHaveText('0');
  expect(tabs.all()).toEqual([first, second]);
  expect(await tabs.leader()).toBe(first);
  await tabs.killLeader();
  expect(first.isClosed()).toBe(true);
  await expect(async () => expect(await tabs.leader()).toBe(second)).toPass();
  await second.getByRole('button', { name: 'Visit' }).click();
  await expect(objects.storage('Counter', 'visits')).toHaveStored('count', 1);
});

test('a flush that fails undoes its write, and the app is told', async ({
  page,
  objects,
  faults,
}) => {
  const visits = objects.storage('Counter', 'visits');
  await page.goto('/');
  await expect(page.locator('#visits')).toHaveText('0');
  await faults.failNextFlush();
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(page.getByRole('alert')).toHaveText('IO');
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(page.locator('#visits')).toHaveText('1');
  await expect(visits).toHaveStored('count', 1);
});

test('a full disk is told, and what is stored stays', async ({ page, objects, seed, faults }) => {
  await seed('Counter', 'visits', { entries: { count: 3 } });
  await page.goto('/');
  await expect(page.locator('#visits')).toHaveText('3');
  await faults.fillDisk();
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(page.getByRole('alert')).toHaveText('DISK_FULL');
  await faults.freeDisk();
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(page.locator('#visits')).toHaveText('4');
  await expect(objects.storage('Counter', 'visits')).toHaveStored('count', 4);
});

test('a worker that crashes is replaced; a slow one is waited for', async ({
  page,
  objects,
  faults,
}) => {
  const visits = objects.storage('Counter', 'visits');
  await page.goto('/');
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(visits).toHaveStored('count', 1);
  await faults.crashWorker();
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(page.locator('#visits')).toHaveText('2');
  await faults.delayFlushes(300);
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(visits).toHaveStored('count', 3);
  await faults.delayFlushes(0);
  await faults.freeze(300);
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(page.locator('#visits')).toHaveText('4');
});

test('the management interface answers on the date of the test', async ({ page, management }) => {
  await management.emulate('2023-01-01', { accounts: [{ id: 'a'.repeat(32), name: 'First' }] });
  await page.goto('/');
  const ask = () =>
    page.evaluate(async () => {
      const response = await fetch('/client/v4/user/billing/profile');
      return response.status;
    });
  expect(await ask()).not.toBe(410);
  await management.moveTo('2024-01-01');
  expect(await ask()).toBe(410);
});

test('has the names of the real runtime', async ({ page, objects }) => {
  await page.goto('/');
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(page.locator('#visits')).toHaveText('1');
  const visits = objects.storage('Counter', 'visits');
  const sum = await runInDurableObject(visits, async (instance, { storage }) => {
    await storage.put('count', 10);
    return await instance.add?.(5);
  });
  expect(sum).toBe(15);
  expect(await listDurableObjectIds(objects, 'Counter')).toHaveLength(1);
  await evictDurableObject(visits);
  expect(await visits.call('add', 0)).toBe(15);
  expect(await runDurableObjectAlarm(visits)).toBe(true);
  expect(await runDurableObjectAlarm(visits)).toBe(false);
  expect(await visits.list()).toEqual(new Map());
  await reset(objects);
  expect(await objects.list('Room')).toEqual([]);
});

test('needs no fixture', async ({ browser, baseURL }) => {
  const context = await browser.newContext({ baseURL });
  const objects = defineObjects({ context, baseURL });
  await objects.seed('Counter', 'visits', { entries: { count: 8 } });
  const page = await context.newPage();
  await page.goto('/');
  await expect(page.locator('#visits')).toHaveText('8');
  await context.close();
});
