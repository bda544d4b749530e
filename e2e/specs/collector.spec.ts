// Objects that the garbage collector must not end, and objects that it must be able to collect.
// Chromium only: its engine's flag gives pages a function that collects.

import { openBlank } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG } from '../browsers/tags.ts';

const FLAGS = ['--js-flags=--expose-gc'];
const ROUNDS = 2000;

test('[CUR7] reads whose cursor nothing else refers to give all their rows', { tag: LONG }, async ({
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

test('[PAGE10] rounds of opening and closing leave no memory behind', { tag: LONG }, async ({
  profile,
  server,
}) => {
  const context = await profile.launch();
  const page = await openBlank(await context.newPage(), server);
  const session = await context.newCDPSession(page);
  const heapBytes = async () => {
    for (let i = 0; i < 3; i++) await session.send('HeapProfiler.collectGarbage');
    return (await session.send('Runtime.getHeapUsage')).usedSize;
  };
  const rounds = (count: number) =>
    page.evaluate(async (count) => {
      await (await window.api.openStorage('stays')).get('a');
      for (let i = 0; i < count; i++) await (await window.api.openStorage('rounds')).close();
    }, count);
  await rounds(300);
  const before = await heapBytes();
  await rounds(ROUNDS);
  const bytesPerRound = ((await heapBytes()) - before) / ROUNDS;
  // 800 when each round left its session; the rest is the engine's own.
  expect(bytesPerRound).toBeLessThan(200);
});

test('[FILE10] files open although the collector runs', { tag: LONG }, async ({
  profile,
  server,
}) => {
  // Only optimized code lets go of a variable that it does not read again.
  const context = await profile.launch(['--js-flags=--expose-gc --interrupt-budget=1000']);
  const page = await openBlank(await context.newPage(), server);
  const missing = await page.evaluate(
    () =>
      new Promise<string[]>((resolve, reject) => {
        const worker = new Worker('/e2e/specs/pages/collecting-worker.ts', { type: 'module' });
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = ({ message }) => reject(new Error(message));
      }),
  );
  expect(missing).toEqual([]);
});
