// A page's next worker, of newer code, while other tabs lead or the page is closed.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FakeTabs } from '../../../packages/testing/page/fake-tabs.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import { connectionClosed } from '../../shared/wire/errors-on-wire.ts';
import { LAST_ANSWERS_MS } from './leader-search.ts';

let tabs: FakeTabs;
beforeEach(() => {
  tabs = new FakeTabs(runCandidate);
});
afterEach(() => tabs.close());

test('[SRC5] a version that finds a newer one of another tab is in line behind it, and the replacement settles', async () => {
  const tab = tabs.tab({ build: 1 });
  const storage = await tab.open();
  await storage.put('kept', 1);
  const other = tabs.tab({ build: 5 });
  await other.open();
  await vi.waitUntil(() => storage.state === 'following');
  tab.deployment = { build: 3 };
  await tab.finder().succeed({ kind: 'spawned', spawn: () => tab.startWorker() });
  tab.advance(LAST_ANSWERS_MS);
  expect(tab.workers.map(({ isAlive }) => isAlive)).toEqual([false, true]);
  other.close();
  expect(await storage.get('kept')).toBe(1);
  expect(tab.workers[1]!.host!.operations).toEqual(['get']);
});

test('[SRC4] a page that is closed while its version is replaced leaves no worker of either version', async () => {
  const tab = tabs.tab();
  await tab.open();
  const finder = tab.finder();
  const spawn = () => tab.startWorker('says nothing');
  const succeeding = finder.succeed({ kind: 'spawned', spawn }).catch(({ code }) => code);
  finder.close(connectionClosed('the page has closed it'));
  expect(await succeeding).toBe('CONNECTION_CLOSED');
  expect(tab.workers.map(({ isAlive }) => isAlive)).toEqual([false, false]);
});
