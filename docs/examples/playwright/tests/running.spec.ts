// Time, tabs and faults, while the app runs.

import { expect, test } from 'ctx-storage/playwright';

test('moves the time of objects and pages past an alarm', async ({
  page,
  objects,
  seed,
  clock,
}) => {
  const visits = objects.storage('Counter', 'visits');
  await seed('Counter', 'visits', { entries: { count: 5 }, alarm: Date.now() + 3_600_000 });
  await expect(visits).toHaveAlarm();
  await seed('Counter', 'visits', { alarm: Date.now() - 60_000 });
  await expect(visits).toHaveStored('count', 5);
  await page.goto('/'); // the app's class runs the alarm that is due
  await expect(visits).toHaveAlarm(null);
  await expect(visits).not.toHaveStored('count', 5);

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

test('the disk fails, is full and is slow; the worker crashes and hangs', async ({
  page,
  objects,
  seed,
  faults,
}) => {
  const visits = objects.storage('Counter', 'visits');
  const visit = () => page.getByRole('button', { name: 'Visit' }).click();
  await seed('Counter', 'visits', { entries: { count: 3 } });
  await seed('Room', 'lobby', {
    sql: "CREATE TABLE messages (id INTEGER PRIMARY KEY, text); INSERT INTO messages (text) VALUES ('hello')",
  });
  await page.goto('/');
  // Both objects have answered, so the app writes no more by itself: the next flush is a visit's.
  await expect(page.getByRole('listitem')).toHaveText('hello');
  await expect(page.locator('#visits')).toHaveText('3');

  await faults.failNextFlush();
  await visit();
  await expect(page.getByRole('alert')).toHaveText('IO');
  await visit();
  await expect(page.locator('#visits')).toHaveText('4'); // the write that failed is undone

  await faults.fillDisk();
  await visit();
  await expect(page.getByRole('alert')).toHaveText('DISK_FULL');
  await faults.freeDisk();
  await visit();
  await expect(page.locator('#visits')).toHaveText('5');
  await expect(visits).toHaveStored('count', 5);

  await faults.crashWorker();
  await visit();
  await expect(page.locator('#visits')).toHaveText('6');
  await faults.delayFlushes(300);
  await visit();
  await expect(visits).toHaveStored('count', 7);
  await faults.delayFlushes(0);
  await faults.freeze(300);
  await visit();
  await expect(page.locator('#visits')).toHaveText('8');
});
