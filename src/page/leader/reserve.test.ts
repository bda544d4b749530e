import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type FakeTab, FakeTabs, FakeWorker } from '../../../packages/testing/page/fake-tabs.ts';
import { turns } from '../../../packages/testing/page/turns.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import { DEFAULT_DIRECTORY } from '../../shared/contract/directory.ts';
import { namesOf } from '../../shared/wire/control.ts';
import { REST_MS } from './leader-search.ts';

let tabs: FakeTabs;

beforeEach(() => {
  tabs = new FakeTabs(runCandidate);
});

afterEach(() => tabs.close());

/** The first leads, the second is next in line, the others rest. */
async function openAll(count: number) {
  const opened: FakeTab[] = [];
  for (let i = 0; i < count; i++) {
    const tab = tabs.tab();
    await tab.open();
    await turns();
    opened.push(tab);
  }
  for (const tab of opened) tab.advance(REST_MS);
  await turns();
  return opened;
}

const isRunning = (tab: FakeTab) => tab.workers.at(-1)!.isAlive;

test('[TAB15] of four tabs, the first two keep their workers; all go on', async () => {
  const opened = await openAll(4);
  expect(opened.map(isRunning)).toEqual([true, true, false, false]);
  for (const tab of opened) {
    const storage = await tab.open();
    await storage.put('a', 1);
    expect(await storage.get('a')).toBe(1);
  }
  expect(opened.map(({ workers }) => workers.length)).toEqual([1, 1, 1, 1]);
});

test('[TAB15] tabs that leave one by one lose nothing: the next in line leads, and another tab starts its worker', async () => {
  const opened = await openAll(4);
  const handles = await Promise.all(opened.map((tab) => tab.open()));
  for (let left = 0; left < 3; left++) {
    await handles[left]!.put(`from ${left}`, left);
    opened[left]!.close();
    const next = handles[left + 1]!;
    expect(await next.get(`from ${left}`)).toBe(left);
    expect(opened[left + 1]!.host).not.toBe(null);
    await turns(20);
    expect(opened.slice(left + 1, left + 3).every(isRunning)).toBe(true);
  }
});

test('[TAB15] the first two tabs end at once: a tab that rests leads, without a timer', async () => {
  const [first, second, third, fourth] = await openAll(4);
  const mine = await fourth!.open();
  await mine.put('kept', 1);
  first!.close();
  second!.close();
  expect(await mine.get('kept')).toBe(1);
  expect([third!.host, fourth!.host].filter((host) => host !== null)).toHaveLength(1);
});

test('[TAB15] a read under way in a tab that rests is made again by the next leader', async () => {
  const [first, second, third] = await openAll(3);
  const theirs = await third!.open();
  await theirs.put('a', 1);
  first!.leadingHost.holdAnswers();
  const read = theirs.get('a');
  await turns();
  first!.close();
  expect(await read).toBe(1);
  expect(second!.host).not.toBe(null);
  expect(isRunning(third!)).toBe(true); // it is the next in line now
});

test('[TAB15] the next in line cannot start its worker: a tab that rests leads', async () => {
  const [first, second, third] = await openAll(3);
  const theirs = await third!.open();
  await theirs.put('a', 1);
  second!.terminateWorker();
  await turns();
  first!.close();
  expect(await theirs.get('a')).toBe(1);
  expect(third!.host).not.toBe(null);
});

test('[TAB15] the next in line never leads: a tab that rests starts its worker after a second', async () => {
  const stuck = tabs.browser.agent();
  const { reserveLock } = namesOf(DEFAULT_DIRECTORY);
  const lock = reserveLock({ build: null, code: 'code', startedMs: 0 });
  void stuck.locks.request(lock, {}, () => new Promise(() => {}));
  const [first, second] = await openAll(2);
  expect(isRunning(second!)).toBe(false);
  const theirs = await second!.open();
  await theirs.put('a', 1);
  first!.close();
  const read = theirs.get('a');
  await turns();
  second!.advance(999);
  await turns();
  expect(isRunning(second!)).toBe(false);
  second!.advance(1);
  expect(await read).toBe(1);
});

test('[TAB15] [BUILD1] a tab that rests judges a leader of other code again: the newest deployment leads', async () => {
  const newer = { build: 2 };
  const older = tabs.tab({ build: 1 });
  await older.open();
  const [first, second, third] = [tabs.tab(newer), tabs.tab(newer), tabs.tab(newer)];
  for (const tab of [first, second, third]) {
    await tab.open();
    await turns(20);
  }
  for (const tab of [older, first, second, third]) tab.advance(REST_MS);
  await turns();
  expect([older, first, second, third].map(isRunning)).toEqual([true, true, true, false]);
  const theirs = await third.open();
  await theirs.put('a', 1);
  first.close();
  second.close();
  expect(await theirs.get('a')).toBe(1);
  await vi.waitUntil(() => third.host !== null);
});

test('[TAB15] a worker that the caller started is not ended', async () => {
  const opened = await openAll(2);
  const third = tabs.tab();
  const worker = new FakeWorker(tabs, 'serves', () => null);
  await third.open('object', { worker });
  await turns();
  third.advance(REST_MS);
  await turns();
  expect(opened.map(isRunning)).toEqual([true, true]);
  expect(worker.isAlive).toBe(true);
});
