// The history of an object and its earlier moments, from a page, through another tab's worker.

import type { Page } from '@playwright/test';
import type { HistoryLimits, RemoteStorage, StorageMoment } from '../../src/index.ts';
import { openBlank } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, ONCE } from '../browsers/tags.ts';

declare global {
  interface Window {
    listed?: RemoteStorage;
    past?: { readonly storage: RemoteStorage; readonly moment: StorageMoment };
  }
}

test('[HIST1] [HIST3] [HIST5] [HIST7] a page lists commits and reads an earlier moment, through writes, a restore and a failover', {
  tag: LONG,
}, async ({ context, server }) => {
  const leader = await openBlank(await context.newPage(), server);
  await leader.evaluate(async () => {
    const storage = await window.api.openStorage('past');
    await storage.sql.exec('CREATE TABLE t(id INTEGER PRIMARY KEY, v)').ready;
    for (let i = 0; i < 20; i++) {
      await storage.put('n', i);
      await storage.sql.exec('INSERT INTO t VALUES (?, randomblob(20000))', i).ready;
    }
  });
  const follower = await openBlank(await context.newPage(), server);
  const seen = await follower.evaluate(async () => {
    const storage = await window.api.openStorage('past');
    const commits = await storage.history({ limit: 1000 });
    const at10 = commits.at(-1 - 21)!;
    const moment = await storage.at(at10.bookmark);
    window.past = { storage, moment };
    await storage.sql.exec('DROP TABLE t').ready;
    await storage.deleteAll();
    const code = await moment.sql.exec('DELETE FROM t').ready.catch((error) => error.code);
    const n = await moment.get('n');
    const rows = await moment.sql.exec('SELECT count(*) FROM t').raw().one();
    const file = await moment.exportDatabase();
    const undo = await storage.restore(at10.bookmark);
    const restored = await storage.get('n');
    const isRestore = (await storage.history({ limit: 1 }))[0]?.isRestore;
    // The restored state equals the moment's: only with another value is it seen which of the two is read.
    await storage.put('n', 'after the restore');
    return {
      commits: commits.length,
      isOrdered: commits.every(({ time }, i) => i === 0 || time <= commits[i - 1]!.time),
      pages: [commits[0]!.pages > at10.pages, at10.pages > 1],
      code,
      n,
      rows,
      file: new TextDecoder().decode(file.subarray(0, 15)),
      restored,
      afterRestore: await moment.get('n'),
      isRestore,
      undo: undo.length,
    };
  });
  expect(seen).toEqual({
    commits: 41,
    isOrdered: true,
    pages: [true, true],
    code: 'READ_ONLY',
    n: 10,
    rows: [10],
    file: 'SQLite format 3',
    restored: 10,
    afterRestore: 10,
    isRestore: true,
    undo: 59,
  });
  await follower.evaluate(() => window.past!.storage.put('n', 'before the failover'));
  await leader.close();
  const after = await follower.evaluate(async () => {
    const { storage, moment } = window.past!;
    // A read is made again by itself when the connection ends; a write is not.
    const results: unknown[] = [await moment.get('n')];
    await storage.put('n', 'later');
    results.push(await storage.get('n'));
    await moment.close();
    return [...results, await moment.get('n').catch((error) => error.code)];
  });
  expect(after).toEqual([10, 'later', 'MOMENT_CLOSED']);
});

test('[HIST12] a list of commits follows the commits of another tab, also after the leading tab has closed', {
  tag: [LONG, ONCE],
}, async ({ context, server }) => {
  const leader = await openBlank(await context.newPage(), server);
  const follower = await openBlank(await context.newPage(), server);
  const put = (tab: typeof leader, label: string) =>
    tab.evaluate(async (label) => {
      const storage = await window.api.openStorage('listed');
      await storage.labelled(label, (view) => view.put('key', label));
      await storage.close();
    }, label);
  await put(leader, 'one');
  await follower.evaluate(async () => {
    window.listed = await window.api.openStorage('listed');
    window.api.liveHistory(window.listed, { limit: 2 }).subscribe((commits = []) => {
      document.title = commits.map(({ by }) => by?.label).join(', ');
    });
  });
  await expect(follower).toHaveTitle('one');
  await put(leader, 'two');
  await expect(follower).toHaveTitle('two, one');
  await leader.close();
  await follower.waitForFunction(() => window.listed?.state === 'leading');
  await put(follower, 'three');
  await expect(follower).toHaveTitle('three, two');
});

/**
 * Saves a text 40 times; returns the bookmarks. The last save but one is of the letter m, the 20th last of u. After each save,
 * a read of the history waits until the next segment is open: without it, the log would grow in the segment before, which is
 * pruned as a whole.
 */
function save(tab: Page, history?: HistoryLimits): Promise<string[]> {
  return tab.evaluate(async (history) => {
    const storage = await window.api.openStorage('bounded', history && { history });
    const bookmarks: string[] = [];
    for (let i = 0; i < 40; i++) {
      await storage.put('text', String.fromCharCode(97 + (i % 26)).repeat(100_000));
      bookmarks.push(await storage.getCurrentBookmark());
      await storage.history({ limit: 1 });
    }
    return bookmarks;
  }, history);
}

/** The first letter of the text in that state, or the code of the error. */
function letterAt(tab: Page, bookmark: string): Promise<string> {
  return tab.evaluate(async (bookmark) => {
    const storage = await window.api.openStorage('bounded');
    try {
      const moment = await storage.at(bookmark);
      const text = (await moment.get('text')) as string;
      await moment.close();
      return text.charAt(0);
    } catch (error) {
      return (error as { code: string }).code;
    }
  }, bookmark);
}

test('[HIST8] [HIST11] the bytes of the tab whose worker leads bound the history, and those of a page cannot be changed', async ({
  context,
  server,
}) => {
  const leader = await openBlank(await context.newPage(), server);
  const none = await save(leader, { bytes: 0 });
  const lost = 'BOOKMARK_UNAVAILABLE';
  await expect.poll(() => letterAt(leader, none.at(-20)!)).toBe(lost);
  expect(await letterAt(leader, none.at(-2)!)).toBe('m');
  const refused = await leader.evaluate(async () => {
    const opened = (history: object) => window.api.openStorage('bounded', { history });
    const codeOf = (history: object) => opened(history).then(String, (error) => error.code);
    return [await codeOf({ bytes: 1 }), await codeOf({ bytes: -1 })];
  });
  expect(refused).toEqual(['INVALID_ARGUMENT', 'INVALID_ARGUMENT']);
  // Another tab's bounds are in force once its worker leads: more than none, less than by default.
  const follower = await openBlank(await context.newPage(), server);
  await follower.evaluate(async () => {
    await window.api.openStorage('bounded', { history: { bytes: 5e6 } });
  });
  await leader.close();
  // The worker of the closed tab may answer for some time, within its own bounds.
  const state = () =>
    follower.evaluate(async () => (await window.api.openStorage('bounded')).state);
  await expect.poll(state).toBe('leading');
  const some = await save(follower);
  await expect.poll(() => letterAt(follower, some[0]!)).toBe(lost);
  expect(await letterAt(follower, some.at(-20)!)).toBe('u');
});
