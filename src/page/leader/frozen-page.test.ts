// A page that the browser freezes, in its back/forward cache or in the background: its worker stands still with it.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { codeOf, FakeTabs } from '../../../packages/testing/page/fake-tabs.ts';
import { turns } from '../../../packages/testing/page/turns.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';

let tabs: FakeTabs;
beforeEach(() => {
  tabs = new FakeTabs(runCandidate);
});
afterEach(() => tabs.close());

async function openBoth() {
  const [one, two] = [tabs.tab(), tabs.tab()];
  const storage = await one.open();
  const theirs = await two.open();
  await turns();
  return { one, two, storage, theirs };
}

test('[TAB19] a page that is frozen ends its worker, which another tab follows: that tab goes on without a timer', async () => {
  const { one, two, theirs } = await openBoth();
  await theirs.put('a', 1);
  one.leadingHost.holdAnswers(); // as it stands still
  const reading = theirs.get('a');
  const writing = codeOf(theirs.put('b', 2));
  await turns();
  one.freeze();
  expect(await reading).toBe(1);
  expect(await writing).toBe('CONNECTION_CLOSED');
  expect([one.host, two.host !== null]).toEqual([null, true]);
});

test('[TAB19] the frozen page goes on at the next leader once it is shown', async () => {
  const { one, storage, theirs } = await openBoth();
  one.leadingHost.holdAnswers();
  const writing = codeOf(storage.put('b', 2));
  await turns();
  one.freeze();
  expect(await writing).toBe('CONNECTION_CLOSED');
  expect(await theirs.get('a')).toBe(undefined); // the next one leads
  await theirs.put('a', 1);
  expect(await storage.get('a')).toBe(1);
  expect(storage.state).toBe('following');
});

test.for([
  ['has ever followed', false],
  ['follows any more', true],
] as const)('[TAB19] a frozen page keeps a worker that nobody %s', async ([, wasFollowed]) => {
  const one = tabs.tab();
  const storage = await one.open();
  if (wasFollowed) {
    const two = tabs.tab();
    await two.open();
    await turns();
    two.close();
  }
  await turns();
  const host = one.leadingHost;
  one.freeze();
  await turns();
  expect(one.host).toBe(host);
  expect(storage.state).toBe('leading');
  await storage.put('a', 1);
  expect(one.workers.map(({ isAlive }) => isAlive)).toEqual([true]);
});

test('[TAB19] a frozen page that follows keeps its worker, and ends nobody’s', async () => {
  const { one, two, theirs } = await openBoth();
  const host = one.leadingHost;
  two.freeze();
  await theirs.put('a', 1);
  expect(one.host).toBe(host);
  expect([one, two].map(({ workers }) => workers.map(({ isAlive }) => isAlive))).toEqual([
    [true],
    [true],
  ]);
});

test('[TAB19] a page that follows since another tab took over from it ends no worker', async () => {
  const { one, two, theirs, storage } = await openBoth();
  one.terminateWorker();
  expect(await theirs.get('a')).toBe(undefined); // the next one leads
  expect(await storage.get('a')).toBe(undefined);
  const host = two.leadingHost;
  one.freeze(); // tab two has followed an earlier worker of it
  await turns();
  expect(one.workers.at(-1)!.isAlive).toBe(true);
  expect(two.host).toBe(host);
});
