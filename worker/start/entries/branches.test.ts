// Tests branches of objects in this process through their handles.

import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import v8 from 'node:v8';
import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';
import { MemoryMedium } from '../../engine/file/medium.ts';
import { HibernatingSockets } from '../../objects/sockets/hibernating-sockets.ts';
import { DurableObject } from '../../realm/library/library.ts';
import { createObjects } from './node-objects.ts';

class Notes extends DurableObject {
  alarm(): void {
    this.ctx.storage.kv.put('value', 'alarm ran');
  }

  write(value: unknown) {
    this.ctx.storage.kv.put('value', value);
    return this.ctx.id.name;
  }

  read() {
    return this.ctx.storage.kv.get('value');
  }

  send() {
    return fetch('data:text/plain,sent').then((response) => response.text());
  }

  ask(name: string): Promise<unknown> {
    const { Notes: notes } = this.env as { Notes: { getByName(name: string): Notes } };
    return notes.getByName(name).read() as Promise<unknown>;
  }

  remind(time: number) {
    return this.ctx.storage.setAlarm(time);
  }

  restart() {
    this.ctx.abort('restarted');
  }
}

const opened: { close(): Promise<void> }[] = [];
const folders: string[] = [];

afterEach(async () => {
  for (const objects of opened.splice(0)) await objects.close();
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

/** Starts objects in memory or in a folder, and opens the storage of one of them. */
async function started(directory?: string) {
  const objects = await createObjects({ Notes }, directory === undefined ? {} : { directory });
  opened.push(objects);
  const stub = objects.env.Notes.getByName('a');
  return { objects, stub, storage: await objects.storage(stub) };
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'branches-'));
  folders.push(folder);
  return folder;
}

/** Counts the folders of objects and branches. */
async function foldersIn(directory: string): Promise<number> {
  const found = await readdir(directory, { withFileTypes: true });
  return found.filter((entry) => entry.isDirectory() && entry.name.includes('Notes')).length;
}

test('[BRANCH2] a branch is written like any object, and the object goes on unaffected', async () => {
  const { storage } = await started();
  await storage.put('title', 'first');
  storage.sql.exec('CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT)');
  storage.sql.exec("INSERT INTO note(body) VALUES ('one'), ('two')");
  const branch = await storage.fork();
  await branch.put('title', 'branch');
  await branch.transaction(async () => {
    await branch.sql.exec('ALTER TABLE note ADD COLUMN tag TEXT').ready;
    await branch.sql.exec("UPDATE note SET tag = 'new'").ready;
  });
  await branch.transaction((txn) => txn.delete('title').then(() => txn.rollback()));
  await storage.put('title', 'origin');
  expect(await branch.get('title')).toBe('branch');
  expect(await branch.sql.exec('SELECT body, tag FROM note').toArray()).toEqual([
    { body: 'one', tag: 'new' },
    { body: 'two', tag: 'new' },
  ]);
  expect(await storage.get('title')).toBe('origin');
  expect(await storage.sql.exec('SELECT * FROM note').toArray()).toEqual([
    { id: 1, body: 'one' },
    { id: 2, body: 'two' },
  ]);
});

test('[BRANCH2] a branch has live reads, bookmarks, moments and restores of its own', async () => {
  const { storage } = await started();
  await storage.put('count', 1);
  const branch = await storage.fork();
  const seen: unknown[] = [];
  const live = branch.live<number>({ key: 'count' });
  live.subscribe((value) => seen.push(value));
  await vi.waitUntil(() => seen.includes(1));
  await branch.put('count', 2);
  await vi.waitUntil(() => seen.includes(2));
  const two = await branch.getCurrentBookmark();
  await branch.put('count', 3);
  expect(await branch.history()).toHaveLength(2);
  expect(await (await branch.at(two)).get('count')).toBe(2);
  await expect(storage.at(two)).rejects.toMatchObject({ code: 'BOOKMARK_INVALID' });
  const undo = await branch.restore(two);
  expect(await branch.get('count')).toBe(2);
  await branch.restore(undo);
  expect(await branch.get('count')).toBe(3);
  expect(await storage.get('count')).toBe(1);
});

test('[LIVE27] a live read of a branch that is deleted reports BRANCH_ENDED once', async () => {
  const { storage } = await started();
  await storage.put('a', 0);
  const branch = await storage.fork({ name: 'draft', keep: true });
  const seen: unknown[] = [];
  const live = branch.live<number>({ key: 'a' });
  live.subscribe((value) => seen.push([value, live.getState().status]), {
    onError: (error) => seen.push((error as { code?: string }).code),
  });
  await vi.waitUntil(() => seen.length === 2);
  await storage.deleteBranch('draft');
  await vi.waitUntil(() => seen.includes('BRANCH_ENDED'));
  // The time is longer than the first pauses of a read that is tried again.
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(seen).toEqual([[undefined, 'pending'], [0, 'ready'], [0, 'failed'], 'BRANCH_ENDED']);
});

test('[BRANCH2] an export of a branch is a whole database, with pages of its origin, and an object can import it', async () => {
  const { storage, objects } = await started();
  await storage.put('kept', 'origin');
  await storage.sql.exec('CREATE TABLE kept(id INTEGER PRIMARY KEY, body BLOB)').ready;
  await storage.sql.exec('CREATE INDEX lengths ON kept(length(body))').ready;
  // Only the origin writes these pages.
  for (let i = 1; i <= 20; i++) {
    await storage.sql.exec('INSERT INTO kept VALUES (?, ?)', i, new Uint8Array(1000 + i).fill(i))
      .ready;
  }
  const branch = await storage.fork();
  await branch.put('own', 'branch');
  await branch.sql.exec('CREATE TABLE own(a); INSERT INTO own VALUES (7)').ready;
  const alarm = Date.now() + 3_600_000;
  await branch.setAlarm(alarm);
  const other = await objects.storage(objects.env.Notes.getByName('b'));
  await other.importDatabase(await branch.exportDatabase());
  expect(await other.list()).toEqual(
    new Map([
      ['kept', 'origin'],
      ['own', 'branch'],
    ]),
  );
  const rows = (query: string) => other.sql.exec(query).toArray();
  expect(await rows('SELECT id, hex(body) AS body FROM kept')).toEqual(
    await storage.sql.exec('SELECT id, hex(body) AS body FROM kept').toArray(),
  );
  const byIndex = 'SELECT id FROM kept INDEXED BY lengths WHERE length(body) = 1012';
  expect(await rows(byIndex)).toEqual([{ id: 12 }]);
  expect(await rows('SELECT a FROM own')).toEqual([{ a: 7 }]);
  expect(await other.getAlarm()).toBe(alarm);
  expect(await rows('PRAGMA quick_check')).toEqual([{ quick_check: 'ok' }]);
});

test('[BRANCH3] a branch begins with the moment that a bookmark or a time names', async () => {
  const { storage, objects } = await started();
  await objects.clock.set(Date.now() - 60_000);
  await storage.put('count', 1);
  const moment = await storage.getCurrentBookmark();
  const time = new Date(await objects.clock.now());
  await objects.clock.advance(30_000);
  await storage.put('count', 2);
  for (const at of [moment, time]) {
    const branch = await storage.fork({ at });
    expect(await branch.get('count')).toBe(1);
    expect(branch.forkedAt).toBe(moment);
  }
  expect(await (await storage.fork()).get('count')).toBe(2);
  await expect(storage.fork({ at: 'never' })).rejects.toMatchObject({ code: 'BOOKMARK_INVALID' });
  await expect(storage.fork({ at: new Date(0) })).rejects.toMatchObject({
    code: 'BOOKMARK_UNAVAILABLE',
  });
  await expect(storage.fork({ keep: true })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

test('[BRANCH3] an object that was never written can be forked', async () => {
  const { storage } = await started();
  const branch = await storage.fork();
  await branch.put('a', 1);
  expect(await branch.get('a')).toBe(1);
  expect(await storage.get('a')).toBeUndefined();
});

test('[BRANCH4] branches that have ended leave nothing in memory', { tags: 'long' }, async () => {
  const { storage } = await started();
  const countOf = v8.queryObjects as unknown as (type: typeof HibernatingSockets) => number;
  const before = countOf(HibernatingSockets);
  for (let i = 0; i < 20; i++) {
    const branch = await storage.fork();
    await branch.put('a', i);
    await branch.close();
  }
  await vi.waitUntil(() => countOf(HibernatingSockets) - before < 5);
});

test('[BRANCH4] a branch that is not kept ends when its handle is closed, and so do the branches of it', async () => {
  const { storage } = await started();
  await storage.put('a', 1);
  const branch = await storage.fork();
  await branch.put('a', new Uint8Array(100_000));
  const inner = await branch.fork();
  await inner.put('a', 3);
  await branch.close();
  await expect(branch.get('a')).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  await expect(inner.get('a')).rejects.toMatchObject({ code: 'BRANCH_ENDED' });
  expect(await storage.branches()).toEqual([]);
});

test('[BRANCH13] branches nest eight deep, and no deeper', async () => {
  const { storage } = await started();
  await storage.put('a', 0);
  let deepest: StorageHandle = storage;
  for (let depth = 1; depth <= 8; depth++) deepest = await deepest.fork();
  expect(await deepest.get('a')).toBe(0);
  await expect(deepest.fork()).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('at most 8 deep'),
  });
});

test('[BRANCH5] a branch that is kept outlives its worker, until it is deleted by its name', async () => {
  const directory = await newFolder();
  const first = await started(directory);
  await first.storage.put('a', 1);
  await first.objects.clock.set(Date.now() - 60_000);
  const createdMs = await first.objects.clock.now();
  const branch = await first.storage.fork({ name: 'draft', keep: true });
  await first.objects.clock.advance(60_000);
  await branch.put('a', 2);
  const inner = await branch.fork({ name: 'inner', keep: true });
  await inner.put('a', 3);
  await first.storage.put('a', 4);
  await first.objects.close();

  const { storage, objects } = await started(directory);
  expect(await storage.branches()).toEqual([
    { name: 'draft', bookmark: branch.forkedAt, created: expect.any(Date) },
  ]);
  const [draft] = await storage.branches();
  expect(Math.abs(draft!.created.getTime() - createdMs)).toBeLessThan(30_000);
  const again = await storage.openBranch('draft');
  expect(await again.get('a')).toBe(2);
  expect(await (await again.openBranch('inner')).get('a')).toBe(3);
  expect(await storage.get('a')).toBe(4);
  await again.put('a', 5);
  await expect(storage.fork({ name: 'draft', keep: true })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  });
  expect(await foldersIn(directory)).toBe(3);
  expect(await storage.deleteBranch('draft')).toBe(true);
  expect(await storage.deleteBranch('draft')).toBe(false);
  await expect(again.get('a')).rejects.toMatchObject({ code: 'BRANCH_ENDED' });
  await expect(storage.openBranch('draft')).rejects.toMatchObject({ code: 'BRANCH_ENDED' });
  expect(await storage.get('a')).toBe(4);
  expect(await foldersIn(directory)).toBe(1);
  expect((await objects.list('Notes')).length).toBe(1);
});

test('[BRANCH5] of forks with one name, also those that are made at once, one branch is kept', async () => {
  const { storage, objects, stub } = await started();
  await storage.put('a', 1);
  const other = await objects.storage(stub);
  const made = await Promise.allSettled(
    [storage, other, storage].map((handle) => handle.fork({ name: 'draft', keep: true })),
  );
  const statuses = made.map(({ status }) => status);
  expect(statuses.toSorted()).toEqual(['fulfilled', 'rejected', 'rejected']);
  for (const one of made) {
    if (one.status === 'fulfilled') await one.value.put('a', 2);
    else expect(one.reason).toMatchObject({ code: 'INVALID_ARGUMENT' });
  }
  expect((await storage.branches()).map(({ name }) => name)).toEqual(['draft']);
  expect(await (await storage.openBranch('draft')).get('a')).toBe(2);
});

test('[BRANCH5] a branch that is kept outlives its worker though its origin was never written', async () => {
  const directory = await newFolder();
  const first = await started(directory);
  const branch = await first.storage.fork({ name: 'draft', keep: true });
  await branch.put('a', 1);
  await first.objects.close();
  const { storage } = await started(directory);
  expect(await (await storage.openBranch('draft')).get('a')).toBe(1);
  expect(await storage.get('a')).toBeUndefined();
});

test('[BRANCH7] a branch goes on when its origin restarts, goes back, or is replaced', async () => {
  const { storage, objects, stub } = await started();
  await storage.put('a', 0);
  const beforeFork = await storage.getCurrentBookmark();
  await storage.put('a', 1);
  const branch = await storage.fork();
  await branch.put('b', 1);
  const changes: (() => Promise<unknown>)[] = [
    () => stub.restart().catch(() => {}),
    () => storage.restore(beforeFork),
    async () => {
      const other = await objects.storage(objects.env.Notes.getByName('b'));
      await other.put('a', 'imported');
      await storage.importDatabase(await other.exportDatabase());
    },
    () => storage.deleteAll(),
  ];
  for (const [i, change] of changes.entries()) {
    await change();
    await storage.put('a', `after ${i}`);
    await vi.waitUntil(() => branch.put(`c${i}`, i).then(() => true, falseForReset));
    expect(await branch.get('a')).toBe(1);
    expect(await branch.get('b')).toBe(1);
  }
  expect(await branch.list({ prefix: 'c' })).toEqual(new Map(changes.map((_, i) => [`c${i}`, i])));
});

/** Returns false, so that `waitUntil` repeats the call, if a reset of the object ended it; fails for other errors. */
function falseForReset(error: unknown): boolean {
  if ((error as { code?: string }).code === 'BRANCH_ENDED') throw error;
  expect(error).toMatchObject({ code: 'OBJECT_RESET', retryable: true });
  return false;
}

test('[BRANCH7] the branches of an object that is deleted end', async () => {
  const directory = await newFolder();
  const { storage, objects, stub } = await started(directory);
  await storage.put('a', 1);
  const branches = [await storage.fork(), await storage.fork({ name: 'kept', keep: true })];
  for (const branch of branches) await branch.put('a', 2);
  await objects.deleteObject(stub);
  for (const branch of branches) {
    await expect(branch.get('a')).rejects.toMatchObject({ code: 'BRANCH_ENDED' });
  }
  await storage.put('a', 'new');
  expect(await storage.branches()).toEqual([]);
  expect(await foldersIn(directory)).toBe(1);
});

test('[BRANCH7] an object is deleted while its branches, and those of a branch, are being opened', async () => {
  const { storage, objects, stub } = await started();
  await storage.put('a', 1);
  const branch = await storage.fork();
  const inner = await branch.fork();
  const kept = await storage.fork({ name: 'kept', keep: true });
  const below = await kept.fork({ name: 'below', keep: true });
  for (const handle of [branch, inner, kept, below]) await handle.put('a', 2);
  await stub.restart().catch(() => {});
  const calls = [inner, below, branch, kept].map((handle) => again(() => handle.get('a')));
  await Promise.all([objects.deleteObject(stub), Promise.allSettled(calls)]);
  for (const handle of [inner, below, branch, kept]) {
    await expect(again(() => handle.get('a'))).rejects.toMatchObject({ code: 'BRANCH_ENDED' });
  }
  await storage.put('a', 'new');
  expect(await storage.branches()).toEqual([]);
});

test('[BRANCH11] an object is listed at any moment of its deletion, while its branches are being opened', async () => {
  const { objects } = await started();
  for (let turns = 0; turns < 12; turns++) {
    const stub = objects.env.Notes.getByName(`listed ${turns}`);
    const storage = await objects.storage(stub);
    await storage.put('a', 1);
    const branches = [await storage.fork(), await storage.fork({ name: 'kept', keep: true })];
    for (const branch of branches) await branch.put('a', 2);
    await stub.restart().catch(() => {});
    const calls = Promise.allSettled(branches.map((branch) => again(() => branch.get('a'))));
    const deleted = objects.deleteObject(stub);
    const lists = [];
    for (let turn = 0; turn < turns; turn++) {
      lists.push(objects.list('Notes'));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all([deleted, ...lists, calls]);
    // The list may have opened the object again to read its alarm; it is then empty.
    for (const { branches } of await objects.list('Notes')) expect(branches).toEqual([]);
    expect(await storage.get('a')).toBe(undefined);
  }
});

test('[BRANCH9] a branch becomes the object, as one commit that can be undone', async () => {
  const { storage } = await started();
  await storage.put('a', 1);
  await storage.sql.exec('CREATE TABLE note(body TEXT)').ready;
  const branch = await storage.fork();
  await branch.sql.exec("INSERT INTO note VALUES ('branch')").ready;
  await branch.deleteAll();
  await branch.put('a', 2);
  await branch.put('b', 2);
  await branch.setAlarm(4_000_000_000_000);
  const before = await storage.history();
  const undo = await storage.promote(branch);
  expect([...(await storage.list())]).toEqual([
    ['a', 2],
    ['b', 2],
  ]);
  expect(await storage.getAlarm()).toBe(4_000_000_000_000);
  const [made, ...others] = await storage.history();
  expect(made).toMatchObject({ isPromote: true, isRestore: false });
  expect(others).toEqual(before);
  await branch.put('a', 3);
  expect(await storage.get('a')).toBe(2);
  await storage.restore(undo);
  expect([...(await storage.list())]).toEqual([['a', 1]]);
  expect(await storage.getAlarm()).toBeNull();
  expect(await storage.sql.exec('SELECT * FROM note').toArray()).toEqual([]);
  expect((await storage.history())[1]).toMatchObject({ isPromote: true });
});

test('[BRANCH9] the alarm of a branch that has become the object rings', async () => {
  const { storage, objects } = await started();
  await storage.put('value', 1);
  const branch = await storage.fork();
  await branch.setAlarm((await objects.clock.now()) + 1000);
  await storage.promote(branch);
  await objects.clock.advance(5000);
  expect(await storage.get('value')).toBe('alarm ran');
});

test('[BRANCH9] a branch does not become an object that has changed, nor another one', async () => {
  const { storage, objects } = await started();
  await storage.put('a', 1);
  const branch = await storage.fork();
  await branch.put('a', 2);
  const other = await objects.storage(objects.env.Notes.getByName('b'));
  await expect(other.promote(branch)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  await storage.transaction(async () => {
    await expect(storage.promote(branch)).rejects.toMatchObject({ code: 'TRANSACTION_NESTING' });
  });
  await storage.put('b', 1);
  await expect(storage.promote(branch)).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(await storage.list()).toEqual(
    new Map([
      ['a', 1],
      ['b', 1],
    ]),
  );
});

test('[BRANCH10] an unmodified class runs on a branch, which reaches nothing outside', async () => {
  const { objects, stub, storage } = await started();
  await stub.write('origin');
  const then = await storage.getCurrentBookmark();
  await stub.write('later');
  const branch = await objects.fork(stub, { at: then });
  expect(await branch.read()).toBe('origin');
  expect(await branch.write('branch')).toBe('a');
  expect([await branch.read(), await stub.read()]).toEqual(['branch', 'later']);
  await objects.env.Notes.getByName('b').write('of another');
  for (const outside of [branch.send(), branch.ask('b')]) {
    await expect(outside).rejects.toMatchObject({ code: 'BRANCH_ISOLATED' });
  }
  const open = await objects.fork(stub, { fetch: 'allow' });
  expect([await open.send(), await open.ask('b')]).toEqual(['sent', 'of another']);
  await branch.remind((await objects.clock.now()) + 1000);
  await objects.clock.advance(5000);
  expect(await branch.read()).toBe('branch');
  const beside = await objects.storage(branch);
  expect(await beside.get('value')).toBe('branch');
  await branch[Symbol.asyncDispose]();
  expect([await branch.read(), await beside.get('value')]).toEqual(['branch', 'branch']);
  await beside.close();
  await expect(branch.read()).rejects.toMatchObject({ code: 'BRANCH_ENDED' });
  await open[Symbol.asyncDispose]();
  await expect(open.read()).rejects.toMatchObject({ code: 'BRANCH_ENDED' });
});

test('[MANY2] [BRANCH5] more branches than files may be open are used at once, and opened again', {
  tags: 'long',
}, async () => {
  const directory = await newFolder();
  const limits = { openFiles: 16 };
  const names = Array.from({ length: 12 }, (_, i) => `object ${i}`);
  for (const round of [1, 2]) {
    const objects = await createObjects({ Notes }, { directory, limits });
    opened.push(objects);
    const storageOf = (name: string) => objects.storage(objects.env.Notes.getByName(name));
    const found = await Promise.all(
      names.map(async (name) => {
        const storage = await storageOf(name);
        if (round === 1) await storage.put('a', name);
        const branch =
          round === 1
            ? await storage.fork({ name: 'draft', keep: true })
            : await storage.openBranch('draft');
        await branch.put(`round ${round}`, round);
        return [await branch.get('a'), (await branch.list()).size, (await storage.list()).size];
      }),
    );
    expect(found).toEqual(names.map((name) => [name, round + 1, 1]));
    await objects.close();
  }
});

interface Branched {
  readonly handle: StorageHandle;
  readonly model: Map<string, string>;
}

test('[BRANCH2] whatever is done to an object and its branches, each has what was done to it', async () => {
  const step = fc.record({
    kind: fc.constantFrom('put', 'put', 'put', 'delete', 'fork', 'restore', 'restart'),
    who: fc.nat(9),
    key: fc.constantFrom('a', 'b', 'c'),
    size: fc.constantFrom(1, 1000, 7000),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      const { storage, objects, stub } = await started();
      const all: Branched[] = [{ handle: storage, model: new Map() }];
      const begun: { at: string; model: Map<string, string> }[] = [];
      for (const [i, { kind, who, key, size }] of steps.entries()) {
        const { handle, model } = all[who % all.length]!;
        if (kind === 'put') {
          await again(() => handle.put(key, `${i}.`.repeat(size)));
          model.set(key, `${i}.`.repeat(size));
        } else if (kind === 'delete') {
          await again(() => handle.delete(key));
          model.delete(key);
        } else if (kind === 'restart') {
          await stub.restart().catch(() => {});
        } else if (kind === 'fork') {
          all.push({ handle: await again(() => handle.fork()), model: new Map(model) });
          if (handle !== storage) continue;
          begun.push({ at: await storage.getCurrentBookmark(), model: new Map(model) });
        } else if (begun.length > 0) {
          const { at, model: then } = begun[who % begun.length]!;
          await storage.restore(at);
          all[0] = { handle: storage, model: new Map(then) };
        }
      }
      for (const { handle, model } of all) {
        const found = await again(() => handle.list<string>());
        expect(Object.fromEntries(found)).toEqual(Object.fromEntries(model));
      }
      await objects.close();
    }),
    { numRuns: 8, endOnFailure: true },
  );
});

/** Repeats the call until no reset ends it. */
async function again<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      falseForReset(error);
    }
  }
}

test('[BRANCH5] an object that restarts during the deletion of a branch keeps the changes of its list that come after, and the branch has ended', async () => {
  const { storage } = await started();
  await storage.put('value', 1);
  const old = await storage.fork({ name: 'old', keep: true });
  await storage.fork({ name: 'other', keep: true });
  let go = () => {};
  const blocked = new Promise<void>((resolve) => (go = resolve));
  const { remove } = MemoryMedium.prototype;
  const removing = vi.spyOn(MemoryMedium.prototype, 'remove');
  removing.mockImplementationOnce(async function (this: MemoryMedium, key: string) {
    await blocked;
    return remove.call(this, key);
  });
  const deleted = storage.deleteBranch('old').catch((error) => error.code);
  await vi.waitFor(() => expect(removing).toHaveBeenCalled());
  await storage.abort();
  expect(await storage.deleteBranch('other')).toBe(true);
  go();
  expect(await deleted).toBe('OBJECT_RESET');
  removing.mockRestore();
  await expect(old.get('value')).rejects.toMatchObject({ code: 'BRANCH_ENDED' });
  await storage.put('value', 2);
  await storage.abort();
  expect(await storage.branches()).toEqual([]);
});
