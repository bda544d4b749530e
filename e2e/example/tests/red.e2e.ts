// Red: each test fails, and e2e/specs/harness.spec.ts reads its message.

import { defineObjects, expect, test } from 'ctx-storage/playwright';

test.skip(process.env.RED === undefined, 'only to be read as failures');

const timeout = 300;

test.beforeEach(async ({ page, seed }) => {
  await seed('Counter', 'visits', { entries: { count: 5, list: [1, 2] }, alarm: 4e12 });
  await seed('Room', 'lobby', {
    sql: "CREATE TABLE messages (id INTEGER PRIMARY KEY, text); INSERT INTO messages (text) VALUES ('hello')",
  });
  await page.goto('/');
  await expect(page.locator('#visits')).toHaveText('5');
});

test('toHaveStored', async ({ objects }) => {
  await expect(objects.storage('Counter', 'visits')).toHaveStored('list', [1, 3], { timeout });
});

test('toHaveStored of a key that does not exist', async ({ objects }) => {
  await expect(objects.storage('Counter', 'visits')).toHaveStored('missing', 5, { timeout });
});

test('not.toHaveStored', async ({ objects }) => {
  await expect(objects.storage('Counter', 'visits')).not.toHaveStored('count', 5, { timeout });
});

test('toHaveRows', async ({ objects }) => {
  const rows = [{ text: 'hello' }, { text: 'again' }];
  await expect(objects.storage('Room', 'lobby')).toHaveRows('SELECT text FROM messages', rows, {
    timeout,
  });
});

test('toHaveRows of a query that fails', async ({ objects }) => {
  await expect(objects.storage('Room', 'lobby')).toHaveRows('SELECT * FROM nothing', [], {
    timeout,
  });
});

test('toHaveAlarm', async ({ objects }) => {
  await expect(objects.storage('Counter', 'visits')).toHaveAlarm(5e12, { timeout });
});

test('toHaveAlarm without one', async ({ objects }) => {
  await expect(objects.storage('Room', 'lobby')).toHaveAlarm(undefined, { timeout });
});

test('a class that the app does not serve', async ({ objects }) => {
  await objects.storage('Visits', 'visits').get('count');
});

test('a seed with a value that cannot be stored', async ({ seed }) => {
  await seed('Counter', 'visits', { entries: { act: () => 1 } });
});

test('a seed with its keys in the wrong place', async ({ seed }) => {
  await seed('Counter', 'visits', { count: 5 } as object);
});

test('a second set of options', async ({ context, objects }) => {
  await objects.list('Counter');
  defineObjects({ context, directory: 'other' });
});

test('a matcher on something else', async ({ page }) => {
  await expect(page).toHaveStored('count', 5, { timeout });
});
