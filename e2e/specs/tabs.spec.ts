// Several tabs on one object: one leads, the others reach it, and one of them takes over.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { BrowserContext, Page } from '@playwright/test';
import { openBlank } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { REPOSITORY, type Served } from '../browsers/server.ts';
import { REST } from '../browsers/tags.ts';

test("[TAB1] two tabs share an object: each sees the other's writes", async ({
  context,
  server,
}) => {
  const [one, two] = await openTabs(context, server);
  await put(one, 'one', 1);
  await put(two, 'two', 2);
  expect(await list(one)).toEqual(['one', 'two']);
  expect(await list(two)).toEqual(['one', 'two']);
  expect([await get(one, 'two'), await get(two, 'one')]).toEqual([2, 1]);
});

test('[SES5] transactions of two tabs do not mix', { tag: REST }, async ({ context, server }) => {
  const tabs = await openTabs(context, server);
  await Promise.all(
    tabs.map((tab) =>
      tab.evaluate(async () => {
        const storage = await window.api.openStorage('shared');
        for (let i = 0; i < 20; i++) {
          await storage.transaction(async (txn) => {
            await txn.put('count', ((await txn.get<number>('count')) ?? 0) + 1);
          });
        }
      }),
    ),
  );
  expect(await get(tabs[0], 'count')).toBe(40);
});

test('[ERR1] errors keep their class and code in the second tab', async ({ context, server }) => {
  const [, two] = await openTabs(context, server);
  const seen = await two.evaluate(async () => {
    const storage = await window.api.openStorage('shared');
    const seen = (promise: Promise<unknown>) =>
      promise.catch((error) => [error.constructor.name, error.code]);
    return [
      await seen(storage.sql.exec('SELECT * FROM missing').ready),
      await seen(storage.put('k'.repeat(3000), 1)),
    ];
  });
  expect(seen).toEqual([
    ['Error', 'SQL'],
    ['RangeError', 'KEY_TOO_LARGE'],
  ]);
});

for (const leaver of [0, 1] as const) {
  test(`[TAB2] when the ${leaver === 0 ? 'first' : 'second'} tab closes, the other goes on`, async ({
    context,
    server,
  }) => {
    const tabs = await openTabs(context, server);
    await put(tabs[0], 'one', 1);
    await put(tabs[1], 'two', 2);
    await tabs[leaver].close();
    const left = tabs[1 - leaver]!;
    await put(left, 'three', 3);
    expect(await list(left)).toEqual(['one', 'three', 'two']);
  });
}

test('[TAB2] a handle opened before the other tab closed still works after it', {
  tag: REST,
}, async ({ context, server }) => {
  const [one, two] = await openTabs(context, server);
  await put(one, 'one', 1);
  await two.evaluate(async () => {
    const storage = await window.api.openStorage('shared');
    window.readOne = () => storage.get('one');
    await window.readOne();
  });
  await one.close();
  // A call caught by the change may reject as retryable; the next must come through.
  await expect
    .poll(() => two.evaluate(() => window.readOne().catch((error) => error.retryable)))
    .toBe(1);
});

// Below the 29 s that a transaction may stay open, far above the time that a slow machine needs.
const FREE_MS = 25_000;

for (const waits of [false, true]) {
  test(`[SES9] a closed tab whose transaction ${waits ? 'waits' : 'is open'} holds nobody up`, async ({
    context,
    server,
  }) => {
    const [one, two] = await openTabs(context, server);
    if (waits) await hold(one, 1000);
    await two.evaluate(async (waits) => {
      const storage = await window.api.openStorage('shared');
      await new Promise<void>((began) => {
        void storage.transaction(async (txn) => {
          await txn.put('lost', 1);
          began();
          await new Promise(() => {});
        });
        // The request is queued behind that of the other tab, and was sent when this turn is over.
        if (waits) setTimeout(began, 100);
      });
    }, waits);
    await two.close();
    const startMs = Date.now();
    await put(one, 'free', 1);
    expect(Date.now() - startMs).toBeLessThan(FREE_MS);
    expect(await list(one)).toEqual(['free']);
  });
}

/** Begins a transaction on the page that ends by itself. */
async function hold(page: Page, durationMs: number): Promise<void> {
  await page.evaluate(async (durationMs) => {
    const storage = await window.api.openStorage('shared');
    await new Promise<void>((began) => {
      void storage.transaction(() => {
        began();
        return new Promise((resolve) => setTimeout(resolve, durationMs));
      });
    });
  }, durationMs);
}

declare global {
  interface Window {
    readOne(): Promise<unknown>;
  }
}

test('[TAB13] a tab that waited in line takes over while the server of its files is gone', {
  tag: REST,
}, async ({ context, server }) => {
  const wasm = readFileSync(join(REPOSITORY, 'worker/engine/vfs/sqlite3.wasm'));
  const headers = {
    'content-type': 'application/wasm',
    'access-control-allow-origin': '*',
    'cache-control': 'no-store',
  };
  let answers = 0;
  const files = createServer((_request, response) => {
    answers += 1;
    response.writeHead(200, headers).end(wasm);
  });
  await new Promise<void>((resolve) => files.listen(0, 'localhost', resolve));
  const wasmUrl = `http://localhost:${(files.address() as AddressInfo).port}/sqlite3.wasm`;
  const one = await openBlank(await context.newPage(), server);
  const two = await openBlank(await context.newPage(), server);
  for (const tab of [one, two]) {
    await tab.evaluate(async (wasmUrl) => {
      await (await window.api.openStorage('shared', { wasmUrl })).put('key', 1);
    }, wasmUrl);
  }
  await expect.poll(() => answers).toBe(2);
  files.closeAllConnections();
  await new Promise((resolve) => files.close(resolve));
  await one.close();
  const seen = await two.evaluate(async (wasmUrl) => {
    return (await window.api.openStorage('shared', { wasmUrl })).get('key');
  }, wasmUrl);
  expect(seen).toBe(1);
});

/** Two tabs, the first of which leads: it has opened the object before the second exists. */
async function openTabs(context: BrowserContext, server: Served): Promise<[Page, Page]> {
  const one = await openBlank(await context.newPage(), server);
  await list(one);
  const two = await openBlank(await context.newPage(), server);
  await list(two);
  return [one, two];
}

async function put(page: Page, key: string, value: unknown): Promise<void> {
  await page.evaluate(
    async ([key, value]) => (await window.api.openStorage('shared')).put(key, value),
    [key, value] as const,
  );
}

async function get(page: Page, key: string): Promise<unknown> {
  return await page.evaluate(async (key) => (await window.api.openStorage('shared')).get(key), key);
}

async function list(page: Page): Promise<string[]> {
  return await page.evaluate(async () => [
    ...(await (await window.api.openStorage('shared')).list()).keys(),
  ]);
}

test('[TAB15] of three tabs, the third one ends its worker; it leads when the two others have gone', async ({
  context,
  server,
}) => {
  const tabs: Page[] = [];
  for (let i = 0; i < 3; i++) tabs.push(await openBlank(await context.newPage(), server));
  const [one, two, three] = tabs as [Page, Page, Page];
  const workersOf = (...pages: Page[]) => pages.map((page) => page.workers().length);
  await put(one, 'from one', 1);
  await put(two, 'from two', 2);
  // The second is in line before the third comes.
  const inLine = () =>
    three.evaluate(async () => {
      const { held = [] } = await navigator.locks.query();
      return held.filter(({ name }) => name?.includes('/reserve/')).length;
    });
  await expect.poll(inLine).toBe(1);
  const ended = three
    .waitForEvent('worker')
    .then((worker) => worker.waitForEvent('close', { timeout: 30_000 }));
  await put(three, 'from three', 3);
  await ended;
  expect(workersOf(one, two, three)).toEqual([1, 1, 0]);
  await put(three, 'without a worker', 4);
  expect(workersOf(one, two, three)).toEqual([1, 1, 0]);
  await one.close();
  expect(await list(three)).toHaveLength(4);
  await expect.poll(() => workersOf(two, three)).toEqual([1, 1]);
  await two.close();
  await put(three, 'alone', 5);
  expect(await list(three)).toHaveLength(5);
  expect(workersOf(three)).toEqual([1]);
});
