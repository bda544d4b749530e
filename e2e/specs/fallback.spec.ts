// Objects on IndexedDB, the medium of browsers without synchronous access handles. Chromium and Firefox, which have
// them, ask for it by name; WebKitGTK comes to it by itself.

import { FILE_CASES } from '../../packages/testing/worker/file.suite.ts';
import { openBlankTab, whenReady } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import type { Tab } from '../browsers/tabs.ts';
import { LONG, RELEASE, REST } from '../browsers/tags.ts';
import type { FileOutcome } from './pages/files-worker.ts';

interface Choice {
  readonly medium?: 'indexeddb';
}

/** How a page of this browser comes to the fallback. */
function choiceIn(browserName: string): Choice {
  return browserName === 'webkit' ? {} : { medium: 'indexeddb' };
}

async function put(tab: Tab, choice: Choice, key: string, value: unknown): Promise<void> {
  await tab.evaluate(
    async ({ choice, key, value }) =>
      (await window.api.openStorage('shared', choice)).put(key, value),
    { choice, key, value },
  );
}

async function keys(tab: Tab, choice: Choice): Promise<string[]> {
  return await tab.evaluate(
    async (choice) => [...(await (await window.api.openStorage('shared', choice)).list()).keys()],
    choice,
  );
}

test('[FILE1] [FILE2] [FILE4] [FILE5] [FILE7] [FILE9] files in IndexedDB behave like all files', {
  tag: LONG,
}, async ({ tabs, server }) => {
  const tab = await openBlankTab(tabs, server);
  const outcomes = await tab.evaluate(
    () =>
      new Promise<readonly FileOutcome[]>((resolve, reject) => {
        const worker = new Worker('/e2e/specs/pages/files-worker.ts?indexeddb', { type: 'module' });
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = ({ message }) => reject(new Error(message));
      }),
    null,
  );
  expect(outcomes).toEqual(FILE_CASES.map(({ name }) => [name, null]));
});

test('[MEDIUM1] [DUR1] the handle says that it is on IndexedDB, and its data outlives reload and restart', async ({
  tabs,
  server,
  browserName,
}) => {
  const choice = choiceIn(browserName);
  const tab = await openBlankTab(tabs, server);
  const stored = await tab.evaluate(async (choice) => {
    const storage = await window.api.openStorage('kept', choice);
    await storage.sql.exec('CREATE TABLE t (x); INSERT INTO t VALUES (1)').ready;
    const bookmark = await storage.getCurrentBookmark();
    // More than one checkpoint, and pages that change in the middle of the file.
    for (let i = 0; i < 12; i++) await storage.put(`k${i % 5}`, `value ${i}, `.repeat(6000));
    await storage.sql.exec('UPDATE t SET x = 2').ready;
    return { medium: storage.medium, state: storage.state, bookmark };
  }, choice);
  expect(stored).toMatchObject({ medium: 'indexeddb', state: 'leading' });
  const look = (tab: Tab) =>
    tab.evaluate(async (choice) => {
      const storage = await window.api.openStorage('kept', choice);
      const { x } = await storage.sql.exec('SELECT x FROM t').one();
      const { quick_check } = await storage.sql.exec('PRAGMA quick_check').one();
      const isWhole = [10, 11, 7, 8, 9].map(
        async (i, k) => (await storage.get(`k${k}`)) === `value ${i}, `.repeat(6000),
      );
      return [x, quick_check, (await storage.list()).size, await Promise.all(isWhole)];
    }, choice);
  const whole = [2, 'ok', 5, Array(5).fill(true)];
  await tab.reload();
  await whenReady(tab);
  expect(await look(tab)).toEqual(whole);
  await tabs.restart();
  const again = await openBlankTab(tabs, server);
  expect(await look(again)).toEqual(whole);
  const restored = await again.evaluate(
    async ({ choice, bookmark }) => {
      const storage = await window.api.openStorage('kept', choice);
      await storage.onNextSessionRestoreBookmark(bookmark);
      await storage.abort('restore');
      return [(await storage.sql.exec('SELECT x FROM t').one()).x, (await storage.list()).size];
    },
    { choice, bookmark: stored.bookmark },
  );
  expect(restored).toEqual([1, 0]);
});

test('[TAB1] [TAB2] on IndexedDB tabs share an object, and when the leader closes, the other goes on with everything acknowledged', async ({
  tabs,
  server,
  browserName,
}) => {
  const choice = choiceIn(browserName);
  const one = await openBlankTab(tabs, server);
  await put(one, choice, 'one', 1);
  const two = await openBlankTab(tabs, server);
  await put(two, choice, 'two', 2);
  expect(await keys(one, choice)).toEqual(['one', 'two']);
  const before = await two.evaluate(async (choice) => {
    const storage = await window.api.openStorage('shared', choice);
    return [storage.state, storage.medium];
  }, choice);
  expect(before).toEqual(['following', 'indexeddb']);
  await one.close();
  await put(two, choice, 'three', 3);
  expect(await keys(two, choice)).toEqual(['one', 'three', 'two']);
  const after = await two.evaluate(async (choice) => {
    const storage = await window.api.openStorage('shared', choice);
    return [storage.state, storage.medium];
  }, choice);
  expect(after).toEqual(['leading', 'indexeddb']);
});

test('[SES5] on IndexedDB transactions of two tabs do not mix: one waits while that of the other is open', {
  tag: [LONG, RELEASE],
}, async ({ tabs, server, browserName }) => {
  const choice = choiceIn(browserName);
  const one = await openBlankTab(tabs, server);
  const two = await openBlankTab(tabs, server);
  await two.evaluate(async (choice) => {
    const storage = await window.api.openStorage('shared', choice);
    const channel = new BroadcastChannel('turns');
    window.counting = new Promise((resolve) => {
      channel.onmessage = () => {
        const counted = storage.transaction(async (txn) => {
          await txn.put('count', ((await txn.get<number>('count')) ?? 0) + 1);
        });
        channel.postMessage('asked');
        resolve(counted);
      };
    });
  }, choice);
  // It has read, and writes once the other tab has begun its own transaction.
  await one.evaluate(async (choice) => {
    const storage = await window.api.openStorage('shared', choice);
    const channel = new BroadcastChannel('turns');
    await storage.transaction(async (txn) => {
      const count = (await txn.get<number>('count')) ?? 0;
      const asked = new Promise((resolve) => {
        channel.onmessage = resolve;
      });
      channel.postMessage('open');
      await asked;
      for (let i = 0; i < 20; i++) await txn.get('other');
      await txn.put('count', count + 1);
    });
  }, choice);
  await two.evaluate(() => window.counting, null);
  const count = await one.evaluate(
    async (choice) => (await window.api.openStorage('shared', choice)).get('count'),
    choice,
  );
  expect(count).toBe(2);
});

test('[DUR2] on IndexedDB a worker that is terminated among writes loses no acknowledged one, and objects go on in the next', {
  tag: REST,
}, async ({ tabs, server, browserName }) => {
  const choice = choiceIn(browserName);
  const tab = await openBlankTab(tabs, server);
  for (let round = 0; round < 6; round++) {
    const { acknowledged, found, refusals } = await tab.evaluate(
      async ({ choice, round }) => {
        const { env } = await window.api.connectRooms(choice);
        const room = env.Room.getByName('terminated');
        let acknowledged = await room.add(0);
        const adding = (async () => {
          for (;;) acknowledged = await room.add(1);
        })().catch(() => {});
        // The files are looked for every 250 ms; a worker may end in the middle of that.
        await new Promise((resolve) => setTimeout(resolve, 150 + 25 * round));
        window.api.workers.at(-1)!.terminate();
        await adding;
        let found: number | undefined;
        const refusals: string[] = [];
        for (let tries = 0; found === undefined && tries < 3; tries++) {
          found = await room.add(0).catch((error) => {
            refusals.push(String(error));
            return undefined;
          });
        }
        return { acknowledged, found, refusals };
      },
      { choice, round },
    );
    // A write whose answer was lost may have been stored.
    expect([acknowledged, acknowledged + 1], refusals.join('; ')).toContain(found);
  }
});

declare global {
  interface Window {
    counting: Promise<void>;
  }
}
