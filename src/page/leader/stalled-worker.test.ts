// Workers that do not start: their script never arrives, or the browser has ended them before they could say anything.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type FakeTab, FakeTabs } from '../../../packages/testing/page/fake-tabs.ts';
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

/** Time of the tab passes in steps, as messages arrive between them. */
async function pass(tab: FakeTab, durationMs: number): Promise<void> {
  const stepMs = 500;
  for (let passedMs = 0; passedMs < durationMs; passedMs += stepMs) {
    tab.advance(stepMs);
    await turns(2);
  }
}

/** How the call settles within half a minute. */
async function outcomeOf(tab: FakeTab, call: Promise<unknown>): Promise<unknown> {
  let outcome: unknown = 'pending';
  call.then(
    () => {
      outcome = 'done';
    },
    (error) => {
      outcome = error.code;
    },
  );
  await turns();
  for (let waitedMs = 0; outcome === 'pending' && waitedMs < 30_000; waitedMs += 1000) {
    await pass(tab, 1000);
  }
  return outcome;
}

const running = ({ workers }: FakeTab) => workers.map(({ isAlive }) => isAlive);

for (const script of ['says nothing', 'never serves'] as const) {
  test(`[TAB18] a worker that ${script} is replaced by the next attempt, also a second time`, async () => {
    const tab = tabs.tab();
    for (let failed = 0; failed < 2; failed++) {
      tab.script = script;
      expect(await outcomeOf(tab, tab.open())).toBe('WORKER_FAILED');
      await pass(tab, 30_000);
      expect(running(tab)).toEqual(Array(failed + 1).fill(false));
    }
    tab.script = 'serves';
    await (await tab.open()).put('a', 1);
    expect(running(tab)).toEqual([false, false, true]);
  });
}

test('[TAB18] a worker serves after 28 s, and is used', async () => {
  const tab = tabs.tab();
  tab.script = 'says nothing';
  const opening = tab.open();
  await turns();
  await pass(tab, 28_000);
  tab.workers[0]!.serve();
  await (await opening).put('a', 1);
  await pass(tab, 30_000);
  expect(running(tab)).toEqual([true]);
});

test('[TAB18] [TAB11] a worker that started while its page was suspended is kept', async () => {
  const tab = tabs.tab();
  tab.script = 'says nothing';
  const opening = tab.open().catch(() => {}); // the search is over, too
  await turns();
  tab.workers[0]!.serve();
  tab.advance(3_600_000);
  await opening;
  await turns();
  await pass(tab, 60_000);
  await tab.open();
  expect(running(tab)).toEqual([true]);
});

test('[TAB18] while another tab serves, the same attempt uses it', async () => {
  const mine = await tabs.tab().open();
  await mine.put('a', 1);
  const tab = tabs.tab();
  tab.script = 'says nothing';
  const opening = tab.open();
  expect(await outcomeOf(tab, opening)).toBe('done');
  expect(await (await opening).get('a')).toBe(1);
  expect(running(tab)).toEqual([false]);
});

test('[TAB18] a given one is left alone; while another tab serves, each attempt uses it', async () => {
  const leader = tabs.tab();
  await (await leader.open()).put('a', 1);
  const tab = tabs.tab();
  const worker = tab.startWorker('says nothing');
  const opening = tab.open('object', { worker });
  expect(await outcomeOf(tab, opening)).toBe('done');
  leader.close();
  const other = await tabs.tab().open();
  await other.put('a', 2);
  const reading = (await opening).get('a');
  expect(await outcomeOf(tab, reading)).toBe('done');
  expect(worker.isAlive).toBe(true);
});

/** The first leads, the second is the next in line and the third rests. */
async function openThree() {
  const all = [tabs.tab(), tabs.tab(), tabs.tab()] as const;
  for (const tab of all) {
    await tab.open();
    await turns();
  }
  for (const tab of all) tab.advance(REST_MS);
  await turns();
  expect(running(all[2])).toEqual([false]);
  return all;
}

test('[TAB18] a worker in line that does not start is ended; the call that needs it starts another', async () => {
  const [first, second, third] = await openThree();
  const storage = await third.open();
  await storage.put('kept', 1);
  third.script = 'says nothing';
  second.close(); // now the third one is the next
  await vi.waitUntil(() => third.workers.length === 2);
  await pass(third, 29_000);
  expect(running(third)).toEqual([false, false]);
  third.script = 'serves';
  first.close();
  expect(await storage.get('kept')).toBe(1);
  expect(third.leadingHost.operations).toEqual(['get']);
});

test('[TAB18] a call during the start of a worker in line waits for another worker', async () => {
  const [first, second, third] = await openThree();
  const storage = await third.open();
  await storage.put('kept', 1);
  third.script = 'says nothing';
  second.close();
  await vi.waitUntil(() => third.workers.length === 2);
  await pass(third, 15_000);
  third.script = 'serves';
  first.close();
  expect(await outcomeOf(third, storage.get('kept'))).toBe('done');
  expect(running(third)).toEqual([false, false, true]);
});

test('[TAB18] a following page has a worker in line again after half a minute, also after a second failure', async () => {
  const [first, second, third] = await openThree();
  third.script = 'says nothing';
  second.close();
  await vi.waitUntil(() => third.workers.length === 2);
  await pass(third, 29_000 + 30_000);
  expect(third.workers).toHaveLength(3);
  third.script = 'serves';
  await pass(third, 29_000 + 30_000);
  expect(running(third)).toEqual([false, false, false, true]);
  const storage = await third.open();
  const before = third.workers.length;
  first.close();
  await storage.get('a');
  expect(third.workers).toHaveLength(before);
  expect(third.leadingHost.operations).toEqual(['get']);
});

test('[TAB18] [BUILD1] a newer deployment takes over once its worker starts', async () => {
  const old = tabs.tab({ build: 1 });
  await (await old.open()).put('a', 1);
  const young = tabs.tab({ build: 2 });
  young.script = 'says nothing';
  const opening = young.open();
  expect(await outcomeOf(young, opening)).toBe('done');
  const storage = await opening;
  expect(storage.state).toBe('following');
  young.script = 'serves';
  await pass(young, 30_000);
  await vi.waitUntil(() => storage.state === 'leading');
  expect(await storage.get('a')).toBe(1);
});

test('[TAB18] a worker ended before it leads is replaced while the call waits, also a second time', async () => {
  const [first, second] = [tabs.tab(), tabs.tab()];
  const mine = await first.open();
  await mine.put('kept', 1);
  const between = tabs.browser.agent();
  const { leaderLock } = namesOf(DEFAULT_DIRECTORY);
  void between.locks.request(leaderLock, {}, () => new Promise(() => {}));
  const storage = await second.open();
  first.close();
  await turns();
  const reading = storage.get('kept');
  for (let ended = 0; ended < 2; ended++) {
    second.terminateWorker();
    await vi.waitUntil(() => second.workers.length === ended + 2);
    await pass(second, 5000);
  }
  between.end();
  expect(await reading).toBe(1);
});

test('[TAB18] the worker of a version that was ended is not used again when the next version fails', async () => {
  const tab = tabs.tab();
  const storage = await tab.open();
  await storage.put('kept', 1);
  const spawn = () => tab.startWorker('says nothing');
  const succeeding = tab.finder().succeed({ kind: 'spawned', spawn });
  tab.workers[0]!.terminate();
  expect(await outcomeOf(tab, succeeding)).toBe('WORKER_FAILED');
  expect(await outcomeOf(tab, storage.get('kept'))).toBe('done');
  expect(running(tab).filter((isRunning) => isRunning)).toEqual([true]);
  expect(tab.leadingHost.operations).toEqual(['get']);
});
