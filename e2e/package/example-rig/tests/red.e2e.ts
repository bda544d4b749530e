// Red: the stored data differs from the expected data, and e2e/specs/harness.spec.ts reads the messages. RED=1
// runs it.

import { expect, test } from 'ctx-storage/playwright';

const soft = expect.configure({ soft: true, timeout: 300 });

test('matchers', async ({ page, seed, objects }) => {
  await seed('Counter', 'visits', { entries: { count: 5, list: [1, 2] }, alarm: 4e12 });
  await seed('Room', 'lobby', {
    sql: "CREATE TABLE messages (id INTEGER PRIMARY KEY, text); INSERT INTO messages (text) VALUES ('hello')",
  });
  await page.goto('/');
  await expect(page.locator('#visits')).toHaveText('5');
  const visits = objects.storage('Counter', 'visits');
  const lobby = objects.storage('Room', 'lobby');

  await soft(visits).toHaveStored('list', [1, 3]);
  await soft(visits).toHaveStored('missing', 5);
  await soft(visits).not.toHaveStored('count', 5);
  const rows = [{ text: 'hello' }, { text: 'again' }];
  await soft(lobby).toHaveRows('SELECT text FROM messages', rows);
  await soft(lobby).toHaveRows('SELECT * FROM nothing', []);
  await soft(visits).toHaveAlarm(5e12);
  await soft(lobby).toHaveAlarm();
});
