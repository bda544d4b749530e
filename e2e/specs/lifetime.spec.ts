// Stored data outlives the page, the browser and the worker.

import type { Page } from '@playwright/test';
import { openBlank, whenLoaded } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { RELEASE, REST } from '../browsers/tags.ts';

const STORED = { value: 'kept', rows: [{ x: 1 }], alarm: 4_000_000_000_000 };

test('[DUR1] data outlives a reload', { tag: [REST, RELEASE] }, async ({ storagePage }) => {
  await storagePage.evaluate(store);
  await storagePage.reload();
  await whenLoaded(storagePage);
  expect(await storagePage.evaluate(read)).toEqual(STORED);
});

test('[DUR1] data outlives a restart of the browser', async ({ profile, server }) => {
  const first = await profile.launch();
  await (await openBlank(await first.newPage(), server)).evaluate(store);
  await profile.quit();
  const second = await profile.launch();
  const page = await openBlank(await second.newPage(), server);
  expect(await page.evaluate(read)).toEqual(STORED);
});

test('[DUR2] a reload in the middle of writes loses no acknowledged one', { tag: REST }, async ({
  context,
  server,
}) => {
  const page = await openBlank(await context.newPage(), server);
  const acknowledged = await writeUntil(page, 30);
  await page.reload();
  await expectWrites(page, acknowledged());
});

test('[DUR2] a worker terminated in the middle of writes loses no acknowledged one', async ({
  context,
  server,
}) => {
  const page = await context.newPage();
  await page.addInitScript(recordWorkers);
  await openBlank(page, server);
  const acknowledged = await writeUntil(page, 30);
  await page.evaluate(() => window.workers.at(-1)!.terminate());
  // The handles of a terminated worker live on for a while: opening again has to wait for them.
  await page.reload();
  await expectWrites(page, acknowledged());
});

test('[TAB6] a handle goes on with a new worker when its worker was terminated', async ({
  context,
  server,
}) => {
  const page = await context.newPage();
  await page.addInitScript(recordWorkers);
  await openBlank(page, server);
  const seen = await page.evaluate(async () => {
    const storage = await window.api.openStorage('replaced');
    await storage.put('before', 1);
    // Make enough rows that they are still being counted when the worker is terminated.
    const counted = storage.sql
      .exec(
        'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1e9) ' +
          'SELECT count(*) FROM n',
      )
      .one();
    const outcome = counted.then(
      () => 'counted',
      (error) => [error.code, error.retryable],
    );
    window.workers.at(-1)!.terminate();
    const ended = await outcome;
    await storage.put('after', 2);
    return { ended, keys: [...(await storage.list()).keys()], workers: window.workers.length };
  });
  expect(seen).toEqual({
    ended: ['CONNECTION_CLOSED', true],
    keys: ['after', 'before'],
    workers: 2,
  });
});

declare global {
  interface Window {
    workers: Worker[];
  }
}

/** Starts writing; resolves when that many writes are acknowledged, with a counter that goes on. */
async function writeUntil(page: Page, count: number): Promise<() => number> {
  let acknowledged = 0;
  let reached = () => {};
  const enough = new Promise<void>((resolve) => (reached = resolve));
  await page.exposeFunction('acknowledge', (n: number) => {
    acknowledged = Math.max(acknowledged, n);
    if (n >= count) reached();
  });
  await page.evaluate(async () => {
    await window.api.verifyWrites();
    window.api.startWriting();
  });
  await enough;
  return () => acknowledged;
}

async function expectWrites(page: Page, acknowledged: number): Promise<void> {
  await whenLoaded(page);
  const { last, faults } = await page.evaluate(() => window.api.verifyWrites());
  expect(faults).toEqual([]);
  expect(last).toBeGreaterThanOrEqual(acknowledged);
}

async function store(): Promise<void> {
  const storage = await window.api.openStorage('kept');
  await storage.put('key', 'kept');
  await storage.sql.exec('CREATE TABLE t (x); INSERT INTO t VALUES (1)').ready;
  await storage.setAlarm(4_000_000_000_000);
}

async function read(): Promise<unknown> {
  const storage = await window.api.openStorage('kept');
  return {
    value: await storage.get('key'),
    rows: await storage.sql.exec('SELECT x FROM t').toArray(),
    alarm: await storage.getAlarm(),
  };
}

// Runs on the page before its scripts.
function recordWorkers(): void {
  const NativeWorker = window.Worker;
  window.workers = [];
  window.Worker = class extends NativeWorker {
    constructor(address: string | URL, options?: WorkerOptions) {
      super(address, options);
      window.workers.push(this);
    }
  };
}
