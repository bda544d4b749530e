// Bulk calls of a page: rows that are taken in slices, stored in one transaction, seen by another tab at once.

import { openBlank } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, RELEASE, REST } from '../browsers/tags.ts';

test('[BULK1] 20,000 rows of an async iterable, from the tab that leads and from one that follows, are all stored or none', {
  tag: LONG,
}, async ({ context, server }) => {
  const leader = await openBlank(await context.newPage(), server);
  const follower = await openBlank(await context.newPage(), server);
  for (const [i, tab] of [leader, follower].entries()) {
    const seen = await tab.evaluate(async (i) => {
      const storage = await window.api.openStorage('bulk');
      await storage.sql.exec('CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, v, b BLOB)')
        .ready;
      /** Row `repeated` has the id of the first row. */
      async function* rows(from: number, repeated?: number) {
        for (let n = 0; n < 20_000; n++) {
          const id = from + (n === repeated ? 0 : n);
          yield [id, `é ${id}`, new Uint8Array([id % 251])];
        }
      }
      const insert = 'INSERT INTO t VALUES (?, ?, ?)';
      const progress: number[] = [];
      const { count } = await storage.sql.execMany(insert, rows(i * 20_000), {
        onProgress: (taken) => progress.push(taken),
      });
      const failed = storage.sql.execMany(insert, rows(100_000, 15_000));
      const failure = await failed.catch((error) => String(error));
      return { count, failure, slices: progress.length, last: progress.at(-1) };
    }, i);
    expect(seen).toMatchObject({
      count: 20_000,
      failure: expect.stringContaining('execMany: row 15000: UNIQUE constraint failed'),
      last: 20_000,
    });
    expect(seen.slices).toBeGreaterThan(4);
  }
  const total = await leader.evaluate(async () => {
    const storage = await window.api.openStorage('bulk');
    const isRight = "v = 'é ' || id AND hex(b) = printf('%02X', id % 251)";
    const sums = `count(*) AS n, min(id) AS first, max(id) AS last, sum(${isRight}) AS whole`;
    return storage.sql.exec(`SELECT ${sums} FROM t`).one();
  });
  expect(total).toEqual({ n: 40_000, first: 0, last: 39_999, whole: 40_000 });
});

test('[BULK4] while rows are taken, frames and other tasks of the page go on', async ({
  storagePage,
}) => {
  const seen = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('slices');
    await storage.sql.exec('CREATE TABLE t(a)').ready;
    let turns = 0;
    let frames = 0;
    const turnsAt: number[] = [];
    const frame = () => {
      frames += 1;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      turns += 1;
      channel.port2.postMessage(null);
    };
    channel.port2.postMessage(null);
    // Yields rows until three frames were shown, at most two million; each slice takes 5 ms.
    function* rows() {
      for (let i = 0; i < 2_000_000 && frames < 3; i++) {
        const startMs = performance.now();
        if (i % 8192 === 0) while (performance.now() < startMs + 5);
        yield [i % 10];
      }
    }
    let framesAtLast = 0;
    await storage.sql.execMany('INSERT INTO t VALUES (?)', rows(), {
      onProgress: () => {
        turnsAt.push(turns);
        framesAtLast = frames;
      },
    });
    channel.port1.close();
    return { framesAtLast, slices: turnsAt.length, slicesOfOwnTurns: new Set(turnsAt).size };
  });
  expect(seen.framesAtLast).toBeGreaterThanOrEqual(3);
  expect(seen.slices).toBeGreaterThan(2);
  expect(seen.slicesOfOwnTurns).toBe(seen.slices);
});

test('[BULK6] a batch, and entries by putMany, are one transaction each', {
  tag: [REST, RELEASE],
}, async ({ storagePage }) => {
  const seen = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('batch');
    await storage.sql.exec('CREATE TABLE t(id INTEGER PRIMARY KEY, v)').ready;
    const before = await storage.history();
    const [, read] = await storage.batch([
      ['INSERT INTO t VALUES (?, ?)', 1, 'a'],
      ['SELECT v FROM t WHERE id = ?', 1],
    ]);
    await storage.kv.putMany(Array.from({ length: 2000 }, (_, i) => [`k${i}`, { i }] as const));
    const error = await storage
      .batch([['DELETE FROM t'], ['INSERT INTO t VALUES (?)', 1]])
      .catch((error) => error.message);
    const { size } = await storage.list();
    const rows = await storage.sql.exec('SELECT * FROM t').toArray();
    const commits = (await storage.history()).length - before.length;
    return { read: read?.rows, size, rows, error, commits };
  });
  expect(seen).toEqual({
    read: [{ v: 'a' }],
    size: 2000,
    rows: [{ id: 1, v: 'a' }],
    error: expect.stringMatching(/^batch: statement 1: /),
    commits: 2,
  });
});
