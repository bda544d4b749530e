// Green: what a suite does with the fixtures.

import { writeFile } from 'node:fs/promises';
import { expect, test } from 'ctx-storage/playwright';

test('sees what the app stores', async ({ page, objects }) => {
  const visits = objects.storage('Counter', 'visits');
  await page.goto('/');
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(visits).toHaveStored('count', 1);
  await expect(visits).toHaveAlarm();
  expect(await visits.get('count')).toBe(1);
  expect(await visits.list()).toEqual(new Map([['count', 1]]));
  await visits.put('count', 41);
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(page.locator('#visits')).toHaveText('42');
});

test('seeds before the first script of the app runs', async ({ page, seed, objects }) => {
  await seed('Counter', 'visits', { entries: { count: 7, since: new Date(0) } });
  await page.goto('/');
  await expect(page.locator('#visits')).toHaveText('7');
  await expect(objects.storage('Counter', 'visits')).toHaveStored('since', new Date(0));
});

test('seeds with SQL, and reads typed rows', async ({ page, seed, objects }) => {
  await seed('Room', 'lobby', {
    sql: `CREATE TABLE messages (id INTEGER PRIMARY KEY, text);
      INSERT INTO messages (text) VALUES ('hello'), ('again')`,
  });
  await page.goto('/');
  await expect(page.getByRole('listitem')).toHaveText(['hello', 'again']);
  await page.getByRole('textbox').fill('third');
  await page.getByRole('button', { name: 'Say' }).click();
  const room = objects.storage('Room', 'lobby');
  await expect(room).toHaveRows('SELECT text FROM messages WHERE id > 1', [
    { text: 'again' },
    { text: 'third' },
  ]);
  const rows = await room.sql<{ count: number }>('SELECT count(*) AS count FROM messages');
  expect(rows[0]?.count).toBe(3);
});

test('seeds from a SQLite file, and from JSON', async ({ page, seed, objects }, testInfo) => {
  await seed('Room', 'first', {
    sql: "CREATE TABLE messages (id INTEGER PRIMARY KEY, text); INSERT INTO messages (text) VALUES ('kept')",
  });
  const file = testInfo.outputPath('room.sqlite');
  await writeFile(file, await objects.storage('Room', 'first').exportDatabase());
  const json = testInfo.outputPath('seed.json');
  await writeFile(
    json,
    JSON.stringify({ Counter: { visits: { entries: { count: 3 } } }, Room: { lobby: { file } } }),
  );
  await seed(json);
  await page.goto('/');
  await expect(page.locator('#visits')).toHaveText('3');
  await expect(page.getByRole('listitem')).toHaveText('kept');
  expect((await objects.list('Room')).map(({ name }) => name).sort()).toEqual(['first', 'lobby']);
});

test('returns to a snapshot, page and all', async ({ page, seed, objects, snapshot, restore }) => {
  await seed('Counter', 'visits', { entries: { count: 1 } });
  await page.goto('/');
  await expect(page.locator('#visits')).toHaveText('1');
  const mark = await snapshot();
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(page.locator('#visits')).toHaveText('2');
  await seed('Counter', 'other', { entries: { count: 9 } });
  await restore(mark);
  expect(await objects.storage('Counter', 'visits').get('count')).toBe(1);
  await expect(objects.storage('Counter', 'visits')).not.toHaveAlarm();
  expect((await objects.list('Counter')).map(({ name }) => name)).toEqual(['visits']);
  await page.reload();
  await expect(page.locator('#visits')).toHaveText('1');
});

test('reads what is stored after the last page was closed', async ({ page, context, objects }) => {
  await page.goto('/');
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(page.locator('#visits')).toHaveText('1');
  await page.close();
  expect(await objects.storage('Counter', 'visits').get('count')).toBe(1);
  await objects.storage('Counter', 'visits').put('count', 20);
  const next = await context.newPage();
  await next.goto('/');
  await expect(next.locator('#visits')).toHaveText('20');
});

for (const name of ['one', 'two']) {
  test(`${name} of two tests that run at once begins empty`, async ({ page, objects }) => {
    await page.goto('/');
    await page.getByRole('button', { name: 'Visit' }).click();
    await expect(objects.storage('Counter', 'visits')).toHaveStored('count', 1);
    expect(await objects.list('Counter')).toHaveLength(1);
  });
}
