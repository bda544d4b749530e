// Calls that a page cancels while the worker is busy with them: in an isolated page and in a page that is not
// isolated, in the tab whose worker leads and in another.

import type { Page } from '@playwright/test';
import { openBlank } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { type Served, startServer } from '../browsers/server.ts';
import { LONG, RELEASE, REST } from '../browsers/tags.ts';

/**
 * Far below the 30 s after which the statement would end by itself, far above the time that a slow
 * machine needs.
 */
const SOON_MS = 25_000;

declare global {
  interface Window {
    controller: AbortController;
    running: Promise<{ error: unknown; afterMs: number }>;
    /** When a call behind the endless query was answered. */
    goneOn: Promise<number>;
  }
}

for (const isolated of [false, true]) {
  const pages = isolated ? 'isolated pages' : 'pages that are not isolated';

  test(
    `[CANCEL3] in ${pages}, each tab ends its endless query, and the calls of others go on`,
    {
      tag: isolated ? [LONG, RELEASE] : [],
    },
    async ({ context, server, browserName }, info) => {
      await withServer(isolated, server, async (origin) => {
        const leader = await openTab(await context.newPage(), origin);
        const follower = await openTab(await context.newPage(), origin);
        expect(await leader.evaluate(() => crossOriginIsolated)).toBe(isolated);
        for (const [mine, other] of [
          [leader, follower],
          [follower, leader],
        ] as const) {
          await startEndless(mine, 'SELECT max(i) FROM c');
          await other.evaluate(() => {
            const call = window.api.openStorage('another').then((storage) => storage.put('a', 1));
            window.goneOn = call.then(() => Date.now());
          });
          // The worker is busy: the call of the other tab has no answer.
          expect(await isPending(other)).toBe(true);
          const [{ reason, afterMs }, abortedMs] = await abort(mine);
          expect(reason).toBe('enough');
          const goneOnMs = (await other.evaluate(() => window.goneOn)) - abortedMs;
          const figures = `rejected after ${afterMs} ms, the other tab went on after ${goneOnMs} ms`;
          info.annotations.push({ type: 'figures', description: figures });
          console.log(
            `  ${browserName}, ${pages}, ${mine === leader ? 'leader' : 'follower'}: ${figures}`,
          );
          expect(Math.max(afterMs, goneOnMs)).toBeLessThan(SOON_MS);
        }
      });
    },
  );
}

test('[CANCEL4] an endless write that is cancelled leaves nothing, and earlier writes stay', {
  tag: REST,
}, async ({ context, server }) => {
  const leader = await openTab(await context.newPage(), server);
  const follower = await openTab(await context.newPage(), server);
  await leader.evaluate(async () => {
    const storage = await window.api.openStorage('shared');
    await storage.sql.exec('CREATE TABLE t(i); INSERT INTO t VALUES (0)').ready;
  });
  for (const tab of [leader, follower]) {
    await startEndless(tab, 'SELECT i FROM c', 'INSERT INTO t ');
    const [{ reason }] = await abort(tab);
    expect(reason).toBe('enough');
    expect(await countOf(tab)).toBe(1);
  }
});

test('[CANCEL4] whenever a write is cancelled, a rejection means none of it, a result all of it', {
  tag: [LONG, RELEASE],
}, async ({ context, server }) => {
  await openTab(await context.newPage(), server);
  const tab = await openTab(await context.newPage(), server);
  const outcomes = await tab.evaluate(async () => {
    const storage = await window.api.openStorage('shared');
    await storage.sql.exec('CREATE TABLE t(i)').ready;
    const insertOf = (rows: number) =>
      `INSERT INTO t WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT ${rows}) SELECT i FROM c`;
    // A busy worker looks for a cancellation every 100 ms: the write takes several times as long, on any machine.
    let rows = 100_000;
    const measure = async () => {
      await storage.sql.exec('DELETE FROM t').ready;
      const startMs = performance.now();
      await storage.sql.exec(insertOf(rows)).ready;
      return performance.now() - startMs;
    };
    await measure(); // while the code is not yet optimized
    while ((await measure()) < 600) rows *= 2;
    const ROUNDS = 16;
    const outcomes = { rows, tookMs: 0, done: 0, cancelled: 0, wrong: [] as string[] };
    const cancelWithin = async (afterMs: number) => {
      await storage.sql.exec('DELETE FROM t').ready;
      const controller = new AbortController();
      const calls = window.api.withSignal(storage, controller.signal);
      const before = (await storage.sql.exec('SELECT count(*) AS n FROM t').one()).n as number;
      const call = calls.sql.exec(insertOf(rows)).ready.then(
        () => 'done' as const,
        (error) => (error === 'enough' ? ('cancelled' as const) : String(error)),
      );
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      controller.abort('enough');
      const outcome = await call;
      const after = (await storage.sql.exec('SELECT count(*) AS n FROM t').one()).n as number;
      const isWhole = after - before === (outcome === 'done' ? rows : 0);
      if (!isWhole || (outcome !== 'done' && outcome !== 'cancelled')) {
        outcomes.wrong.push(`after ${afterMs} ms: ${outcome}, ${after - before} rows`);
      } else outcomes[outcome] += 1;
    };
    // Double the number of rows until a call is cancelled before its end: a busy machine may make one measurement too
    // long.
    for (let attempt = 0; attempt < 5 && outcomes.cancelled === 0; attempt++, rows *= 2) {
      outcomes.rows = rows;
      outcomes.tookMs = await measure();
      for (let round = 0; round < ROUNDS; round++) {
        await cancelWithin((1.5 * outcomes.tookMs * round) / ROUNDS);
      }
    }
    return outcomes;
  });
  console.log('  writes that were cancelled at any time:', JSON.stringify(outcomes));
  expect(outcomes.wrong).toEqual([]);
  expect(outcomes.cancelled).toBeGreaterThan(0);
});

test('[CANCEL3] the endless query of a tab that closes ends with it', {
  tag: [LONG, RELEASE],
}, async ({ context, server }) => {
  const leader = await openTab(await context.newPage(), server);
  const follower = await openTab(await context.newPage(), server);
  await startEndless(follower, 'SELECT max(i) FROM c');
  await follower.close();
  const startMs = Date.now();
  await leader.evaluate(async () => (await window.api.openStorage('another')).put('a', 1));
  expect(Date.now() - startMs).toBeLessThan(SOON_MS);
});

test('[CANCEL7] the endless query of a method is stopped where it runs, and the object lives on', {
  tag: REST,
}, async ({ context, server }) => {
  const leader = await openBlank(await context.newPage(), server);
  await leader.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    await env.Room.getByName('search').add(1);
  });
  const tab = await openBlank(await context.newPage(), server);
  const seen = await tab.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    const room = env.Room.getByName('search');
    await room.add(1);
    const call = window.api.withSignal(room, AbortSignal.timeout(500)).search();
    const error = await call.then(String, (error: Error) => error.name);
    return [error, await room.searched(), await room.add(0)];
  });
  expect(seen).toEqual(['TimeoutError', 'CANCELLED', 2]);
});

/** Isolated pages need headers of their own. */
async function withServer(
  isolated: boolean,
  server: Served,
  use: (server: Served) => Promise<void>,
): Promise<void> {
  if (!isolated) return use(server);
  const own = await startServer({ builtPages: true, isolated });
  try {
    await use(own);
  } finally {
    await own.close();
  }
}

async function openTab(page: Page, server: Served): Promise<Page> {
  await openBlank(page, server);
  await page.evaluate(async () => (await window.api.openStorage('shared')).get('a'));
  return page;
}

/** The query runs in the worker when this resolves. */
async function startEndless(page: Page, select: string, before = ''): Promise<void> {
  await page.evaluate(
    async ([select, before]) => {
      window.controller = new AbortController();
      const storage = await window.api.openStorage('shared');
      const calls = window.api.withSignal(storage, window.controller.signal);
      const endless = 'WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) ';
      let abortedMs = 0;
      window.controller.signal.addEventListener('abort', () => {
        abortedMs = Date.now();
      });
      const other = await window.api.openStorage('behind');
      await other.get('a');
      window.running = calls.sql.exec(`${before}${endless}${select}`).ready.then(
        () => ({ error: 'ended', afterMs: 0 }),
        (error) => ({ error, afterMs: Date.now() - abortedMs }),
      );
      // A statement without end gives no sign; but a call behind it has no answer, which takes less than a request.
      const behind = other.get('a').then(() => 'answered', String);
      const request = fetch(location.href).then(() => 'pending');
      const sign = await Promise.race([behind, request]);
      if (sign !== 'pending') throw new Error(`The worker is not busy: ${sign}`);
    },
    [select, before] as const,
  );
}

/** Whether the call of `goneOn` still waits after a request to the server, which takes longer than the call otherwise would. */
async function isPending(page: Page): Promise<boolean> {
  return await page.evaluate(async () => {
    const request = fetch(location.href).then(() => 'pending');
    return (await Promise.race([window.goneOn, request])) === 'pending';
  });
}

async function abort(
  page: Page,
): Promise<readonly [{ readonly reason: unknown; readonly afterMs: number }, number]> {
  return await page.evaluate(async () => {
    window.controller.abort('enough');
    const abortedMs = Date.now();
    const { error, afterMs } = await window.running;
    return [{ reason: error, afterMs }, abortedMs] as const;
  });
}

async function countOf(page: Page): Promise<unknown> {
  return await page.evaluate(async () => {
    const storage = await window.api.openStorage('shared');
    return (await storage.sql.exec('SELECT count(*) AS n FROM t').one()).n;
  });
}
