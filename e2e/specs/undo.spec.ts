// Undo of one tab's commits on real objects, while another tab writes, and when the worker that leads ends.

import type { UndoStack } from '../../packages/adapters/undo/undo.ts';
import type { RemoteStorage } from '../../src/index.ts';
import { expect, test } from '../browsers/fixtures.ts';
import type { Served } from '../browsers/server.ts';
import type { Tab, TabBrowser } from '../browsers/tabs.ts';
import { LONG, ONCE, RELEASE } from '../browsers/tags.ts';

declare global {
  interface Window {
    undone: { readonly storage: RemoteStorage; readonly stack: UndoStack };
  }
}

async function openTab(tabs: TabBrowser, server: Served): Promise<Tab> {
  const tab = await tabs.openTab(`${server.origin}/e2e/specs/pages/blank.html`);
  await expect.poll(() => tab.evaluate(() => 'api' in window, null)).toBe(true);
  return tab;
}

/** Opens the object, and a stack on it. */
const open = (tab: Tab, ofClass: boolean) =>
  tab.evaluate(async (ofClass) => {
    const { api } = window;
    let storage: RemoteStorage;
    if (ofClass) {
      const objects = await api.connectRooms();
      storage = await objects.storage(objects.env.Room.getByName('undone'));
    } else {
      storage = await api.openStorage('undone');
    }
    await storage.sql.exec('CREATE TABLE IF NOT EXISTS note(id INTEGER PRIMARY KEY, text)').ready;
    window.undone = { storage, stack: api.undoStack(storage) };
    await window.undone.stack.undo();
  }, ofClass);

const write = (tab: Tab, id: number, text: string) =>
  tab.evaluate(
    async ({ id, text }) => {
      const query = 'INSERT INTO note VALUES (?, ?) ON CONFLICT DO UPDATE SET text = excluded.text';
      await window.undone.storage.sql.exec(query, id, text).ready;
    },
    { id, text },
  );

const notes = (tab: Tab) =>
  tab.evaluate(async () => {
    const rows = await window.undone.storage.sql.exec('SELECT text FROM note ORDER BY id').raw();
    return (await rows.toArray()).flat();
  }, null);

/** The answer, or the code of the error. */
const call = (tab: Tab, name: 'undo' | 'redo') =>
  tab.evaluate(
    (name) =>
      window.undone.stack[name]().catch((error: { code?: string }) => error.code ?? String(error)),
    name,
  );

test('[UNDO1] [UNDO2] [UNDO3] a tab undoes and redoes its own commits while another tab writes', {
  tag: LONG,
}, async ({ tabs, server }) => {
  const one = await openTab(tabs, server);
  const two = await openTab(tabs, server);
  await open(one, false);
  await open(two, false);
  await write(one, 1, 'a of one');
  await write(two, 2, 'a of two');
  await write(one, 3, 'b of one');
  await write(two, 4, 'b of two');
  await expect.poll(() => one.evaluate(() => window.undone.stack.canUndo, null)).toBe(true);
  expect(await call(one, 'undo')).toBe(true);
  expect(await notes(two)).toEqual(['a of one', 'a of two', 'b of two']);
  expect(await call(two, 'undo')).toBe(true);
  expect(await notes(one)).toEqual(['a of one', 'a of two']);
  await write(two, 1, 'changed by two');
  expect(await call(one, 'undo')).toBe('CONFLICT');
  expect(await notes(one)).toEqual(['changed by two', 'a of two']);
  expect(await call(two, 'undo')).toBe(true);
  expect(await call(one, 'undo')).toBe(true);
  expect(await call(one, 'undo')).toBe(false);
  expect(await notes(one)).toEqual(['a of two']);
  expect([await call(one, 'redo'), await call(one, 'redo')]).toEqual([true, true]);
  expect(await notes(two)).toEqual(['a of one', 'a of two', 'b of one']);
});

test('[UNDO8] a stack goes on when the worker that leads is terminated; a reload ends it', {
  tag: [LONG, ONCE],
}, async ({ tabs, server }) => {
  const one = await openTab(tabs, server);
  await open(one, true);
  await write(one, 1, 'a');
  await write(one, 2, 'b');
  expect(await call(one, 'undo')).toBe(true);
  await one.evaluate(() => {
    for (const worker of window.api.workers) worker.terminate();
  }, null);
  await expect.poll(() => call(one, 'redo')).toBe(true);
  expect(await notes(one)).toEqual(['a', 'b']);
  expect(await call(one, 'undo')).toBe(true);
  expect(await call(one, 'undo')).toBe(true);
  expect(await call(one, 'redo')).toBe(true);
  expect(await notes(one)).toEqual(['a']);
  await one.close();

  const two = await openTab(tabs, server);
  await open(two, true);
  expect(await call(two, 'undo')).toBe(false);
  expect(await notes(two)).toEqual(['a']);
});

test('[UNDO1] calls of a class by this tab are taken back, those of another tab are not', {
  tag: [LONG, RELEASE],
}, async ({ tabs, server }) => {
  const one = await openTab(tabs, server);
  const two = await openTab(tabs, server);
  const add = (tab: Tab, count: number) =>
    tab.evaluate(async (count) => {
      const { env } = await window.api.connectRooms();
      await env.Room.getByName('undone').add(count);
    }, count);
  const sum = (tab: Tab) =>
    tab.evaluate(async () => (await window.undone.storage.get<number>('sum')) ?? 0, null);
  await open(one, true);
  await open(two, true);
  await add(one, 5);
  expect(await call(two, 'undo')).toBe(false);
  expect(await sum(two)).toBe(5);
  expect(await call(one, 'undo')).toBe(true);
  expect(await sum(two)).toBe(0);
  expect(await call(one, 'redo')).toBe(true);
  expect(await sum(two)).toBe(5);
});
