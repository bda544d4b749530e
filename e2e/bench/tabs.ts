// What it costs not to lead, in one run: a call of a tab that follows beside the same call of the tab that leads;
// and how long nothing is answered when the tab that leads is closed.
//
//   npx tsx e2e/bench/tabs.ts [--browser chromium|firefox] [--rounds 15] [--only calls|takeover]

import { parseArgs } from 'node:util';
import type { BrowserContext, Page } from '@playwright/test';
import { type BrowserName, requireBrowser } from '../browsers/browser.ts';
import { Profile } from '../browsers/profile.ts';
import { startSite } from '../torture/site.ts';
import type { CallName } from './tabs-page.ts';

const { values: options } = parseArgs({
  options: {
    browser: { type: 'string', default: 'chromium' },
    rounds: { type: 'string', default: '15' },
    only: { type: 'string' },
  },
});
const rounds = Number(options.rounds);
const CALLS: readonly (readonly [CallName, count: number])[] = [
  ['get', 200],
  ['method', 200],
  ['put', 50],
];
/** A tab that follows writes for so long before and after the fault. */
const AROUND_MS = 300;
/** Longer than a takeover takes on a machine that does other work too. */
const TAKEOVER_MS_MAX = 20_000;

const browser = requireBrowser(options.browser as BrowserName);
const site = await startSite({
  page: 'e2e/bench/tabs-page.ts',
  'objects-worker': 'e2e/bench/tabs-worker.ts',
});
const profile = new Profile(browser);
console.log(`${browser.version}, ${rounds} rounds`);
try {
  const context = await profile.launch();
  if (options.only !== 'takeover') await compareCalls(context);
  if (options.only !== 'calls') await takeOver(context);
} finally {
  await profile.remove();
  await site.close();
}

async function open(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  await page.goto(site.origin);
  await page.waitForFunction(() => 'tabBench' in window);
  await page.evaluate(() => window.tabBench.open());
  return page;
}

async function compareCalls(context: BrowserContext): Promise<void> {
  const leader = await open(context);
  const follower = await open(context);
  await mustBe(leader, 'leading');
  await mustBe(follower, 'following');
  console.log(
    '\n| a call, ms | the tab that leads | a tab that follows | ratio |\n| --- | --- | --- | --- |',
  );
  for (const [name, count] of CALLS) {
    const times = { leader: [] as number[], follower: [] as number[] };
    for (let round = 0; round <= rounds; round++) {
      const time = (page: Page) =>
        page.evaluate(([name, count]) => window.tabBench.time(name, count), [name, count] as const);
      const [byLeader, byFollower] = [await time(leader), await time(follower)];
      if (round === 0) continue; // the first one warms both up
      times.leader.push(byLeader);
      times.follower.push(byFollower);
    }
    const [lead, follow] = [median(times.leader), median(times.follower)];
    const ratios = times.leader.map((ms, i) => times.follower[i]! / ms);
    console.log(
      `| ${name} | ${lead.toFixed(3)} | ${follow.toFixed(3)} | ${median(ratios).toFixed(2)} × |`,
    );
  }
  await follower.close();
  await leader.close();
}

/** Each round, the tab that leads goes and the one that follows takes over; then a new one follows. */
async function takeOver(context: BrowserContext): Promise<void> {
  console.log(
    '\n| nothing is answered, ms | median | shortest | longest |\n| --- | --- | --- | --- |',
  );
  for (const kind of ['storage', 'objects'] as const) {
    let leader = await open(context);
    const times: number[] = [];
    for (let round = 0; round <= rounds; round++) {
      const follower = await open(context);
      await mustBe(leader, 'leading');
      await mustBe(follower, 'following');
      await follower.evaluate((kind) => window.tabBench.watch(kind), kind);
      await pause(AROUND_MS);
      await leader.close();
      await whenLeading(follower);
      await pause(AROUND_MS);
      const { beforeMs, afterMs } = await follower.evaluate(() => window.tabBench.watched());
      if (round > 0) times.push(afterMs - beforeMs);
      leader = follower;
    }
    await leader.close();
    const [shortest, longest] = [Math.min(...times), Math.max(...times)];
    const row = [median(times), shortest, longest].map((ms) => ms.toFixed(0)).join(' | ');
    console.log(
      `| ${kind === 'storage' ? 'put' : 'a method that writes'}, after the leading tab was closed | ${row} |`,
    );
  }
}

async function whenLeading(page: Page): Promise<void> {
  const endMs = performance.now() + TAKEOVER_MS_MAX;
  while ((await statesOf(page)).some((state) => state !== 'leading')) {
    if (performance.now() > endMs) throw new Error('The tab that follows does not take over.');
    await pause(20);
  }
}

async function mustBe(page: Page, expected: string): Promise<void> {
  const states = await statesOf(page);
  if (states.some((state) => state !== expected)) {
    throw new Error(`The tab is ${states.join(' and ')}, not ${expected}.`);
  }
}

function statesOf(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => window.tabBench.state());
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}
