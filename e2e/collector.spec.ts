// What the garbage collector must not end, and what it must be able to take. Chromium only: its
// engine's flag gives pages a function that collects.

import { openBlank } from './blank-page.ts';
import { expect, test } from './fixtures.ts';

const FLAGS = ['--js-flags=--expose-gc', '--enable-precise-memory-info'];

test('[CUR7] reads whose cursor nothing else refers to give all their rows', async ({
  profile,
  server,
}) => {
  const context = await profile.launch(FLAGS);
  const page = await openBlank(await context.newPage(), server);
  const seen = await page.evaluate(async () => {
    const storage = await window.api.openStorage('collected');
    const { sql } = storage;
    await sql.exec('CREATE TABLE t (a)').ready;
    await sql.exec(
      'INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) ' +
        'SELECT i FROM n',
    ).ready;
    const collecting = setInterval(() => globalThis.gc!(), 2);
    // Each first answer takes the worker a while, in which the page collects several times.
    const slow = '(SELECT count(*) FROM t b, t c WHERE b.a < 40 AND c.a < 2000)';
    try {
      const rest = await openRest();
      return {
        whole: (await sql.exec(`SELECT a, ${slow} FROM t`).raw().toArray()).length,
        quick: (await sql.exec('SELECT a FROM t').raw().toArray()).length,
        one: await sql.exec(`SELECT ${slow} > 0`).raw().one(),
        next: (await sql.exec(`SELECT ${slow} > 0`).raw().next()).value,
        rest: (await rest.toArray()).length,
      };
    } finally {
      clearInterval(collecting);
    }

    async function openRest() {
      const view = sql.exec('SELECT a FROM t').raw();
      await view.next();
      return view;
    }
  });
  expect(seen).toEqual({ whole: 5000, quick: 5000, one: [1], next: [1], rest: 4999 });
});

test('[PAGE10] rounds of opening and closing leave no memory behind', async ({
  profile,
  server,
}) => {
  const context = await profile.launch(FLAGS);
  const page = await openBlank(await context.newPage(), server);
  const bytes = await page.evaluate(async () => {
    const storage = await window.api.openStorage('stays');
    await storage.put('a', 1);
    const rounds = async (count: number) => {
      for (let i = 0; i < count; i++) await (await window.api.openStorage('rounds')).close();
    };
    // Of Chromium, and exact only after a collection.
    const { memory } = performance as unknown as { memory: { usedJSHeapSize: number } };
    const heap = async () => {
      for (let i = 0; i < 3; i++) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        globalThis.gc!();
      }
      return memory.usedJSHeapSize;
    };
    await rounds(300);
    const before = await heap();
    await rounds(2000);
    return ((await heap()) - before) / 2000;
  });
  // 800 when each round left its session; what is left is the engine's own.
  expect(bytes).toBeLessThan(200);
});
