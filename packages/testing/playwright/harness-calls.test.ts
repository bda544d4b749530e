// Tests which requests the fixtures send to the helper page, with a fake page.

import type { BrowserContext, Page } from '@playwright/test';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { BranchedPages, reachBranches } from './branched-pages.ts';
import { harnessOptions } from './options.ts';
import { type ContextRequest, OriginObjects } from './origin-objects.ts';
import { TestClock } from './test-clock.ts';
import { TestFaults } from './test-faults.ts';
import { defineObjects, TestObjects } from './test-objects.ts';
import { TestTabs } from './test-tabs.ts';

const baseURL = 'http://localhost:5173/app/';

/** Makes the objects of a context whose helper page gives the answers of `answer`. */
function objectsOn(answer: (asked: ContextRequest) => unknown, context: object = {}) {
  const asked: ContextRequest[] = [];
  const objects = new OriginObjects(context as BrowserContext, harnessOptions({}), baseURL);
  Object.assign(objects, {
    ask: async (one: ContextRequest) => {
      asked.push(one);
      return answer(one);
    },
  });
  return { objects, asked };
}

test('[HARN5] an object that is named is reported, also if nothing was asked of it', () => {
  const { objects } = objectsOn(() => undefined);
  const all = new TestObjects(objects);
  all.storage('Room', 'lobby');
  all.storage('notes');
  expect(all.touched.map(String)).toEqual(["Room 'lobby'", "storage 'notes'"]);
});

describe('branches of a test', () => {
  test('[HARN8] a branch is forked by name, addressed, and dropped once', async () => {
    const { objects, asked } = objectsOn(
      (one) => one.op === 'storage' && one.method === 'deleteBranch',
    );
    const all = new TestObjects(objects);
    const lobby = all.storage('Room', 'lobby');
    const draft = await all.fork(lobby, { at: 'then', fetch: 'allow' });
    await draft.put('a', 1);
    await all.fork(lobby);
    expect(String(draft)).toBe("fork 1 of Room 'lobby'");
    expect(all.touched.map(String)).toContain("fork 1 of Room 'lobby'");
    expect(await all.drop(draft)).toBe(true);
    await all.dropForks();
    const object = { className: 'Room', name: 'lobby' };
    expect(asked).toMatchObject([
      { op: 'fork', object, name: 'fork 1', at: 'then', fetch: 'allow' },
      { op: 'storage', object: { ...object, branch: 'fork 1' }, method: 'put' },
      { op: 'fork', object, name: 'fork 2', at: null, fetch: 'refuse' },
      { op: 'storage', object, method: 'deleteBranch', parameters: ['fork 1'] },
      { op: 'storage', object, method: 'deleteBranch', parameters: ['fork 2'] },
    ]);
    await expect(all.drop(draft)).rejects.toThrow(/drop: fork 1 of Room 'lobby' is no branch/);
    await expect(all.drop(lobby)).rejects.toThrow(/deleteObject/);
  });

  test('[HARN4] a branch of a branch, or anything but a storage, is refused', async () => {
    const { objects } = objectsOn(() => undefined);
    const all = new TestObjects(objects);
    const draft = await all.fork(all.storage('notes'));
    await expect(all.fork(draft)).rejects.toThrow(/fork 1 of storage 'notes' is a branch already/);
    expect(() => all.fork('notes' as never)).toThrow(/takes the storage of an object/);
  });
});

describe('pages on a branch', () => {
  const id = 'b'.repeat(64);
  const room = { className: 'Room', id, name: 'lobby', branch: ['r'] };
  const notes = { className: null, id: 'a'.repeat(64), name: 'notes', branch: ['n'] };
  afterEach(() => vi.unstubAllGlobals());

  /** Makes a page that records its messages. */
  function stubPage(pathname: string): unknown[][] {
    const sent: unknown[][] = [];
    for (const name of ['Worker', 'MessagePort', 'BroadcastChannel']) {
      vi.stubGlobal(
        name,
        class {
          postMessage(...message: unknown[]): void {
            sent.push(message);
          }
        },
      );
    }
    vi.stubGlobal('location', { pathname });
    vi.stubGlobal('testBranches', undefined);
    return sent;
  }

  const reach = (round: number, branches: readonly (typeof room | typeof notes)[]) =>
    reachBranches({ name: 'testBranches', helperPath: '/helper/', round, branches });

  test('[HARN10] their messages of the object name the branch, on each kind of channel; all others stay', () => {
    const sent = stubPage('/');
    reach(1, [notes, room]);
    const { className, branch } = room;
    const other = { className, id: 'c'.repeat(64) };
    const moved = [new ArrayBuffer(1)];
    new Worker('').postMessage(['own channel', [1, 'open', ['notes', 'client']]], moved);
    const call = [2, 'call', [{ className, id }, { op: 'get' }]];
    const live = [3, 'openLive', [{ target: { className, id, branch: ['of the page'] }, read: 1 }]];
    const own = [4, 'open', [other]];
    new BroadcastChannel('').postMessage({ type: 'pack', messages: [call, live, own] });
    const rest = [[5, 'execute', [{ className, id }]], 'text', null, { type: 'ping' }, ['a', 'b']];
    for (const message of rest) new BroadcastChannel('').postMessage(message);
    expect(sent).toEqual([
      [['own channel', [1, 'open', [notes, 'client']]], moved],
      [
        {
          type: 'pack',
          messages: [
            [2, 'call', [{ className, id, branch }, { op: 'get' }]],
            [3, 'openLive', [{ target: { className, id, branch: ['r', 'of the page'] }, read: 1 }]],
            own,
          ],
        },
      ],
      ...rest.map((message) => [message]),
    ]);
  });

  test('[HARN10] the last state counts in whatever order the scripts run, and each message is changed once', () => {
    const sent = stubPage('/');
    reach(2, [room]);
    reach(1, [notes]);
    const { className } = room;
    for (const target of [{ className, id }, 'notes']) {
      new Worker('').postMessage([1, 'open', [target]]);
    }
    reach(3, []);
    new Worker('').postMessage([1, 'open', [{ className, id }]]);
    expect(sent.map(([message]) => (message as [0, 0, [unknown]])[2][0])).toEqual([
      { className, id, branch: ['r'] },
      'notes',
      { className, id },
    ]);
  });

  test('[HARN10] the helper page is left alone, and pages that load after the drop too', async () => {
    const sent = stubPage('/helper/helper.html');
    reach(1, [notes]);
    new Worker('').postMessage([1, 'open', ['notes']]);
    expect(sent).toEqual([[[1, 'open', ['notes']]]]);

    const told: unknown[] = [];
    const addInitScript = async (_: unknown, state: object) => void told.push(state);
    const pages = new BranchedPages({ addInitScript } as unknown as BrowserContext);
    await pages.begin(room);
    await pages.begin(notes);
    await pages.end(room);
    await pages.end(room);
    await pages.end(notes);
    expect(told).toMatchObject([
      { round: 1, branches: [room] },
      { round: 2, branches: [notes, room] },
      { round: 3, branches: [notes] },
      { round: 4, branches: [] },
    ]);
  });
});

describe('data of openStorage', () => {
  const id = 'a'.repeat(64);
  const bookmarks: Record<string, string> = { [id]: 'now' };
  const answer = (one: ContextRequest) => {
    if (one.op === 'classNames') return [];
    if (one.op === 'storageIds') return Object.keys(bookmarks);
    if (one.op === 'storage' && one.method === 'getCurrentBookmark') {
      return bookmarks[one.object.id!];
    }
    return undefined;
  };
  const writes = (asked: readonly ContextRequest[]) =>
    asked.flatMap((one) =>
      one.op === 'storage' && !one.method.startsWith('get') ? [[one.object, one.method]] : [],
    );

  test('[HARN1] an object of openStorage is seeded by its name alone', async () => {
    const { objects, asked } = objectsOn(() => undefined);
    await new TestObjects(objects).seed('notes', { entries: { draft: 1 } });
    expect(asked).toMatchObject([{ object: { className: null, name: 'notes' }, method: 'put' }]);
  });

  test('[HARN1] an object of openStorage returns to a snapshot, and a newer one is emptied', async () => {
    const { objects, asked } = objectsOn(answer);
    const all = new TestObjects(objects);
    const mark = await all.snapshot();
    bookmarks[id] = 'later';
    const since = 'b'.repeat(64);
    bookmarks[since] = 'later';
    await all.restore(mark);
    const done = writes(asked);
    expect(done).toHaveLength(3);
    expect(done).toContainEqual([{ className: null, id }, 'restore']);
    const restored = asked.filter((one) => one.op === 'storage' && one.method === 'restore');
    expect(restored).toMatchObject([{ parameters: ['now'] }]);
    expect(done).toContainEqual([{ className: null, id: since }, 'deleteAll']);
    expect(done).toContainEqual([{ className: null, id: since }, 'deleteAlarm']);
  });

  test('[HARN1] reset empties the objects of openStorage', async () => {
    const { objects, asked } = objectsOn(answer);
    await new TestObjects(objects).reset();
    expect(writes(asked)).toContainEqual([{ className: null, id }, 'deleteAll']);
  });
});

describe('tabs', () => {
  test('[HARN3] tabs open at the address that page.goto would open', async () => {
    const addresses: string[] = [];
    const page = { goto: async (address: string) => addresses.push(address) };
    const { objects } = objectsOn(() => undefined, { newPage: async () => page });
    const tabs = new TestTabs(objects);
    await tabs.open();
    await tabs.open('notes.html');
    await tabs.open('/other');
    expect(addresses).toEqual([
      'http://localhost:5173/app/',
      'http://localhost:5173/app/notes.html',
      'http://localhost:5173/other',
    ]);
  });

  test('[HARN3] the leading tabs are found: that of the classes, that of openStorage, or both', async () => {
    const page = { url: () => baseURL, evaluate: async () => ['plain', 'classes'] };
    const context = { pages: () => [page as unknown as Page] };
    let leading: string[] = ['classes', 'plain'];
    const { objects } = objectsOn(() => leading, context);
    const found = async () => {
      const leaders = await new TestTabs(objects).findAll('test');
      return leaders.map(({ worker }) => worker);
    };
    expect(await found()).toEqual(['classes', 'plain']);
    for (const alone of ['plain', 'classes']) {
      leading = [alone];
      expect(await found()).toEqual([alone]);
    }
    leading = ['unknown'];
    await expect(found()).rejects.toThrow(/name `tabs` or `faults` in its parameters/);
  });
});

describe('wrong values', () => {
  const { objects, asked } = objectsOn(() => undefined);
  const faults = new TestFaults(objects);
  const clock = new TestClock(objects);

  test.for([
    ['a count below 1', () => faults.failNextFlush(-1), /failNextFlush: takes a count.*not -1/],
    ['text for a time', () => faults.delayFlushes('1 s' as never), /delayFlushes.*not "1 s"/],
    ['no time', () => faults.freeze(undefined as never), /freeze: takes milliseconds/],
    ['text for time', () => clock.advance('1 hour' as never), /clock.advance: takes milliseconds/],
    [
      'another snapshot',
      () => new TestObjects(objects).restore('00000000' as never),
      /restore: takes the result of snapshot\(\)/,
    ],
  ] as const)('[HARN4] %s: the error names the expected argument', async ([, call, message]) => {
    await expect(call()).rejects.toThrow(message);
    expect(asked).toEqual([]);
  });

  test('[HARN4] defineObjects() without a context is refused', () => {
    expect(() => defineObjects({} as never)).toThrow(/takes { context }/);
  });
});
