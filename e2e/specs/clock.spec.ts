// Apps under Playwright's clock, which replaces the timers and the clocks of a page, but not those of its worker.

import type { Page } from '@playwright/test';
import { openBlank } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import type { Served } from '../browsers/server.ts';
import { ONCE, RELEASE, REST } from '../browsers/tags.ts';

const TIME = new Date('2030-01-01T00:00:00Z');
const LATER = new Date('2030-01-01T01:00:00Z');

type Clock = Page['clock'];

interface Way {
  readonly tags: readonly string[];
  before?(clock: Clock): Promise<void>;
  after?(clock: Clock): Promise<void>;
}

/** The ways in which a test takes the time over, before or after the app has loaded. */
const WAYS: Readonly<Record<string, Way>> = {
  'is installed before the app loads': {
    tags: [ONCE, REST, RELEASE],
    before: (clock) => clock.install({ time: TIME }),
  },
  'is fixed before the app loads': {
    tags: [ONCE, REST, RELEASE],
    before: (clock) => clock.setFixedTime(TIME),
  },
  'is paused before the app loads': { tags: [ONCE], before: pause },
  'is paused while the app runs': { tags: [ONCE, REST], after: pause },
};

async function pause(clock: Clock): Promise<void> {
  await clock.install({ time: TIME });
  await clock.pauseAt(LATER);
}

for (const [title, { tags, before, after }] of Object.entries(WAYS)) {
  test(`[PCLOCK1] when page.clock ${title}, reads, writes, live reads and other tabs work, and the page can be left`, {
    tag: [...tags],
  }, async ({ profile, server }) => {
    const context = await profile.launch();
    const page = await context.newPage();
    await before?.(page.clock);
    await openBlank(page, server);
    await after?.(page.clock);
    await page.evaluate(async () => {
      const storage = await window.api.openStorage('clock');
      const seen: unknown[] = [];
      storage.live({ key: 'a' }).subscribe((value) => seen.push(value));
      await storage.put('a', 1);
      await storage.transaction(async () => storage.put('a', 2));
      await storage.sql.exec('CREATE TABLE t(x)').ready;
      Object.assign(window, { storage, seenValues: seen });
    });
    await expect.poll(() => page.evaluate(() => Reflect.get(window, 'seenValues').at(-1))).toBe(2);
    expect(await valueSeenBy(await context.newPage(), server)).toBe(2);

    // The page stays until the worker has its writes, for a moment of the real time.
    await page.evaluate(() => {
      addEventListener('pagehide', () => void Reflect.get(window, 'storage').put('a', 3));
      void Reflect.get(window, 'storage').put('b', 1);
    });
    await page.reload();
    expect(await valueSeenBy(page, server)).toBe(3);
    await page.close();
  });
}

for (const way of ['runFor', 'fastForward'] as const) {
  test(`[PCLOCK2] half an hour of page.clock.${way} neither ends a start nor takes a worker that is busy for a dead one`, {
    tag: way === 'fastForward' ? ONCE : [ONCE, REST, RELEASE],
  }, async ({ profile, server }) => {
    const context = await profile.launch();
    const page = await context.newPage();
    await page.clock.install({ time: TIME });
    await openBlank(page, server);
    await page.evaluate(() => {
      const opened = window.api.openStorage('clock');
      Object.assign(window, { opened: opened.then(() => 'opened', String) });
    });
    await page.clock[way]('30:00');
    expect(await page.evaluate(() => Reflect.get(window, 'opened'))).toBe('opened');

    await page.evaluate(async () => {
      const storage = await window.api.openStorage('clock');
      const counted = storage.sql
        .exec(
          'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000000) SELECT count(*) AS n FROM n',
        )
        .one();
      Object.assign(window, { counted: counted.then(({ n }) => n, String) });
    });
    await page.clock[way]('30:00');
    expect(await page.evaluate(() => Reflect.get(window, 'counted'))).toBe(3_000_000);
    await page.close();
  });
}

/** The value of `a`, as another page of the context or a later one reads it. */
async function valueSeenBy(page: Page, server: Served): Promise<unknown> {
  await openBlank(page, server);
  return page.evaluate(async () => (await window.api.openStorage('clock')).get('a'));
}
