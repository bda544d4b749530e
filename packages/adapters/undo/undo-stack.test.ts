// Undo and redo of one tab's commits, through handles in this process. All handles of a process share a connection, so
// the commits of another tab are recognised by a label.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { StorageCommit, StorageHandle } from '../../../src/shared/contract/storage.ts';
import type { UndoStack } from '../../../src/shared/contract/undo.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { undoStack } from './undo.ts';
import { CommitStack } from './undo-stack.ts';

class Box extends DurableObject {
  alarm() {}
  set(key: string, value: unknown) {
    this.ctx.storage.kv.put(key, value);
  }
}

/** The label of commits that count as the other tab's. */
const THEIRS = 'theirs';

type StackOptions = ConstructorParameters<typeof CommitStack>[1];

let objects: Awaited<ReturnType<typeof createObjects<{ Box: typeof Box }>>>;
let storage: StorageHandle;
let stacks: UndoStack[];

beforeEach(async () => {
  objects = await createObjects({ Box });
  storage = await objects.storage(objects.env.Box.getByName('one'));
  await storage.sql.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, v)').ready;
  stacks = [];
});
afterEach(() => {
  for (const stack of stacks) stack.close();
  return objects.close();
});

/** Makes the handle of this tab, with some functions replaced. As on a page, calls of the class count as this tab's. */
function tabHandle(changed: Partial<StorageHandle> = {}): StorageHandle {
  const { connection } = storage;
  const seenBy = (commit: StorageCommit): StorageCommit => {
    const { by } = commit;
    if (by?.label === THEIRS) return { ...commit, by: { ...by, connection: 'another' } };
    return by?.kind === 'call' ? { ...commit, by: { ...by, connection } } : commit;
  };
  const handle: Partial<StorageHandle> = {
    connection: storage.connection,
    sql: storage.sql,
    history: async (options) => {
      return (await storage.history(options)).map(seenBy);
    },
    revert: (bookmarks) => storage.revert(bookmarks),
    labelled: (label, task) => storage.labelled(label, task as never),
    ...changed,
  };
  return handle as StorageHandle;
}

async function stackOf(
  options: Partial<StackOptions> = {},
  handle: StorageHandle = tabHandle(),
): Promise<UndoStack> {
  const pause = () => new Promise<void>((resolve) => setImmediate(resolve));
  const defaults = { groupMs: 0, depth: 100, filter: () => true, pause };
  const stack = new CommitStack(handle, { ...defaults, ...options });
  stacks.push(stack);
  // After this call, the stack has read the history for the first time.
  await stack.undo();
  return stack;
}

const set = (key: string, value: unknown) => storage.put(key, value);
const setByThem = (key: string, value: unknown) =>
  storage.labelled(THEIRS, (view) => view.put(key, value));
const storedKeys = async () => Object.fromEntries(await storage.list());
const conflict = { code: 'CONFLICT' };

test("[UNDO1] undo takes back the tab's own commits, the last first, and keeps those of other tabs; redo makes them again", async () => {
  const stack = await stackOf();
  await set('a', 1);
  await setByThem('x', 1);
  await set('b', 1);
  await setByThem('y', 1);
  expect(await stack.undo()).toBe(true);
  expect(await storedKeys()).toEqual({ a: 1, x: 1, y: 1 });
  expect(await stack.undo()).toBe(true);
  expect(await storedKeys()).toEqual({ x: 1, y: 1 });
  expect(await stack.undo()).toBe(false);
  expect(await stack.redo()).toBe(true);
  expect(await stack.redo()).toBe(true);
  expect(await stack.redo()).toBe(false);
  expect(await storedKeys()).toEqual({ a: 1, b: 1, x: 1, y: 1 });
  expect(await stack.undo()).toBe(true);
  expect(await storedKeys()).toEqual({ a: 1, x: 1, y: 1 });
});

test('[UNDO1] commits before the stack, and those that the filter refuses, are not its own', async () => {
  await set('before', 1);
  const stack = await stackOf({ filter: ({ by }) => by?.label !== 'migration' });
  await set('a', 1);
  await storage.labelled('migration', (view) => view.put('m', 1));
  expect(await stack.undo()).toBe(true);
  expect(await stack.undo()).toBe(false);
  expect(await storedKeys()).toEqual({ before: 1, m: 1 });
});

test('[UNDO1] undo takes back a write that was called before it, even if it has no answer yet', async () => {
  const stack = await stackOf();
  const write = set('a', 1);
  const undone = stack.undo();
  await write;
  expect(await undone).toBe(true);
  expect(await storedKeys()).toEqual({});
});

test('[UNDO2] a new own commit ends redo, a commit of another tab does not', async () => {
  const stack = await stackOf();
  await set('a', 1);
  await stack.undo();
  await setByThem('x', 1);
  expect(stack.canRedo).toBe(true);
  expect(await stack.redo()).toBe(true);
  await stack.undo();
  await set('b', 1);
  expect(await stack.redo()).toBe(false);
  expect(stack.canRedo).toBe(false);
  expect(await storedKeys()).toEqual({ b: 1, x: 1 });
});

test('[UNDO3] an undo of data that another tab has changed is CONFLICT: the entry stays, until it can be taken back or is skipped', async () => {
  const stack = await stackOf();
  await set('a', 1);
  await set('b', 1);
  await setByThem('b', 2);
  await expect(stack.undo()).rejects.toMatchObject({
    ...conflict,
    conflicts: [{ change: { key: 'b' }, now: 2 }],
  });
  expect(stack.state).toMatchObject({ canUndo: true, conflict });
  await expect(stack.undo()).rejects.toMatchObject(conflict);
  await setByThem('b', 1);
  expect(await stack.undo()).toBe(true);
  expect(stack.conflict).toBeNull();
  expect(await storedKeys()).toEqual({ a: 1 });

  await setByThem('a', 2);
  await expect(stack.undo()).rejects.toMatchObject(conflict);
  expect(stack.skip()).toBe(true);
  expect(stack.skip()).toBe(false);
  expect(stack.state).toMatchObject({ canUndo: false, canRedo: true, conflict: null });
  expect(await stack.undo()).toBe(false);
  expect(await storedKeys()).toEqual({ a: 2 });
});

test('[UNDO3] a redo of data that was changed is CONFLICT, and skip forgets it', async () => {
  const stack = await stackOf();
  await set('a', 1);
  await set('b', 1);
  await stack.undo();
  await stack.undo();
  await setByThem('a', 2);
  await expect(stack.redo()).rejects.toMatchObject(conflict);
  expect(stack.skip()).toBe(true);
  expect(await stack.redo()).toBe(true);
  expect(await storedKeys()).toEqual({ a: 2, b: 1 });
});

test('[UNDO4] the commits of a group are taken back as one commit, whatever other tabs commit between them', async () => {
  const stack = await stackOf();
  await set('before', 1);
  const result = await stack.group('draw', async (view) => {
    for (let id = 1; id <= 5; id++) {
      await view.sql.exec('INSERT INTO t VALUES (?, ?)', id, 'mine').ready;
      await setByThem(`x${id}`, id);
    }
    return 'drawn';
  });
  expect(result).toBe('drawn');
  await set('after', 1);
  expect(await stack.undo()).toBe(true);
  expect(stack.undoLabel).toBe('draw');
  const count = (await storage.history({ limit: 1000 })).length;
  expect(await stack.undo()).toBe(true);
  expect((await storage.history({ limit: 1000 })).length).toBe(count + 1);
  expect(stack.redoLabel).toBe('draw');
  expect(await storage.sql.exec('SELECT count(*) FROM t').raw().one()).toEqual([0]);
  expect(await storedKeys()).toEqual({ before: 1, x1: 1, x2: 2, x3: 3, x4: 4, x5: 5 });
  expect(await stack.redo()).toBe(true);
  expect(await storage.sql.exec('SELECT count(*) FROM t').raw().one()).toEqual([5]);
});

test('[UNDO4] calls of the class belong to the group during which they are made, and else are entries of their own', async () => {
  const box = objects.env.Box.getByName('one');
  const stack = await stackOf();
  await box.set('before', 1);
  await stack.group('draw', async (view) => {
    await box.set('a', 1);
    await view.put('b', 1);
    await box.set('c', 1);
  });
  await box.set('after', 1);
  expect(await stack.undo()).toBe(true);
  expect(Object.keys(await storedKeys())).toEqual(['a', 'b', 'before', 'c']);
  expect(await stack.undo()).toBe(true);
  expect(await storedKeys()).toEqual({ before: 1 });
});

test('[UNDO4] if one commit of a group is in CONFLICT, none of the group is taken back', async () => {
  const stack = await stackOf();
  await stack.group('both', async (view) => {
    await view.put('a', 1);
    await view.put('b', 1);
  });
  await setByThem('a', 2);
  await expect(stack.undo()).rejects.toMatchObject(conflict);
  expect(await storedKeys()).toEqual({ a: 2, b: 1 });
  expect(stack.undoLabel).toBe('both');
});

test('[UNDO4] a group whose task fails keeps its commits as one entry', async () => {
  const stack = await stackOf();
  const failing = stack.group('both', async (view) => {
    await view.put('a', 1);
    await view.put('b', 1);
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(await stack.undo()).toBe(true);
  expect(await storedKeys()).toEqual({});
});

test('[UNDO5] with groupMs, commits of one label that follow each other are one entry, until one is late or the entry is taken back', async () => {
  // The label of a commit contains the time that the stack sees.
  const at = (timeMs: number, label: string, key: string) =>
    storage.labelled(`${timeMs} ${label}`, (view) => view.put(key, timeMs));
  const handle = tabHandle();
  const { history } = handle;
  const timed = {
    ...handle,
    history: async (options) =>
      (await history(options)).map((commit) => {
        const [timeMs = '0', label = ''] = commit.by?.label?.split(' ') ?? [];
        return { ...commit, by: { ...commit.by, label }, time: new Date(Number(timeMs)) };
      }),
  } as StorageHandle;
  const stack = await stackOf({ groupMs: 1000 }, timed);
  await at(10_000, 'type', 'a');
  await at(10_500, 'type', 'a2');
  await at(11_500, 'type', 'b');
  await at(12_501, 'type', 'c');
  await at(12_600, 'style', 'd');
  const steps: string[][] = [];
  while (await stack.undo()) steps.push(Object.keys(await storedKeys()));
  expect(steps).toEqual([['a', 'a2', 'b', 'c'], ['a', 'a2', 'b'], []]);
  await stack.redo();
  await at(11_600, 'type', 'e');
  await stack.undo();
  expect(Object.keys(await storedKeys())).toEqual(['a', 'a2', 'b']);
  // The clock of the device is set back by 100 ms, then by 60 s.
  await at(90_000, 'type', 'f');
  await at(89_900, 'type', 'g');
  await at(30_000, 'type', 'h');
  await stack.undo();
  expect(Object.keys(await storedKeys())).toEqual(['a', 'a2', 'b', 'f', 'g']);
  await stack.undo();
  expect(Object.keys(await storedKeys())).toEqual(['a', 'a2', 'b']);
});

test('[UNDO6] the state follows commits without a call, and change is fired only when it differs', async () => {
  const stack = await stackOf();
  const seen: boolean[][] = [];
  stack.addEventListener('change', () => seen.push([stack.canUndo, stack.canRedo]));
  await set('a', 1);
  await vi.waitUntil(() => stack.canUndo);
  const { state } = stack;
  await set('b', 1);
  await setByThem('x', 1);
  await stack.undo();
  expect(stack.state).not.toBe(state);
  await stack.undo();
  await stack.redo();
  expect(seen).toEqual([
    [true, false],
    [true, true],
    [false, true],
    [true, true],
  ]);
});

test('[UNDO6] the history is read back to the last reading, and no further', async () => {
  for (let i = 0; i < 30; i++) await set(`old${i}`, i);
  const asked: unknown[] = [];
  const handle = tabHandle();
  const { history } = handle;
  const watched = {
    ...handle,
    history: (options) => {
      asked.push(options);
      return history(options);
    },
  } as StorageHandle;
  const stack = await stackOf({ pause: () => new Promise(() => {}) }, watched);
  asked.length = 0;
  for (let i = 0; i < 3; i++) await set(`new${i}`, i);
  await stack.undo();
  expect(asked).toEqual([{ limit: 10 }, { limit: 10 }]);
  for (let i = 0; i < 25; i++) await setByThem(`x${i}`, i);
  asked.length = 0;
  await stack.undo();
  expect(asked).toEqual([
    { limit: 10 },
    { before: expect.any(String), limit: 1000 },
    { limit: 10 },
  ]);
  expect(await storage.get('new0')).toBe(0);
  expect(await storage.get('new1')).toBeUndefined();
});

test('[UNDO7] at most depth entries are kept; the oldest is forgotten', async () => {
  const stack = await stackOf({ depth: 2 });
  for (const key of ['a', 'b', 'c']) await set(key, 1);
  expect([await stack.undo(), await stack.undo(), await stack.undo()]).toEqual([true, true, false]);
  expect(await storedKeys()).toEqual({ a: 1 });
});

test('[UNDO7] [UNDO5] without options, 100 entries are kept, and each commit is one', async () => {
  const commits: StorageCommit[] = [];
  const commit = (kind: 'storage' | 'revert') => {
    const facts = { bytes: 1, pages: 1, isRestore: false, isPromote: false };
    const by = { kind, connection: storage.connection };
    const [bookmark, time] = [`${1000 + commits.length}`, new Date(commits.length)];
    commits.unshift({ ...facts, bookmark, time, by });
    return bookmark;
  };
  const history: StorageHandle['history'] = async ({ before = '9999', limit } = {}) =>
    commits.filter(({ bookmark }) => bookmark < before).slice(0, limit);
  const stack = undoStack(tabHandle({ history, revert: async () => commit('revert') }));
  stacks.push(stack);
  await stack.undo(); // the stack reads the history for the first time in this call
  for (let i = 0; i < 101; i++) commit('storage');
  let count = 0;
  while (await stack.undo()) count++;
  expect(count).toBe(100);
});

test('[UNDO7] when the history of an entry is gone, it and all before it are forgotten, and the error says so', async () => {
  const gone = Object.assign(new Error('gone'), { code: 'BOOKMARK_UNAVAILABLE' });
  let isGone = true;
  const revert = async (bookmarks: string | readonly string[]) => {
    if (isGone) throw gone;
    return storage.revert(bookmarks);
  };
  const stack = await stackOf({}, tabHandle({ revert }));
  for (const key of ['a', 'b']) await set(key, 1);
  await expect(stack.undo()).rejects.toBe(gone);
  expect(stack.canUndo).toBe(false);
  isGone = false;
  await set('c', 1);
  expect([await stack.undo(), await stack.undo()]).toEqual([true, false]);
  expect(await storedKeys()).toEqual({ a: 1, b: 1 });
});

test('[UNDO8] entries outlive a reset of the object, and are forgotten when it is deleted', async () => {
  const stack = await stackOf();
  await set('a', 1);
  await storage.abort('a test');
  expect(await stack.undo()).toBe(true);
  expect(await storedKeys()).toEqual({});
  for (let i = 0; i < 3; i++) await set('b', i);
  await vi.waitUntil(() => stack.canUndo);
  await objects.deleteObject(objects.env.Box.getByName('one'));
  await vi.waitUntil(() => !stack.canUndo);
  expect(await stack.undo()).toBe(false);
  await set('new', 1);
  expect(await stack.undo()).toBe(true);
  expect(await storedKeys()).toEqual({});
});

test('[UNDO8] an undo whose answer is lost succeeds if its commit was made; otherwise the entry stays', async () => {
  const lost = Object.assign(new Error('lost'), { code: 'CONNECTION_CLOSED' });
  let isMade = true;
  const revert = async (bookmarks: string | readonly string[]) => {
    if (isMade) await storage.revert(bookmarks);
    throw lost;
  };
  const stack = await stackOf({}, tabHandle({ revert }));
  await set('a', 1);
  await set('b', 1);
  expect(await stack.undo()).toBe(true);
  expect(stack.canRedo).toBe(true);
  isMade = false;
  await expect(stack.undo()).rejects.toBe(lost);
  expect(stack.state).toMatchObject({ canUndo: true, canRedo: true });
  expect(await storedKeys()).toEqual({ a: 1 });
});

test('[UNDO8] an entry that another tab has taken back is passed over', async () => {
  const stack = await stackOf();
  await set('a', 1);
  await set('b', 1);
  const [last] = await storage.history({ limit: 1 });
  await storage.labelled(THEIRS, (view) => view.revert(last!.bookmark));
  expect(await stack.undo()).toBe(true);
  expect(await storedKeys()).toEqual({});
  expect(await stack.redo()).toBe(true);
  expect(await storedKeys()).toEqual({ a: 1 });
  expect(await stack.redo()).toBe(false);
});

test('[UNDO9] wrong arguments are INVALID_ARGUMENT; a closed stack is CONNECTION_CLOSED and fires nothing', async () => {
  const wrong = expect.objectContaining({ code: 'INVALID_ARGUMENT' });
  expect(() => undoStack(undefined as never)).toThrow(wrong);
  expect(() => undoStack(objects.env.Box.getByName('stub') as never)).toThrow(wrong);
  for (const options of [{ groupMs: -1 }, { groupMs: 'x' }, { depth: 0 }, { depth: 10_001 }]) {
    expect(() => undoStack(storage, options as never)).toThrow(wrong);
  }
  expect(() => undoStack(storage, { filter: 1 as never })).toThrow(wrong);
  const stack = await stackOf();
  await expect(stack.group(5 as never, () => {})).rejects.toEqual(wrong);
  await set('a', 1);
  await vi.waitUntil(() => stack.canUndo);
  stack.clear();
  expect(await stack.undo()).toBe(false);
  stack.close();
  let changes = 0;
  stack.addEventListener('change', () => changes++);
  const closed = { code: 'CONNECTION_CLOSED' };
  for (const call of [stack.undo(), stack.redo(), stack.group('x', () => {})]) {
    await expect(call).rejects.toMatchObject(closed);
  }
  await set('b', 1);
  const live = storage.live({ key: 'b' })[Symbol.asyncIterator]();
  await live.next(); // a stack that was not closed would have read the commit by now
  expect(changes).toBe(0);
});
