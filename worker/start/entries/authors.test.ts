// Tests whom history() names as the author of a commit that a handle, a method, a socket or an alarm made.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CommitAuthor, StorageHandle } from '../../../src/shared/contract/storage.ts';
import { DurableObject } from '../../realm/library/base-classes.ts';
import { createObjects, evictDurableObject } from './node-objects.ts';

class Ledger extends DurableObject {
  async add(name: string) {
    await this.ctx.storage.put(name, 1);
  }

  /** Writes twice, the second time after a timer has fired. */
  async addLater(name: string) {
    await this.ctx.storage.put(`${name}-now`, 1);
    await new Promise((resolve) => setTimeout(resolve, 1));
    await this.ctx.storage.put(`${name}-later`, 1);
  }

  async addInTransaction() {
    await this.ctx.storage.transaction(async (txn) => {
      await txn.put('inside', 1);
    });
    this.ctx.storage.kv.put('after', 1);
  }

  async backTo(bookmark: string) {
    await this.ctx.storage.onNextSessionRestoreBookmark(bookmark);
    this.ctx.abort('restart');
  }

  async passOn() {
    const { LEDGER } = this.env as { LEDGER: DurableObjectNamespaceLike };
    await LEDGER.getByName('other').add('from another');
  }

  async fetch() {
    this.ctx.storage.kv.put('fetched', 1);
    return new Response('ok');
  }

  async soon() {
    await this.ctx.storage.setAlarm(Date.now());
  }

  async alarm() {
    this.ctx.storage.kv.put('rang', 1);
  }
}

interface DurableObjectNamespaceLike {
  getByName(name: string): { add(name: string): Promise<void> };
}

class Prepared extends DurableObject {
  constructor(...args: ConstructorParameters<typeof DurableObject>) {
    super(...args);
    this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY)');
  }

  touch() {}
}

const classes = { LEDGER: Ledger, Prepared };
let objects: Awaited<ReturnType<typeof createObjects<typeof classes>>>;
let storage: StorageHandle;
const stub = () => objects.env.LEDGER.getByName('one');

beforeEach(async () => {
  objects = await createObjects(classes);
  storage = await objects.storage(stub());
});
afterEach(() => objects.close());

/** Returns the authors of the commits, the newest first. */
async function authors(handle = storage): Promise<(CommitAuthor | undefined)[]> {
  return (await handle.history()).map(({ by }) => by);
}

const own = (more: Partial<CommitAuthor> = {}) => ({
  kind: 'storage',
  connection: storage.connection,
  ...more,
});

test('[BY1] commits of a handle name its connection, which its other handles share', async () => {
  const other = await objects.storage(stub());
  await storage.put('a', 1);
  await other.sql.exec('CREATE TABLE t(id INTEGER PRIMARY KEY)').ready;
  expect(storage.connection).toMatch(/^[0-9a-f]{12}$/);
  expect(other.connection).toBe(storage.connection);
  expect(await authors()).toEqual([own(), own()]);
});

test('[BY1] commits of a class name what has entered it: a method, fetch, an alarm, the constructor', async () => {
  await stub().add('a');
  expect(await authors()).toEqual([{ kind: 'call', method: 'add' }]);
  await stub().fetch('http://object/');
  await stub().addInTransaction();
  await stub().soon();
  await expect.poll(() => storage.get('rang')).toBe(1);
  await expect.poll(async () => (await authors()).length).toBeGreaterThanOrEqual(6);
  const found = (await authors()).reverse();
  expect(found.slice(1, 5)).toEqual([
    { kind: 'fetch' },
    { kind: 'call', method: 'addInTransaction' },
    { kind: 'call', method: 'addInTransaction' },
    { kind: 'call', method: 'soon' },
  ]);
  expect(new Set(found.slice(5).map((by) => by?.kind))).toEqual(new Set(['alarm']));
  const prepared = objects.env.Prepared.getByName('one');
  await prepared.touch();
  expect(await authors(await objects.storage(prepared))).toEqual([{ kind: 'constructor' }]);
});

test('[BY1] what a call does later is its own, whoever was called meanwhile', async () => {
  await Promise.all([stub().addLater('a'), stub().add('b'), stub().addLater('c')]);
  const found = await authors();
  const isOf = (method: string) => found.filter((by) => by?.method === method).length;
  expect([isOf('addLater'), isOf('add')]).toEqual([4, 1]);
});

test('[BY2] labelled gives a label to the commits of its view, and to no others', async () => {
  const result = await storage.labelled('Import of contacts', async (view) => {
    await view.put('a', 1);
    await view.sql.exec('CREATE TABLE t(id INTEGER PRIMARY KEY)').ready;
    await view.kv.putMany({ x: 1, y: 2 });
    await view.transaction(async (txn) => {
      await txn.put('b', 1);
    });
    await storage.put('plain', 1);
    return 'done';
  });
  expect(result).toBe('done');
  const labelled = own({ label: 'Import of contacts' });
  expect(await authors()).toEqual([own(), labelled, labelled, labelled, labelled]);
});

test('[BY2] writes of one turn with different labels are different commits; a transaction has the first label', async () => {
  await Promise.all([
    storage.put('a', 1),
    storage.labelled('One', (view) => view.put('b', 1)),
    storage.labelled('Two', (view) => view.put('c', 1)),
    storage.labelled('Two', (view) => view.put('d', 1)),
  ]);
  expect(await authors()).toEqual([own({ label: 'Two' }), own({ label: 'One' }), own()]);
  await storage.transaction(async (txn) => {
    await txn.put('e', 1);
    await storage.labelled('Three', (view) => view.put('f', 1));
    await storage.labelled('Four', (view) => view.put('g', 1));
  });
  expect((await authors())[0]).toEqual(own({ label: 'Three' }));
});

test('[BY2] a label of 256 bytes is kept, a longer one is INVALID_ARGUMENT and runs nothing', async () => {
  const longest = 'ü'.repeat(128);
  await storage.labelled(longest, (view) => view.put('a', 1));
  expect(await authors()).toEqual([own({ label: longest })]);
  let ran = false;
  const task = () => void (ran = true);
  await expect(storage.labelled(`${longest}x`, task)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('257 bytes of UTF-8, at most 256'),
  });
  await expect(storage.labelled(5 as never, task)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  });
  await expect(storage.labelled('x', 'no function' as never)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  });
  expect(ran).toBe(false);
  await expect(
    storage.labelled('x', () => Promise.reject(new RangeError('of the task'))),
  ).rejects.toThrow('of the task');
});

describe('operations', () => {
  const label = 'Step 5';
  const of = (kind: CommitAuthor['kind']) => own({ kind, label });

  test('[BY3] import, merge, revert, restore and promote name themselves, and who asked for them', async () => {
    const start = await storage.getCurrentBookmark();
    await storage.put('a', 1);
    const [last] = await storage.history();
    await storage.labelled(label, (view) => view.revert(last!.bookmark));
    expect((await authors())[0]).toEqual(of('revert'));
    await storage.labelled(label, (view) => view.merge({ from: start, to: last!.bookmark }));
    expect((await authors())[0]).toEqual(of('merge'));
    const file = await storage.exportDatabase();
    await storage.put('b', 1);
    await storage.labelled(label, (view) => view.importDatabase(file));
    expect((await authors())[0]).toEqual(of('import'));
    await storage.labelled(label, (view) => view.restore(start));
    expect((await authors())[0]).toEqual(of('restore'));
    const branch = await storage.fork();
    await branch.labelled('On the branch', (view) => view.put('c', 1));
    expect(await authors(branch)).toEqual([own({ label: 'On the branch' })]);
    await storage.labelled(label, (view) => view.promote(branch));
    expect((await authors())[0]).toEqual(of('promote'));
    const other = await storage.fork();
    await other.put('d', 1);
    await storage.labelled(label, (view) => view.merge(other));
    expect((await authors())[0]).toEqual(of('merge'));
  });

  test('[BY3] a restore that code requests names the method', async () => {
    const start = await storage.getCurrentBookmark();
    await storage.put('a', 1);
    await expect(stub().backTo(start)).rejects.toThrow('restart');
    expect(await authors()).toEqual([{ kind: 'restore', method: 'backTo' }, own()]);
  });

  test('[BY1] an author outlives its instance', async () => {
    await storage.labelled(label, (view) => view.put('a', 1));
    await evictDurableObject(stub());
    expect(await authors()).toEqual([of('storage')]);
  });
});

test('[BY1] a call of another object names the method', async () => {
  await stub().passOn();
  const other = await objects.storage(objects.env.LEDGER.getByName('other'));
  expect(await authors(other)).toEqual([{ kind: 'call', method: 'add' }]);
});
