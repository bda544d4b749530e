// Tabs of several deployments of an app, in real browsers: the newest one's code runs, whichever was opened first.

import type { BrowserContext, Page } from '@playwright/test';
import { test as base, expect } from '../browsers/fixtures.ts';
import { ownOrigin } from '../browsers/own-origin.ts';
import type { Served } from '../browsers/server.ts';
import type { StaticSite } from '../browsers/static-site.ts';
import { LONG, ONCE, RELEASE, REST } from '../browsers/tags.ts';
import { startDeployments } from './deployments/site.ts';

let deployments: StaticSite;

// Not a fixture of the process: Playwright would start another, with a browser, for this file alone.
base.beforeAll(async () => {
  deployments = await startDeployments({
    one: { build: 1 },
    two: { build: 2, hasCount: true },
    three: { build: 3, hasCount: true },
    spring: {},
    summer: { hasCount: true },
    first: { build: 1, columns: ['colour'] },
    second: { build: 2, columns: ['colour', 'size'] },
    third: { build: 3, columns: ['colour', 'size', 'price'], breaking: 'price' },
    future: { build: 9, hasCount: true, protocol: 99 },
  });
});
base.afterAll(() => deployments.close());

const test = base.extend<{ site: Served }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright finds a fixture's needs by pattern
  site: ({}, use) => use(ownOrigin(deployments)),
});

/** A tab of a deployment, connected. */
async function open(context: BrowserContext, site: Served, name: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${site.origin}/${name}/`);
  await page.waitForFunction(() => 'app' in window);
  await page.evaluate(() => window.app.outcome(window.app.state()));
  return page;
}

const add = (page: Page, id: string) => page.evaluate((id) => window.app.add(id), id);
const count = (page: Page) => page.evaluate(() => window.app.count());
/** When the page was opened, as deployments without a build compare. */
const started = (page: Page) => page.evaluate(() => performance.timeOrigin);
const state = (page: Page) => page.evaluate(() => window.app.state());
const told = (page: Page) => page.evaluate(() => window.app.told);
const outcome = (page: Page, what: 'count' | 'state') =>
  page.evaluate((what) => window.app.outcome(window.app[what]()), what);

for (const [older, newer, tag] of [
  ['one', 'two'],
  ['spring', 'summer', [REST, RELEASE]],
] as const) {
  test(`[BUILD1] the older was opened first: ${newer} takes over from ${older}, both tabs call its methods, and the older one goes on alone`, {
    tag: [...(tag ?? [])],
  }, async ({ context, site }) => {
    const old = await open(context, site, older);
    expect(await add(old, 'a')).toBe(older);
    expect(await outcome(old, 'count')).toContain('UNKNOWN_METHOD');
    expect(await state(old)).toEqual(['leading', false]);

    const young = await open(context, site, newer);
    const startedMs = await Promise.all([old, young].map(started));
    expect(await add(young, 'b'), `the pages were opened at ${startedMs}`).toBe(newer);
    expect(await count(young)).toBe(2);
    expect(await state(young)).toEqual(['leading', false]);
    expect(await count(old)).toBe(2);
    expect(await add(old, 'c'), 'of the older tab').toBe(newer);
    await expect.poll(() => state(old)).toEqual(['following', true]);
    expect((await told(old)).filter((event) => event === 'outdated')).toEqual(['outdated']);
    expect(await told(young)).toEqual(['leading']);

    await young.close();
    expect(await retried(() => add(old, 'd'))).toBe(older);
    expect(await state(old)).toEqual(['leading', true]);
    expect((await old.evaluate(() => window.app.all())).map(({ id }) => id)).toEqual([...'abcd']);
  });
}

test('[BUILD1] the newer was opened first: a tab of an older deployment follows it, and is told at once', async ({
  context,
  site,
}) => {
  const young = await open(context, site, 'two');
  const old = await open(context, site, 'one');
  expect(await add(old, 'a')).toBe('two');
  expect(await count(old)).toBe(1);
  await expect.poll(() => state(old)).toEqual(['following', true]);
  expect(await state(young)).toEqual(['leading', false]);
  expect(await told(young)).toEqual(['leading']);
});

test('[APP1] [BUILD1] an old tab leads again after a newer build has migrated, until a migration is breaking', {
  tag: REST,
}, async ({ context, site }) => {
  const columns = (page: Page) => page.evaluate(() => window.app.columns());
  const old = await open(context, site, 'first');
  expect(await add(old, 'a')).toBe('first');
  expect(await columns(old)).toEqual(['colour']);

  const young = await open(context, site, 'second');
  expect(await add(young, 'b')).toBe('second');
  expect(await columns(old)).toEqual(['colour', 'size']);
  await young.close();

  expect(await retried(() => add(old, 'c'))).toBe('first');
  expect(await state(old)).toEqual(['leading', true]);
  expect(await columns(old)).toEqual(['colour', 'size']);
  expect((await old.evaluate(() => window.app.all())).map(({ id }) => id)).toEqual([...'abc']);

  const breaking = await open(context, site, 'third');
  expect(await add(breaking, 'd')).toBe('third');
  expect(await columns(old)).toEqual(['colour', 'size', 'price']);
  await breaking.close();

  await expect.poll(() => outcome(old, 'count')).toContain('MIGRATION_CONFLICT');
  expect(await outcome(old, 'count')).toContain('needs build 3 or a newer one');
  const back = await open(context, site, 'third');
  expect((await back.evaluate(() => window.app.all())).map(({ id }) => id)).toEqual([...'abcd']);
});

test('[BUILD3] a second tab of the same deployment takes over from nobody', {
  tag: [LONG, ONCE],
}, async ({ context, site }) => {
  for (const name of ['one', 'spring']) {
    const first = await open(context, site, name);
    await add(first, name);
    const second = await open(context, site, name);
    await add(second, name);
    expect([await state(first), await state(second)]).toEqual([
      ['leading', false],
      ['following', false],
    ]);
    expect(await told(first)).toEqual(['leading']);
    await first.close();
    await second.close();
  }
});

/** Waits until the writers of the page have written some entries. */
async function whenWriting(page: Page): Promise<void> {
  await expect.poll(() => page.evaluate(() => window.app.written())).toBeGreaterThan(20);
}

test('[BUILD5] two takeovers under load: no write is rejected, and each is there once', {
  tag: LONG,
}, async ({ context, site }) => {
  const leader = await open(context, site, 'one');
  const follower = await open(context, site, 'one');
  for (const [name, page] of Object.entries({ leader, follower })) {
    await page.evaluate((name) => window.app.startWriting(name, 3), name);
  }
  await follower.evaluate(() => window.app.follow());
  await whenWriting(leader);
  const middle = await open(context, site, 'two');
  await middle.evaluate(() => window.app.startWriting('middle', 3));
  await whenWriting(middle);
  const last = await open(context, site, 'three');
  await last.evaluate(() => window.app.startWriting('last', 3));
  await whenWriting(last);
  const acknowledged: string[] = [];
  for (const page of [leader, follower, middle, last]) {
    const writes = await page.evaluate(() => window.app.stopWriting());
    expect(writes.rejected).toEqual([]);
    acknowledged.push(...writes.acknowledged);
  }
  const rows = await last.evaluate(() => window.app.all());
  expect(rows.map(({ id }) => id).sort()).toEqual(acknowledged.sort());
  // Each deployment has written, one after the other.
  const writers = rows.map(({ by }) => by).filter((by, i, all) => by !== all[i - 1]);
  expect(writers).toEqual(['one', 'two', 'three']);
  await expect
    .poll(async () => (await follower.evaluate(() => window.app.counts)).at(-1))
    .toBe(rows.length);
});

test('[BUILD5] an object that runs for too long is reset, with an error that can be retried', {
  tag: [LONG, RELEASE],
}, async ({ context, site }) => {
  const old = await open(context, site, 'one');
  const long = old.evaluate(() => window.app.outcome(window.app.last(60_000)));
  await add(old, 'a');
  const young = await open(context, site, 'two');
  expect(await add(young, 'b')).toBe('two');
  expect(await long).toContain('OBJECT_RESET');
  expect(await long).toContain('a newer deployment (build 2) has taken over');
  expect(await count(old)).toBe(2);
});

test('[BUILD8] a page whose protocol does not fit is told at once, and goes on when it can', {
  tag: REST,
}, async ({ context, site }) => {
  const old = await open(context, site, 'one');
  await add(old, 'a');
  const future = await open(context, site, 'future');
  expect(await add(future, 'b')).toBe('future');
  await expect.poll(async () => (await told(old)).includes('lost')).toBe(true);
  const failure = await outcome(old, 'count');
  expect(failure).toContain('VERSION_MISMATCH');
  expect(failure).toContain('(build 9) speaks version 99 of the protocol');
  expect(failure).toContain('Reload this page');
  expect((await state(old))[1]).toBe(true);
  const another = await open(context, site, 'one');
  expect(await outcome(another, 'state')).toContain('VERSION_MISMATCH');
  await another.close();
  await future.close();
  expect(await retried(() => add(old, 'c'))).toBe('one');
  expect((await old.evaluate(() => window.app.all())).map(({ id }) => id)).toEqual([...'abc']);
});

/** Repeats a call like an app whose call was on its way when a tab was closed. */
async function retried<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (error) {
      if (tries === 10) throw error;
    }
  }
}
