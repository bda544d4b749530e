// What is stored, before, while and after the app runs.

import { writeFile } from 'node:fs/promises';
import { expect, test } from 'ctx-storage/playwright';

test('sees what the app stores, also after its last page was closed', async ({
  page,
  context,
  objects,
}) => {
  const visits = objects.storage('Counter', 'visits');
  await page.goto('/');
  await page.getByRole('button', { name: 'Visit' }).click();
  // Other tests store in an object of this name at this time, in contexts of their own.
  await expect(visits).toHaveStored('count', 1);
  await expect(visits).toHaveAlarm();
  expect(await visits.list()).toEqual(new Map([['count', 1]]));
  await visits.put('count', 41);
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(page.locator('#visits')).toHaveText('42');
  await page.close();
  expect(await visits.get('count')).toBe(42);
  await visits.put('count', 20);
  const next = await context.newPage();
  await next.goto('/');
  await expect(next.locator('#visits')).toHaveText('20');
});

test('seeds keys and tables before the first script of the app runs', async ({
  page,
  seed,
  objects,
}) => {
  await seed('Counter', 'visits', { entries: { count: 7, since: new Date(0) } });
  await seed('Room', 'lobby', {
    sql: `CREATE TABLE messages (id INTEGER PRIMARY KEY, text);
      INSERT INTO messages (text) VALUES ('hello'), ('again')`,
  });
  await page.goto('/');
  await expect(page.locator('#visits')).toHaveText('7');
  await expect(objects.storage('Counter', 'visits')).toHaveStored('since', new Date(0));
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

test('seeds from a SQLite file and from JSON, and returns to a snapshot', async ({
  page,
  seed,
  objects,
  snapshot,
  restore,
}, testInfo) => {
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

  const mark = await snapshot();
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(page.locator('#visits')).toHaveText('4');
  await seed('Counter', 'other', { entries: { count: 9 } });
  await restore(mark);
  expect(await objects.storage('Counter', 'visits').get('count')).toBe(3);
  await expect(objects.storage('Counter', 'visits')).not.toHaveAlarm();
  expect((await objects.list('Counter')).map(({ name }) => name)).toEqual(['visits']);
  await page.reload();
  await expect(page.locator('#visits')).toHaveText('3');
});

test('runs on a branch of prepared data, and asserts its changes', async ({
  page,
  seed,
  fork,
  objects,
}) => {
  const visits = objects.storage('Counter', 'visits');
  await seed('Counter', 'visits', { entries: { count: 41 } });
  const early = await fork(visits); // before the app runs
  await page.goto('/');
  await expect(visits).toHaveChanged(
    [
      { key: 'count', before: 41, after: 42 },
      { kind: 'alarm', before: null, after: expect.any(Number) },
    ],
    { by: () => page.getByRole('button', { name: 'Visit' }).click() },
  );
  // The class runs on the branch; neither the page nor the object sees it.
  const draft = await fork(visits);
  await expect(draft).toHaveChanged([{ key: 'count', before: 42, after: 52 }, { kind: 'alarm' }], {
    by: () => draft.call('add', 10),
  });
  await expect(early).toHaveStored('count', 41);
  await expect(visits).toHaveChanged([], { by: () => early.put('count', 0) });
  await page.reload();
  await expect(page.locator('#visits')).toHaveText('42');
});

test('pages work on a branch of prepared data, until it is dropped', async ({
  page,
  seed,
  fork,
  objects,
  context,
}) => {
  const visits = objects.storage('Counter', 'visits');
  await seed('Counter', 'visits', { entries: { count: 41 } });
  const draft = await fork(visits, { forPages: true });
  await page.goto('/');
  await expect(page.locator('#visits')).toHaveText('41');
  await page.getByRole('button', { name: 'Visit' }).click();
  await expect(page.locator('#visits')).toHaveText('42');
  const other = await context.newPage(); // reaches the first page's worker
  await other.goto('/');
  await other.getByRole('button', { name: 'Visit' }).click();
  await expect(other.locator('#visits')).toHaveText('43');
  await expect(draft).toHaveStored('count', 43);
  await expect(visits).toHaveStored('count', 41);
  await objects.drop(draft);
  await page.reload();
  await expect(page.locator('#visits')).toHaveText('41');
});
