// Branches of an object on a page, on both media: several tabs, reloads, and workers that end.

import type { Objects, StorageBranch, StorageHandle } from '../../src/index.ts';
import { openBlankTab, whenReady } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import type { Tab } from '../browsers/tabs.ts';
import { LONG, ONCE, RELEASE } from '../browsers/tags.ts';
import type { Classes } from './pages/objects-worker.ts';

declare global {
  interface Window {
    branched: {
      readonly objects: Objects<Classes>;
      readonly kept: StorageBranch;
      readonly temporary: StorageBranch;
    };
    promoted: StorageHandle;
  }
}

for (const medium of ['opfs', 'indexeddb'] as const) {
  const choice = medium === 'opfs' ? {} : { medium };
  const tag = medium === 'opfs' ? [] : [LONG, RELEASE];

  test.describe(`on ${medium}`, () => {
    test('[BRANCH2] [BRANCH3] branches of now and of a moment have keys, tables, transactions and live reads of their own', {
      tag: [...tag, ONCE],
    }, async ({ tabs, server }) => {
      const tab = await openBlankTab(tabs, server);
      const seen = await tab.evaluate(async (choice) => {
        const storage = await window.api.openStorage('notes', choice);
        await storage.sql.exec('CREATE TABLE note(id INTEGER PRIMARY KEY, body)').ready;
        await storage.sql.exec("INSERT INTO note(body) VALUES ('one')").ready;
        await storage.put('count', 1);
        const then = await storage.getCurrentBookmark();
        await storage.put('count', 2);
        await storage.sql.exec("UPDATE note SET body = 'two'").ready;

        const before = await storage.fork({ at: then });
        const now = await storage.fork();
        const live = now.live<number>({ key: 'count' });
        const values: unknown[] = [];
        const shown = new Promise<void>((resolve) => {
          const end = live.subscribe((value) => {
            values.push(value);
            if (value === 2) void now.put('count', 30);
            if (value !== 30) return;
            end();
            resolve();
          });
        });
        await shown;
        const begun = await now.getCurrentBookmark();
        await now.transaction(async (txn) => {
          await txn.put('count', 31);
          await now.sql.exec("INSERT INTO note(body) VALUES ('of now')").ready;
        });
        await now.transaction(async (txn) => {
          await txn.delete('count');
          txn.rollback();
        });
        await before.put('count', 10);
        await storage.put('count', 3);
        const state = async (handle: typeof storage | typeof now) => [
          await handle.get('count'),
          (await handle.sql.exec('SELECT body FROM note ORDER BY id').raw().toArray()).flat(),
        ];
        const changes: string[] = [];
        for await (const change of now.diff(begun)) changes.push(change.kind);
        const states = [await state(storage), await state(before), await state(now)];
        await now.close();
        await before.close();
        return { medium: storage.medium, states, changes, values, at: before.forkedAt === then };
      }, choice);
      expect(seen).toMatchObject({
        medium,
        states: [
          [3, ['two']],
          [10, ['one']],
          [31, ['two', 'of now']],
        ],
        changes: ['key', 'row'],
        at: true,
      });
      expect(seen.values.at(-1)).toBe(30);
    });

    test('[BRANCH5] a branch that is kept outlives reload and restart, and is listed, opened and deleted by its name', {
      tag: [LONG, ...tag],
    }, async ({ tabs, server }) => {
      const tab = await openBlankTab(tabs, server);
      await tab.evaluate(async (choice) => {
        const storage = await window.api.openStorage('kept', choice);
        await storage.put('a', 'origin');
        const branch = await storage.fork({ name: 'draft', keep: true });
        // More than one checkpoint of the branch.
        for (let i = 0; i < 12; i++) await branch.put(`b${i % 5}`, `value ${i}, `.repeat(6000));
        await storage.put('a', 'later');
      }, choice);
      const look = (tab: Tab) =>
        tab.evaluate(async (choice) => {
          const storage = await window.api.openStorage('kept', choice);
          const names = (await storage.branches()).map(({ name }) => name);
          const branch = await storage.openBranch('draft');
          const { quick_check } = await branch.sql.exec('PRAGMA quick_check').one();
          const isWhole = [10, 11, 7, 8, 9].map(
            async (i, b) => (await branch.get(`b${b}`)) === `value ${i}, `.repeat(6000),
          );
          const own = await Promise.all(isWhole);
          return [names, await branch.get('a'), own, quick_check, await storage.get('a')];
        }, choice);
      const whole = [['draft'], 'origin', Array(5).fill(true), 'ok', 'later'];
      await tab.reload();
      await whenReady(tab);
      expect(await look(tab)).toEqual(whole);
      await tabs.restart();
      const again = await openBlankTab(tabs, server);
      expect(await look(again)).toEqual(whole);
      const deleted = await again.evaluate(async (choice) => {
        const storage = await window.api.openStorage('kept', choice);
        const branch = await storage.openBranch('draft');
        return [
          await storage.deleteBranch('draft'),
          await storage.deleteBranch('draft'),
          await branch.get('a').catch((error) => error.code),
          await storage.openBranch('draft').catch((error) => error.code),
          await storage.branches(),
          await storage.get('a'),
        ];
      }, choice);
      expect(deleted).toEqual([true, false, 'BRANCH_ENDED', 'BRANCH_ENDED', [], 'later']);
    });

    test('[BRANCH11] after a restart, the list of the objects names their kept branches', {
      tag: [LONG, ...tag, ONCE],
    }, async ({ tabs, server }) => {
      const first = await openBlankTab(tabs, server);
      await first.evaluate(async (choice) => {
        const objects = await window.api.connectRooms(choice);
        const storageOf = (name: string) => objects.storage(objects.env.Room.getByName(name));
        for (const name of ['one', 'two'])
          await (await storageOf('forked')).fork({ name, keep: true });
        await (await storageOf('plain')).put('a', 1);
      }, choice);
      await tabs.restart();
      const again = await openBlankTab(tabs, server);
      const listed = await again.evaluate(async (choice) => {
        const { list } = await window.api.connectRooms(choice);
        return (await list('Room')).map(({ id, branches, error }) => [id.name, branches, error]);
      }, choice);
      expect(new Map(listed.map(([name, ...facts]) => [name, facts]))).toEqual(
        new Map([
          ['forked', [['one', 'two'], null]],
          ['plain', [[], null]],
        ]),
      );
    });

    test('[BRANCH4] [BRANCH5] when the worker of two tabs is terminated, both go on with a branch that is kept, and another one has ended', {
      tag: [LONG, ...tag],
    }, async ({ tabs, server }) => {
      const one = await openBlankTab(tabs, server);
      await one.evaluate(async (choice) => {
        const objects = await window.api.connectRooms(choice);
        const storage = await objects.storage(objects.env.Room.getByName('a'));
        await storage.put('a', 0);
        const kept = await storage.fork({ name: 'draft', keep: true });
        const temporary = await storage.fork();
        await temporary.put('a', 1);
        await kept.put('one', 1);
        window.branched = { objects, kept, temporary };
      }, choice);
      const two = await openBlankTab(tabs, server);
      const shared = await two.evaluate(async (choice) => {
        const objects = await window.api.connectRooms(choice);
        const storage = await objects.storage(objects.env.Room.getByName('a'));
        const kept = await storage.openBranch('draft');
        const temporary = await storage.fork();
        await kept.put('two', 2);
        window.branched = { objects, kept, temporary };
        return [...(await kept.list()).keys()];
      }, choice);
      expect(shared).toEqual(['a', 'one', 'two']);
      const after = await one.evaluate(async () => {
        const { kept, temporary } = window.branched;
        window.api.workers.at(-1)!.terminate();
        return [
          [...(await kept.list()).keys()],
          await temporary.get('a').catch((error) => error.code),
        ];
      }, null);
      expect(after).toEqual([['a', 'one', 'two'], 'BRANCH_ENDED']);
      const other = await two.evaluate(async () => {
        const { kept, temporary } = window.branched;
        await kept.put('three', 3);
        return await temporary.get('a').catch((error) => error.code);
      }, null);
      expect(other).toBe('BRANCH_ENDED');
      await one.close();
      const last = await two.evaluate(async () => {
        const { objects, kept } = window.branched;
        const storage = await objects.storage(objects.env.Room.getByName('a'));
        return [[...(await kept.list()).keys()], [...(await storage.list()).keys()]];
      }, null);
      expect(last).toEqual([['a', 'one', 'three', 'two'], ['a']]);
    });

    test('[BRANCH9] a branch becomes the object for every tab, and back; an object that has changed is CONFLICT', {
      tag: [...tag, LONG, ONCE],
    }, async ({ tabs, server }) => {
      const one = await openBlankTab(tabs, server);
      const two = await openBlankTab(tabs, server);
      for (const tab of [one, two]) {
        await tab.evaluate(async (choice) => {
          window.promoted = await window.api.openStorage('shared', choice);
        }, choice);
      }
      const read = (tab: Tab) =>
        tab.evaluate(async () => [...(await window.promoted.list())], null);
      await one.evaluate(() => window.promoted.put('a', 1), null);
      expect(await read(two)).toEqual([['a', 1]]); // the second tab has the object open before the promotion
      const undo = await one.evaluate(async () => {
        const branch = await window.promoted.fork();
        await branch.delete('a');
        await branch.put('b', 'x'.repeat(100_000));
        await branch.put('c', 3);
        return await window.promoted.promote(branch);
      }, null);
      const branched = [
        ['b', 'x'.repeat(100_000)],
        ['c', 3],
      ];
      expect([await read(one), await read(two)]).toEqual([branched, branched]);
      const codes = await two.evaluate(async (undo) => {
        const storage = window.promoted;
        const [newest] = await storage.history({ limit: 1 });
        await storage.restore(undo);
        const branch = await storage.fork();
        await storage.put('d', 4);
        return [newest?.isPromote, await storage.promote(branch).catch((error) => error.code)];
      }, undo);
      expect(codes).toEqual([true, 'CONFLICT']);
      const restored = [
        ['a', 1],
        ['d', 4],
      ];
      expect([await read(one), await read(two)]).toEqual([restored, restored]);
    });

    test('[BRANCH7] [BRANCH10] a class runs on a branch, which ends when its object is deleted', {
      tag: [LONG, ...tag, ONCE],
    }, async ({ tabs, server }) => {
      const tab = await openBlankTab(tabs, server);
      const seen = await tab.evaluate(async (choice) => {
        const objects = await window.api.connectRooms(choice);
        const room = objects.env.Room.getByName('a');
        const storage = await objects.storage(room);
        await room.add(1);
        const then = await storage.getCurrentBookmark();
        await room.add(1);
        const branch = await objects.fork(room, { at: then });
        const kept = await storage.fork({ name: 'draft', keep: true });
        const sums = [await branch.add(10), await room.sum(), await kept.get<number>('sum')];
        const ended = await objects.fork(room);
        await ended[Symbol.asyncDispose]();
        const codes: unknown[] = [await ended.sum().catch((error: { code: string }) => error.code)];
        await objects.deleteObject(room);
        codes.push(await branch.sum().catch((error: { code: string }) => error.code));
        codes.push(await kept.get<number>('sum').catch((error) => error.code));
        return { sums, codes, again: await room.add(5), branches: await storage.branches() };
      }, choice);
      expect(seen).toEqual({
        sums: [11, 2, 2],
        codes: ['BRANCH_ENDED', 'BRANCH_ENDED', 'BRANCH_ENDED'],
        again: 5,
        branches: [],
      });
    });
  });
}
