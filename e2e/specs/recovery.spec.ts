// Point-in-time recovery, as a page uses it: there and back, across a reload.

import { whenLoaded } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { REST } from '../browsers/tags.ts';

test('[PITR1] a restore brings keys, tables and the alarm back, outlives a reload, and can be undone', async ({
  storagePage,
}) => {
  const { undo } = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('recovery');
    await storage.sql.exec('CREATE TABLE t(x); INSERT INTO t VALUES (1)').ready;
    await storage.put('key', 'first');
    await storage.setAlarm(4_000_000_000_000);
    const bookmark = await storage.getCurrentBookmark();
    await storage.sql.exec('INSERT INTO t VALUES (2); CREATE TABLE u(y)').ready;
    await storage.put('key', 'second');
    await storage.deleteAlarm();
    const undo = await storage.onNextSessionRestoreBookmark(bookmark);
    if (!(undo > bookmark)) throw new Error('the undo does not sort after the bookmark');
    await storage.abort('restore');
    return { undo };
  });
  const first = { key: 'first', rows: [1], tables: ['t'], alarm: 4_000_000_000_000 };
  expect(await storagePage.evaluate(state)).toEqual(first);
  await storagePage.reload();
  await whenLoaded(storagePage);
  expect(await storagePage.evaluate(state)).toEqual(first);
  await storagePage.evaluate(async (bookmark) => {
    const storage = await window.api.openStorage('recovery');
    await storage.onNextSessionRestoreBookmark(bookmark);
    await storage.abort('undo');
  }, undo);
  expect(await storagePage.evaluate(state)).toEqual({
    key: 'second',
    rows: [1, 2],
    tables: ['t', 'u'],
    alarm: null,
  });
});

test('[PITR2] a bookmark for a time finds that time; deleteAll can be undone', {
  tag: REST,
}, async ({ storagePage }) => {
  const seen = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('by-time');
    const times: number[] = [];
    for (const value of [1, 2, 3]) {
      await storage.put('a', value);
      const time = Date.now();
      times.push(time);
      while (Date.now() <= time) await storage.get('a');
    }
    await storage.deleteAll();
    const gone = (await storage.list()).size;
    const back: unknown[] = [];
    for (const time of [times[1]!, times[0]!, times[2]!]) {
      const bookmark = await storage.getBookmarkForTime(new Date(time));
      const undo = await storage.onNextSessionRestoreBookmark(bookmark);
      await storage.abort('restore');
      back.push(await storage.get('a'));
      await storage.onNextSessionRestoreBookmark(undo);
      await storage.abort('undo');
    }
    return { gone, back };
  });
  expect(seen).toEqual({ gone: 0, back: [2, 1, 3] });
});

test('[PITR3] a text that is not a bookmark, and a time outside the window, are errors with a code', {
  tag: REST,
}, async ({ storagePage }) => {
  const codes = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('bad-bookmarks');
    await storage.put('a', 1);
    const code = (promise: Promise<unknown>) =>
      promise.then(
        () => 'none',
        (error) => `${error.name} ${error.code}`,
      );
    const day = 86_400_000;
    return [
      await code(storage.onNextSessionRestoreBookmark('yesterday')),
      await code(storage.getBookmarkForTime(Date.now() + day)),
      await code(storage.getBookmarkForTime(Date.now() - 31 * day)),
      await code(storage.getBookmarkForTime(Number.NaN)),
      await code(storage.get('a')),
    ];
  });
  expect(codes).toEqual([
    'Error BOOKMARK_INVALID',
    'Error BOOKMARK_UNAVAILABLE',
    'Error BOOKMARK_UNAVAILABLE',
    'TypeError INVALID_ARGUMENT',
    'none',
  ]);
});

test('[PITR4] restore goes back to a bookmark or a time, for every handle, and can be undone', async ({
  storagePage,
}) => {
  const seen = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('restore');
    const other = await window.api.openStorage('restore');
    await storage.put('a', 1);
    const bookmark = await storage.getCurrentBookmark();
    const timeMs = Date.now();
    while (Date.now() <= timeMs) await storage.get('a');
    await other.put({ a: 2, b: 2 });
    const keys = async () => [[...(await storage.list())], [...(await other.list())]];

    const undo = await storage.restore(bookmark);
    const restored = await keys();
    await other.restore(undo);
    const undone = await keys();
    await storage.restore(new Date(timeMs));
    return { restored, undone, byTime: await keys() };
  });
  const first = [['a', 1]];
  const second = [
    ['a', 2],
    ['b', 2],
  ];
  expect(seen).toEqual({
    restored: [first, first],
    undone: [second, second],
    byTime: [first, first],
  });
});

test('[PITR4] restore is refused inside a transaction and for an argument that names no moment', {
  tag: REST,
}, async ({ storagePage }) => {
  const seen = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('restore-refused');
    await storage.put('a', 1);
    const bookmark = await storage.getCurrentBookmark();
    const code = (promise: Promise<unknown>) =>
      promise.then(
        () => 'none',
        (error) => error.code,
      );
    const inside = await storage.transaction(async (txn) => {
      await txn.put('a', 2);
      return code(storage.restore(bookmark));
    });
    const loose = storage as unknown as { restore(...args: unknown[]): Promise<unknown> };
    return {
      inside,
      codes: [
        await code(loose.restore()),
        await code(loose.restore('yesterday')),
        await code(loose.restore(Symbol('moment'))),
        await code(loose.restore(new Date(Number.NaN))),
        await code(loose.restore(new Date(Date.now() + 86_400_000))),
      ],
      a: await storage.get('a'),
    };
  });
  expect(seen).toEqual({
    inside: 'TRANSACTION_NESTING',
    codes: [
      'INVALID_ARGUMENT',
      'BOOKMARK_INVALID',
      'INVALID_ARGUMENT',
      'INVALID_ARGUMENT',
      'BOOKMARK_UNAVAILABLE',
    ],
    a: 2,
  });
});

async function state() {
  const storage = await window.api.openStorage('recovery');
  const names =
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\'";
  return {
    key: await storage.get('key'),
    rows: (await storage.sql.exec('SELECT x FROM t').toArray()).map(({ x }) => x),
    tables: (await storage.sql.exec(names).toArray()).map(({ name }) => name),
    alarm: await storage.getAlarm(),
  };
}
