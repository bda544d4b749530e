// Whether the browser keeps a page's writes: asked once, after the first durable write, and waited for by
// nobody.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type FakeTab, FakeTabs } from '../../../packages/testing/page/fake-tabs.ts';
import { turns } from '../../../packages/testing/page/turns.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import type { PersistenceBrowser } from './status.ts';

let tabs: FakeTabs;
let tab: FakeTab;

beforeEach(() => {
  tabs = new FakeTabs(runCandidate);
  tab = tabs.tab();
});

afterEach(() => tabs.close());

function browser(answers: PersistenceBrowser): void {
  Object.assign(tab.browserStorage, answers);
}

test('[CARE1] is asked for once a page, when the first write is durable and not before', async () => {
  const persist = vi.fn(async () => true);
  browser({ persist, persisted: async () => false });
  const storage = await tab.open();
  await storage.get('a');
  await storage.put('a', 1, { allowUnconfirmed: true });
  await turns();
  expect([persist.mock.calls.length, storage.persisted]).toEqual([0, 'unknown']);
  const releaseAnswers = tab.leadingHost.holdAnswers();
  const write = storage.put('a', 1);
  await turns();
  expect(persist).not.toHaveBeenCalled();
  releaseAnswers();
  await write;
  const other = await tab.open('other');
  await Promise.all([other.put('a', 1), storage.put('b', 2)]);
  await turns();
  expect(persist).toHaveBeenCalledTimes(1);
  expect([storage.persisted, other.persisted]).toEqual(['granted', 'granted']);
});

test('[CARE1] no write waits for an answer that never comes', async () => {
  browser({ persist: () => new Promise(() => {}), persisted: async () => false });
  const storage = await tab.open();
  for (const n of [1, 2, 3]) await storage.put('a', n);
  await turns();
  expect([storage.persisted, storage.pendingWrites]).toEqual(['asked', 0]);
});

test.for<[string, PersistenceBrowser, boolean]>([
  ['granted', { persist: async () => false, persisted: async () => true }, false],
  ['refused', { persist: async () => false, persisted: async () => false }, true],
  ['unavailable', {}, false],
  ['unavailable', { persist: () => Promise.reject(new TypeError('refused')) }, true],
])(
  '[CARE1] the state is %s, by the browser’s answer, and a change is an event',
  async ([state, answers, asks]) => {
    const persist = vi.fn(answers.persist);
    browser({ ...answers, ...(answers.persist !== undefined && { persist }) });
    const storage = await tab.open();
    const states: string[] = [];
    storage.addEventListener('statechange', () => void states.push(storage.persisted));
    await storage.put('a', 1);
    await turns();
    expect(storage.persisted).toBe(state);
    expect(states.at(-1)).toBe(state);
    expect(persist.mock.calls.length).toBe(asks ? 1 : 0);
  },
);

test("[CARE2] the space is the browser's estimate now; a browser without an estimate is IO", async () => {
  let usage = 5;
  browser({ estimate: async () => ({ usage, quota: 100 }) });
  const storage = await tab.open();
  const objects = await tab.connect();
  expect(await storage.estimate()).toEqual({ usage: 5, quota: 100 });
  usage = 6;
  expect(await objects.estimate()).toEqual({ usage: 6, quota: 100 });
  browser({ estimate: async () => ({}) });
  await expect(storage.estimate()).rejects.toMatchObject({ code: 'IO' });
  browser({ estimate: () => Promise.reject(new TypeError('not here')) });
  await expect(storage.estimate()).rejects.toMatchObject({ code: 'IO' });
});

test("[CARE5] a worker's notice is an event of every handle and connection in every tab, until it is closed", async () => {
  const other = tabs.tab();
  const mine = await tab.open();
  const theirs = await other.connect();
  const closed = await other.open();
  const heard: unknown[] = [];
  for (const [name, status] of Object.entries({ mine, theirs, closed })) {
    status.addEventListener('storagelow', ({ detail }) => heard.push([name, detail]));
    status.addEventListener('historypruned', ({ detail: { className, id } }) =>
      heard.push([name, className, id.toString(), id.name]),
    );
  }
  await closed.close();
  const id = 'a'.repeat(64);
  tab.leadingHost.tell({ type: 'storagelow', space: { usage: 1, quota: 2 } });
  tab.leadingHost.tell({ type: 'historypruned', address: { className: 'Room', id, name: 'n' } });
  await turns();
  for (const name of ['mine', 'theirs']) {
    expect(heard).toContainEqual([name, { usage: 1, quota: 2 }]);
    expect(heard).toContainEqual([name, 'Room', id, 'n']);
  }
  expect(heard).toHaveLength(4);
});

test('[CARE5] a notice of any other shape is ignored, and a page that goes away hears no more', async () => {
  const other = tabs.tab();
  const storage = await other.open();
  await tab.open();
  let events = 0;
  for (const type of ['storagelow', 'historypruned', 'objectmissing'] as const) {
    storage.addEventListener(type, () => void (events += 1));
  }
  for (const notice of [null, 7, {}, { type: 'storagelow' }, { type: 'other', address: {} }]) {
    other.leadingHost.tell(notice as never);
  }
  other.leadingHost.tell({ type: 'objectmissing', address: { className: 'A', id: '../..' } });
  await turns();
  expect(events).toBe(0);
  const count = other.leadingHost.listenerCount;
  tab.close();
  await vi.waitFor(() => expect(other.leadingHost.listenerCount).toBe(count - 1));
});
