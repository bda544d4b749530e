// The browser's back/forward cache: a page stands still in it, with its worker, and comes back as it was, unless the
// browser discards it meanwhile; then it is loaded again.
//
// The package's own limits would let other tabs go on in any case, after 30 s and after 45 s. Here they are an hour, so a
// test that ends shows that nobody waited for them. Each test fails if its page was not put into the cache.

import type { BrowserContext, Page } from '@playwright/test';
import { edited } from '../break/torture/broken.ts';
import { type Site, startSite } from '../break/torture/site.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { RELEASE, REST } from '../browsers/tags.ts';
import type {} from './pages/cached.ts';

const HOUR_LONG = [
  edited('hour-long-transactions', {
    file: /contract[\\/]limits\.ts$/,
    from: 'CRITICAL_SECTION_MS_MAX = 30_000',
    to: 'CRITICAL_SECTION_MS_MAX = 3_600_000',
  }),
  edited('hour-long-beats', {
    file: /leader[\\/]heartbeat\.ts$/,
    from: 'HEARTBEAT_MS = 5000',
    to: 'HEARTBEAT_MS = 3_600_000',
  }),
  // Chromium discards a page from the cache when another one asks for a lock that it holds.
  edited('hour-long-rest', {
    file: /boot[\\/]preparation\.ts$/,
    from: 'PREPARE_MS = 1000',
    to: 'PREPARE_MS = 3_600_000',
  }),
];

let site: Site;
test.beforeAll(async () => {
  const entries = {
    page: 'e2e/specs/pages/cached.ts',
    'objects-worker': 'e2e/specs/pages/cached-worker.ts',
  };
  site = await startSite(entries, HOUR_LONG);
});
test.afterAll(() => site.close());

test('[PTX6] [CONN14] a page comes back with its handles, stub, cursor, live reads and pending call, without its transaction', async ({
  profile,
}) => {
  const page = await openPage(await profile.launch([], ['--disable-back-forward-cache']));
  await hold(page);
  await page.evaluate(async () => {
    const { storage, room } = window.held!;
    const numbers = `WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000) SELECT x FROM n`;
    const rows = storage.sql.exec<{ x: number }>(numbers)[Symbol.asyncIterator]();
    await rows.next(); // the row 1
    Object.assign(window, { left: { rows, waiting: room.wait() } });
  });
  await begin(page);

  await leave(page);
  await comeBack(page);
  expect(await page.evaluate(() => window.cached.isFromCache)).toBe(true);
  const found = await page.evaluate(async () => {
    const { storage, apart, room } = window.held!;
    const { rows, waiting } = window.left;
    const code = await window.ended;
    const others: number[] = [];
    for (let row = await rows.next(); !row.done; row = await rows.next()) others.push(row.value.x);
    await room.release('released');
    await storage.put('count', (await storage.get<number>('count'))! + 10);
    await apart.transaction(async (txn) => txn.put('other', (await txn.get('count')) as number));
    return {
      code,
      others,
      answer: await waiting,
      sum: await room.add(5),
      other: await apart.get('other'),
    };
  });
  // The count was 1 and is 11: the transaction's 2 is undone.
  expect(found).toEqual({
    code: 'TRANSACTION_ENDED',
    others: Array.from({ length: 999 }, (_, i) => i + 2),
    answer: 'released',
    sum: 8,
    other: 11,
  });
  await expect.poll(() => page.evaluate(() => window.held!.counts)).toEqual([1, 11]);
  await expect.poll(() => page.evaluate(() => window.held!.sums)).toEqual([3, 8]);
});

test('[PTX6] the open transaction of a page in the cache is undone, and holds up no other tab', {
  tag: [REST, RELEASE],
}, async ({ profile }) => {
  const context = await profile.launch([], ['--disable-back-forward-cache']);
  const other = await openPage(context);
  await hold(other);
  const page = await openPage(context);
  await hold(page);
  expect(await page.evaluate(() => window.held!.storage.state)).toBe('following');
  await begin(page);

  await leave(page);
  expect(await other.evaluate(() => window.held!.storage.get('count'))).toBe(1);
  expect(await other.evaluate(() => window.held!.storage.state)).toBe('leading');
  await comeBack(page);
  const found = await page.evaluate(async () =>
    window.cached.isFromCache ? await window.ended : window.cached.reasons,
  );
  // If the answer to its rollback comes late, it is a message, for which Chromium discards a page from the cache.
  expect([['broadcastchannel-message'], 'TRANSACTION_ENDED']).toContainEqual(found);
});

test('[TAB19] [PTX6] the page that leads goes into the cache, and the tabs that follow go on at once', {
  tag: REST,
}, async ({ profile }) => {
  const context = await profile.launch([], ['--disable-back-forward-cache']);
  const page = await openPage(context);
  await hold(page);
  const other = await openPage(context);
  await hold(other);
  await begin(page);
  expect(await page.evaluate(() => window.held!.storage.state)).toBe('leading');

  await leave(page);
  const found = await other.evaluate(async () => {
    const { storage, room } = window.held!;
    const [count, sum] = [await storage.get('count'), await room.sum()];
    await storage.put('count', 4);
    return { count, sum, added: await room.add(1), state: storage.state };
  });
  expect(found).toEqual({ count: 1, sum: 3, added: 4, state: 'leading' });
  await expect.poll(() => other.evaluate(() => window.held!.counts)).toEqual([1, 4]);
  await expect.poll(() => other.evaluate(() => window.held!.sums)).toEqual([3, 4]);
  await comeBack(page);
  await page.evaluate(async () => {
    window.held ??= await window.cached.hold();
  });
  expect(await page.evaluate(() => window.held!.storage.get('count'))).toBe(4);
});

declare global {
  interface Window {
    left: { readonly rows: AsyncIterator<{ x: number }>; readonly waiting: Promise<string> };
    /** The code that the transaction of `begin` ends with. */
    ended: Promise<string>;
  }
}

async function openPage(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  await page.goto(site.origin);
  await page.waitForFunction(() => 'cached' in window);
  return page;
}

/** The count is 1 and the sum 3, and the page's live reads have shown it. */
async function hold(page: Page): Promise<void> {
  await page.evaluate(async () => {
    window.held = await window.cached.hold();
    const { storage, room, counts, sums } = window.held;
    if ((await storage.get('count')) === undefined) await storage.put('count', 1);
    if ((await room.sum()) === 0) await room.add(3);
    while (counts.at(-1) !== 1 || sums.at(-1) !== 3) await new Promise(requestAnimationFrame);
    counts.splice(0, counts.length - 1);
    sums.splice(0, sums.length - 1);
  });
}

/** Begins a transaction that has written, and does not end. */
async function begin(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const { apart } = window.held!;
    await new Promise<void>((written) => {
      const transaction = apart.transaction(async (txn) => {
        await txn.put('count', 2);
        written();
        await new Promise(() => {});
      });
      window.ended = transaction.then(
        () => 'committed',
        ({ code }) => code,
      );
    });
  });
}

async function leave(page: Page): Promise<void> {
  await page.goto(`${site.origin}/blank.html`);
  // The storage of the session is that of both pages.
  expect(await page.evaluate(() => sessionStorage.getItem('cached'))).toBe('true');
}

async function comeBack(page: Page): Promise<void> {
  await page.goBack({ waitUntil: 'commit' });
  await page.waitForFunction(
    () => window.cached?.isFromCache || document.readyState === 'complete',
  );
}
