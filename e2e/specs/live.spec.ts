// Live reads across tabs: a follower sees the leader's writes, and the other way round; they go on when the
// leader dies and when the object is reset.

import type { Page } from '@playwright/test';
import { openBlank } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, RELEASE, REST } from '../browsers/tags.ts';

test('[LIVE13] each of three tabs sees the writes of all: rows, keys and methods', async ({
  context,
  server,
}) => {
  const tabs: Page[] = [];
  for (let i = 0; i < 3; i++) tabs.push(await openBlank(await context.newPage(), server));
  for (const tab of tabs) await follow(tab);
  for (const [i, tab] of tabs.entries()) {
    await tab.evaluate(async (i) => {
      const storage = await window.api.openStorage('live');
      await storage.put('key', i);
      await storage.sql.exec('INSERT INTO note VALUES (?)', `note ${i}`).toArray();
      const { env } = await window.api.connectRooms();
      await env.Room.getByName('live').add(1);
    }, i);
    const notes = tabs.slice(0, i + 1).map((_, n) => `note ${n}`);
    for (const each of tabs) await expectSeen(each, { key: i, notes, sum: i + 1 });
  }
  for (const tab of tabs) expect(await errorsOf(tab)).toEqual([]);
});

test('[LIVE14] when the leading tab closes, live reads go on, without a gap', {
  tag: LONG,
}, async ({ context, server }) => {
  const leader = await openBlank(await context.newPage(), server);
  await follow(leader);
  const follower = await openBlank(await context.newPage(), server);
  await follow(follower);
  await write(leader, 1);
  await expectSeen(follower, { key: 1, notes: ['note 1'], sum: 1 });
  await leader.close();
  await write(follower, 2);
  await expectSeen(follower, { key: 2, notes: ['note 1', 'note 2'], sum: 2 });
  const third = await openBlank(await context.newPage(), server);
  await write(third, 3);
  await expectSeen(follower, { key: 3, notes: ['note 1', 'note 2', 'note 3'], sum: 3 });
  // Every value once, in order.
  expect(await keysOf(follower)).toEqual([undefined, 1, 2, 3]);
  expect(await errorsOf(follower)).toEqual([]);
});

test('[LIVE14] when the worker that leads is terminated, live reads go on', async ({
  storagePage,
}) => {
  await follow(storagePage, 'terminated');
  await write(storagePage, 1, 'terminated');
  await expectSeen(storagePage, { key: 1, notes: ['note 1'], sum: 1 });
  await storagePage.evaluate(() => {
    for (const worker of window.api.workers) worker.terminate();
  });
  await write(storagePage, 2, 'terminated');
  await expectSeen(storagePage, { key: 2, notes: ['note 1', 'note 2'], sum: 2 });
  expect(await keysOf(storagePage)).toEqual([undefined, 1, 2]);
  expect(await errorsOf(storagePage)).toEqual([]);
});

test('[LIVE14] when the object is reset or restored, live reads go on', {
  tag: [LONG, RELEASE],
}, async ({ storagePage }) => {
  await follow(storagePage, 'reset');
  await write(storagePage, 1, 'reset');
  await expectSeen(storagePage, { key: 1, notes: ['note 1'], sum: 1 });
  await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('reset');
    const bookmark = await storage.getCurrentBookmark();
    await storage.put('key', 'to be undone');
    while (window.followed.key !== 'to be undone')
      await new Promise((resolve) => setTimeout(resolve, 5));
    await storage.onNextSessionRestoreBookmark(bookmark);
    await storage.abort('by the test');
    const { env } = await window.api.connectRooms();
    await env.Room.getByName('reset')
      .reset()
      .catch(() => {});
  });
  await expectSeen(storagePage, { key: 1, notes: ['note 1'], sum: 1 });
  await write(storagePage, 2, 'reset');
  await expectSeen(storagePage, { key: 2, notes: ['note 1', 'note 2'], sum: 2 });
  expect(await keysOf(storagePage)).toEqual([undefined, 1, 'to be undone', 1, 2]);
  expect(await errorsOf(storagePage)).toEqual([]);
});

test('[LIVE6] closing the handle ends its live reads, and says so', { tag: REST }, async ({
  storagePage,
}) => {
  const seen = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('closed');
    const values: unknown[] = [];
    const iterated = (async () => {
      for await (const value of storage.live({ key: 'a' })) values.push(value);
    })().catch((error) => values.push(error.code));
    await storage.put('a', 1);
    while (values.at(-1) !== 1) await new Promise((resolve) => setTimeout(resolve, 5));
    await storage.close();
    await iterated;
    return values;
  });
  expect(seen.slice(-2)).toEqual([1, 'CONNECTION_CLOSED']);
});

interface Seen {
  readonly key: unknown;
  readonly notes: readonly string[];
  readonly sum: number;
}

declare global {
  interface Window {
    followed: { key: unknown; notes: string[]; sum: number; keys: unknown[]; errors: string[] };
  }
}

/** Follows a key, a query and a method of an object. */
async function follow(tab: Page, name = 'live'): Promise<void> {
  await tab.evaluate(async (name) => {
    const storage = await window.api.openStorage(name);
    await storage.sql.exec('CREATE TABLE IF NOT EXISTS note(text)').toArray();
    const { env } = await window.api.connectRooms();
    const seen: Window['followed'] = { key: null, notes: [], sum: -1, keys: [], errors: [] };
    window.followed = seen;
    const onError = (error: unknown) => seen.errors.push(String(error));
    const key = storage.live({ key: 'key' });
    const notes = storage.sql.live<{ text: string }>('SELECT text FROM note ORDER BY rowid');
    const sum = window.api.live(env.Room.getByName(name)).sum();
    const options = { onError };
    key.subscribe((value) => {
      if (key.getState().status !== 'ready') return;
      seen.key = value;
      seen.keys.push(value);
    }, options);
    notes.subscribe((rows) => {
      seen.notes = (rows ?? []).map(({ text }) => text);
    }, options);
    sum.subscribe((value) => {
      seen.sum = value ?? -1;
    }, options);
    while (seen.sum < 0 || seen.keys.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }, name);
}

/** Writes all that is followed; a call that meets a worker on its way out is made again. */
async function write(tab: Page, value: number, name = 'live'): Promise<void> {
  await tab.evaluate(
    async ([value, name]) => {
      const again = async (call: () => Promise<unknown>) => {
        for (;;) {
          try {
            return await call();
          } catch (error) {
            if ((error as { code?: string }).code !== 'CONNECTION_CLOSED') throw error;
          }
        }
      };
      const storage = await window.api.openStorage(name);
      const { env } = await window.api.connectRooms();
      await again(() => storage.put('key', value));
      await again(() => storage.sql.exec('INSERT INTO note VALUES (?)', `note ${value}`).toArray());
      await again(() => env.Room.getByName(name).add(1));
    },
    [value, name] as const,
  );
}

async function expectSeen(tab: Page, seen: Seen): Promise<void> {
  await expect
    .poll(() =>
      tab.evaluate(() => {
        const { key, notes, sum } = window.followed;
        return { key, notes, sum };
      }),
    )
    .toEqual(seen);
}

const keysOf = (tab: Page) => tab.evaluate(() => window.followed.keys);
const errorsOf = (tab: Page) => tab.evaluate(() => window.followed.errors);
