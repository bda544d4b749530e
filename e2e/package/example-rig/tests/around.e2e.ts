// Green: beside Playwright's own tools, other fixtures, and the names of the real runtime.

import { test as base, mergeExpects, mergeTests } from '@playwright/test';
import { emulatedManagement, type TestManagement } from 'api-deprecation-emulator/playwright';
import {
  defineObjects,
  evictDurableObject,
  expect as expectStored,
  listDurableObjectIds,
  reset,
  runDurableObjectAlarm,
  runInDurableObject,
  test as withObjects,
} from 'ctx-storage/playwright';

/** The calls that the test's page makes of its storage. */
interface PlainStorage {
  get(key: string): Promise<number>;
  put(key: string, value: number): Promise<void>;
}

const withUser = withObjects.extend<{ visitor: string }>({
  visitor: async ({ seed }, use) => {
    await seed('Counter', 'visits', { entries: { count: 1 } });
    await use('first');
  },
});
const withGreeting = base.extend<{ greeting: string }>({ greeting: 'Hello' });
const withManagement = base.extend<{ management: TestManagement }>({
  management: emulatedManagement,
});
const test = mergeTests(withGreeting, withUser, withManagement, withObjects);
const expect = mergeExpects(base.expect, expectStored);

test('merged with other tests, has the names of the real runtime', async ({
  page,
  objects,
  greeting,
  visitor,
}) => {
  expect([greeting, visitor]).toEqual(['Hello', 'first']);
  await page.goto('/');
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(page.locator('#visits')).toHaveText('2');
  const visits = objects.storage('Counter', 'visits');
  await expect(visits).toHaveStored('count', 2);
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
  await objects.deleteObject('Counter', 'visits');
  expect(await objects.list('Counter')).toEqual([]);
  await reset(objects);
  expect(await objects.list('Room')).toEqual([]);
});

test('works while page.clock stands still', async ({ page, objects }) => {
  await page.clock.install({ time: new Date('2030-01-01') });
  await page.goto('/');
  await expect(page.locator('#visits')).toHaveText('0'); // the page's own timers stand still as well
  await page.clock.pauseAt(new Date('2030-01-02'));
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(objects.storage('Counter', 'visits')).toHaveStored('count', 1);
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

test('a disk that is full stays full when the page loads again', async ({ page, faults }) => {
  const visit = () => page.getByRole('button', { name: 'Visit' }).click();
  await page.goto('/');
  await visit();
  await expect(page.locator('#visits')).toHaveText('1');
  await faults.fillDisk();
  await page.reload();
  await expect(page.locator('#visits')).toHaveText('1');
  await visit();
  await expect(page.getByRole('alert')).toHaveText('DISK_FULL');
  await faults.freeDisk();
  await visit();
  await expect(page.locator('#visits')).toHaveText('2');
});

test('time that was set stands still after a reload, a crash and the loss of the tab that leads, until it is resumed', async ({
  page,
  objects,
  clock,
  tabs,
  faults,
}) => {
  const visits = objects.storage('Counter', 'visits');
  const visit = (tab = page) => tab.getByRole('button', { name: 'Visit' }).click();
  await page.goto('/');
  await clock.set('2130-01-01');
  await page.reload();
  await visit();
  await expect(page.locator('#visits')).toHaveText('1');
  await expect(visits).toHaveAlarm(new Date('2130-01-01T00:01:00Z'));
  await faults.crashWorker();
  await visit();
  await expect(page.locator('#visits')).toHaveText('2');
  expect(await clock.now()).toBe(Date.UTC(2130, 0, 1));
  await clock.advance(60_000);
  await expect(visits).not.toHaveStored('count');

  const second = await tabs.open();
  await expect(second.locator('#visits')).toHaveText('0');
  await clock.set('2020-01-01');
  await visit();
  await expect(page.locator('#visits')).toHaveText('1');
  await expect(visits).toHaveAlarm(new Date('2020-01-01T00:01:00Z'));
  await tabs.killLeader();
  await expect(async () => expect(await tabs.leader()).toBe(second)).toPass();
  await visit(second);
  await expect(visits).toHaveStored('count', 2);
  await expect(visits).toHaveAlarm(new Date('2020-01-01T00:01:00Z'));
  await clock.resume();
  await expect(visits).not.toHaveStored('count');
  expect(await clock.now()).toBeGreaterThan(Date.UTC(2026, 0, 1));
});

test('a page with openStorage alone is seeded, has a tab that leads, and returns to a snapshot', async ({
  page,
  seed,
  objects,
  tabs,
  snapshot,
  restore,
}) => {
  await page.route('/lib/*', (route) => {
    const { pathname } = new URL(route.request().url());
    return route.fulfill({ path: `node_modules/ctx-storage/dist/${pathname.slice(5)}` });
  });
  const script =
    "import { openStorage } from '/lib/index.js'; window.notes = openStorage('notes');";
  const body = `<!doctype html><title>notes</title><script type="module">${script}</script>`;
  await page.route('/notes', (route) => route.fulfill({ contentType: 'text/html', body }));
  await seed('notes', { entries: { count: 1 } });
  const notes = objects.storage('notes');

  await page.goto('/notes');
  const mark = await snapshot();
  await page.evaluate(async () => {
    const { notes } = window as unknown as { notes: Promise<PlainStorage> };
    const storage = await notes;
    await storage.put('count', (await storage.get('count')) + 1);
  });
  await expect(notes).toHaveStored('count', 2);
  expect(await tabs.leader()).toBe(page);
  await restore(mark);
  await expect(notes).toHaveStored('count', 1);
  await objects.reset();
  await expect(notes).not.toHaveStored('count');
});

test("Playwright's own capture of files begins another context, without fixtures too", async ({
  page,
  browser,
  baseURL,
  objects,
}) => {
  await page.goto('/');
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(objects.storage('Counter', 'visits')).toHaveStored('count', 1);
  // The app's worker holds the files open; which objects there are is in IndexedDB.
  const storageState = await page.context().storageState({ opfs: true, indexedDB: true });
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(page.locator('#visits')).toHaveText('2');

  const context = await browser.newContext({ baseURL, storageState });
  const next = defineObjects({ context, baseURL });
  await expect(next.storage('Counter', 'visits')).toHaveStored('count', 1);
  await expect(next.storage('Counter', 'visits')).toHaveAlarm();
  const reopened = await context.newPage();
  await reopened.goto('/');
  await expect(reopened.locator('#visits')).toHaveText('1');
  await next.seed('Counter', 'visits', { entries: { count: 8 } });
  await reopened.reload();
  await expect(reopened.locator('#visits')).toHaveText('8');
  await context.close();
});
