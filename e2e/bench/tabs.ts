// The cost of following, in one run: a call of a tab that follows against the same call of the tab that leads; and
// how long nothing is answered when the tab that leads is closed, against the browser's own time to end a worker
// and pass on its lock.
//
//   npx tsx e2e/bench/tabs.ts [--browser chromium|firefox] [--rounds 15] [--only calls|takeover]

import { parseArgs } from 'node:util';
import type { BrowserContext, Page } from '@playwright/test';
import { median } from '../../demo/bench/median.ts';
import { startSite } from '../break/torture/site.ts';
import { type BrowserName, requireBrowser } from '../browsers/browser.ts';
import { Profile } from '../browsers/profile.ts';
import type { CallName, Moving } from './tabs-page.ts';

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
/** The time for which a following tab writes before the fault: a tab in line prepares to lead after a second. */
const BEFORE_MS = 2000;
/** The time for which it writes after the fault. */
const AFTER_MS = 300;
/** Longer than a takeover takes on a machine that does other work too. */
const TAKEOVER_MS_MAX = 20_000;

const MOVING: Readonly<Record<Moving, string>> = {
  storage: '`put`, after the leading tab was closed',
  objects: 'a method that writes, after the leading tab was closed',
  lock: '*limit*: a lock of a bare worker, after its tab was closed',
};

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

async function open(context: BrowserContext, ...moving: Moving[]): Promise<Page> {
  const page = await context.newPage();
  await page.goto(site.origin);
  await page.waitForFunction(() => 'tabBench' in window);
  for (const kind of moving) await page.evaluate((kind) => window.tabBench.open(kind), kind);
  return page;
}

async function compareCalls(context: BrowserContext): Promise<void> {
  const leader = await open(context, 'storage', 'objects');
  const follower = await open(context, 'storage', 'objects');
  for (const kind of ['storage', 'objects'] as const) {
    await mustBe(leader, kind, 'leading');
    await mustBe(follower, kind, 'following');
  }
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

/**
 * Each round, the tab that leads closes and the other takes over. A tab has one worker, as an app has: two would
 * take over at once, and share the processor.
 */
async function takeOver(context: BrowserContext): Promise<void> {
  console.log(
    '\n| nothing is answered, ms | median | shortest | longest |\n| --- | --- | --- | --- |',
  );
  const kinds = Object.keys(MOVING) as Moving[];
  const times: Record<Moving, number[]> = { storage: [], objects: [], lock: [] };
  for (let round = 0; round <= rounds; round++) {
    for (const kind of kinds) {
      const takenMs = await takenOver(context, kind);
      if (round > 0) times[kind].push(takenMs);
    }
  }
  for (const kind of kinds) {
    const [shortest, longest] = [Math.min(...times[kind]), Math.max(...times[kind])];
    const row = [median(times[kind]), shortest, longest].map((ms) => ms.toFixed(0)).join(' | ');
    console.log(`| ${MOVING[kind]} | ${row} |`);
  }
}

/** How long nothing was answered. */
async function takenOver(context: BrowserContext, kind: Moving): Promise<number> {
  const leader = await open(context, kind);
  await whenLeading(leader, kind);
  const follower = await open(context, kind);
  await mustBe(follower, kind, 'following');
  await follower.evaluate((kind) => window.tabBench.watch(kind), kind);
  await pause(BEFORE_MS);
  await leader.close();
  await whenLeading(follower, kind);
  await pause(AFTER_MS);
  const { beforeMs, afterMs } = await follower.evaluate(() => window.tabBench.watched());
  await follower.close();
  return afterMs - beforeMs;
}

async function whenLeading(page: Page, kind: Moving): Promise<void> {
  const endMs = performance.now() + TAKEOVER_MS_MAX;
  while ((await stateOf(page, kind)) !== 'leading') {
    if (performance.now() > endMs) throw new Error('The tab that follows does not take over.');
    await pause(20);
  }
}

async function mustBe(page: Page, kind: Moving, expected: string): Promise<void> {
  const state = await stateOf(page, kind);
  if (state !== expected) throw new Error(`The tab is ${state}, not ${expected}.`);
}

function stateOf(page: Page, kind: Moving): Promise<string> {
  return page.evaluate((kind) => window.tabBench.state(kind), kind);
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
