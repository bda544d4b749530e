// Branches while they are open: how long each lives, the files of its origin's pages, and merging it.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { SlowMedium } from '../../../packages/testing/worker/slow-medium.ts';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import {
  addressKey,
  branchAddress,
  type ObjectAddress,
} from '../../../src/shared/contract/object-id.ts';
import { sequenceIn } from '../../engine/log/bookmark.ts';
import { MemoryCatalog } from '../catalog/catalog.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';
import type { ForkRequest } from './branches.ts';

let medium: SlowMedium;
let host: TestHost;

beforeEach(async () => {
  medium = new SlowMedium();
  host = await createTestHost({}, {}, undefined, { medium, catalog: new MemoryCatalog() });
  await at(host.address(), ({ storage }) => {
    storage.exec('CREATE TABLE t (x PRIMARY KEY, y)', []);
    storage.exec("INSERT INTO t VALUES (0, 'origin')", []);
  });
});
afterEach(async () => {
  medium.release();
  await host.close();
});

/** Within an event of an object, or of a branch. */
const at = <T>(address: ObjectAddress, event: (instance: ObjectInstance) => T | Promise<T>) =>
  host.host.deliver(address, event);

async function fork(
  request: Partial<ForkRequest> = {},
  origin = host.address(),
): Promise<ObjectAddress> {
  const isKept = request.isKept ?? request.name !== undefined;
  const { id } = await at(origin, (instance) =>
    host.host.branches.fork(instance, { at: null, name: null, sends: false, ...request, isKept }),
  );
  return branchAddress(origin, id);
}

const write = (address: ObjectAddress, x: number, y: string | Uint8Array) =>
  at(address, ({ storage }) => {
    storage.exec('INSERT OR REPLACE INTO t VALUES (?, ?)', [x, y]);
  });
const read = (address: ObjectAddress) =>
  at(address, ({ storage }) => [...storage.exec('SELECT x, y FROM t ORDER BY x', []).raw()]);
const bookmarkOf = (address: ObjectAddress) =>
  at(address, ({ storage }) => storage.currentBookmark());
const isEnded = (address: ObjectAddress) =>
  expect(read(address)).rejects.toMatchObject({
    code: 'BRANCH_ENDED',
    message: expect.stringMatching(/^The branch has ended: it was closed.*Fork again\.$/),
  });

test('[BRANCH4] a branch ends with the last of its users, and nobody else is concerned', async () => {
  const { branches } = host.host;
  const [branch, other] = [await fork(), await fork()];
  expect([branches.isUnused(branch), branches.isUnused(host.address())]).toEqual([true, false]);
  const ends = [branches.hold(branch), branches.hold(branch), branches.hold(other)];
  expect(branches.isUnused(branch)).toBe(false);
  ends[0]!();
  expect(await read(branch)).toEqual([[0, 'origin']]);
  const call = at(branch, () => new Promise<never>(() => {}));
  const rejected = expect(call).rejects.toMatchObject({
    code: 'BRANCH_ENDED',
    message: 'The branch has ended: it was closed. Fork again.',
  });
  await host.turns(5);
  ends[1]!();
  await rejected;
  await isEnded(branch);
  expect(await read(other)).toEqual([[0, 'origin']]);
  // An object and a kept branch have users too, and outlive them.
  const kept = await fork({ name: 'kept' });
  for (const address of [host.address(), kept]) {
    branches.hold(address)();
    expect(await read(address)).toEqual([[0, 'origin']]);
  }
});

test('[BRANCH6] the oldest moment that open branches need is that of one of them, until it ends', async () => {
  const { branches } = host.host;
  const key = addressKey(host.address());
  const [first] = [await bookmarkOf(host.address()), await write(host.address(), 1, 'second')];
  const second = await bookmarkOf(host.address());
  expect(branches.pinnedSequence(key)).toBe(Number.POSITIVE_INFINITY);
  const later = branches.hold(await fork({ at: second }));
  expect(branches.pinnedSequence(key)).toBe(sequenceIn(second));
  const early = branches.hold(await fork({ at: first }));
  expect(branches.pinnedSequence(key)).toBe(sequenceIn(first));
  early();
  expect(branches.pinnedSequence(key)).toBe(sequenceIn(second));
  later();
  expect(branches.pinnedSequence(key)).toBe(Number.POSITIVE_INFINITY);
  expect(branches.pinnedSequence('another')).toBe(Number.POSITIVE_INFINITY);
});

test('[BRANCH5] [BRANCH13] a fork that is refused names the limit, or what is missing', async () => {
  const temporary = await fork();
  for (const [make, message] of [
    [() => fork({ isKept: true }), /a branch that is kept needs a name/],
    [() => fork({ name: 'x' }, temporary), /keep its origin/],
  ] as const) {
    await expect(make()).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(message),
    });
  }
  let deepest = temporary;
  for (let depth = 2; depth <= 8; depth++) deepest = await fork({}, deepest);
  await expect(fork({}, deepest)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: 'fork: branches nest at most 8 deep.',
  });
});

test('[BRANCH9] [MERGE5] an object that is no branch is neither promoted nor merged', async () => {
  const { branches } = host.host;
  const error = { code: 'INTERNAL', message: expect.stringContaining('used as a branch') };
  await expect(branches.promote(host.address())).rejects.toMatchObject(error);
  await expect(branches.merge(host.address(), null, null)).rejects.toMatchObject(error);
  expect(await read(host.address())).toEqual([[0, 'origin']]);
});

test('[BRANCH9] [MERGE7] a promote or merge that is cancelled before its turn changes nothing', async () => {
  const branch = await fork();
  await write(branch, 1, 'branch');
  const cancelled = new Error('cancelled');
  let checks = 0;
  const cancellation = {
    isCancelled: () => true,
    check: () => {
      checks++;
      throw cancelled;
    },
  };
  const { branches } = host.host;
  await expect(branches.promote(branch, cancellation)).rejects.toBe(cancelled);
  await expect(branches.merge(branch, null, null, cancellation)).rejects.toBe(cancelled);
  expect(checks).toBe(2); // neither is tried again
  expect(await read(host.address())).toEqual([[0, 'origin']]);
  expect((await branches.merge(branch, null, null)).bookmark).not.toBeNull();
  expect(await read(host.address())).toHaveLength(2);
});

test.for([0, 1, 2, 3])(
  '[MERGE7] a merge whose state made room for moments %i times, while it waited for the object, is of the same state; three times are too many',
  async (count) => {
    const { branches } = host.host;
    const branch = await fork();
    const bookmarks: string[] = [];
    for (let i = 1; i <= 5; i++) {
      await write(branch, i, `branch ${i}`);
      bookmarks.push(await bookmarkOf(branch));
    }
    /** Keeps the object in memory until the result is called. */
    const hold = () => {
      let release = () => {};
      const until = new Promise<void>((resolve) => (release = resolve));
      const held = at(host.address(), ({ storage }) => storage.environment.section(() => until));
      return { held, release };
    };
    let next = hold();
    await host.turns(5);
    const merged = branches.merge(branch, null, null).then(
      ({ branchBookmark }) => branchBookmark,
      (error) => error.code,
    );
    for (let i = 0; i < count; i++) {
      const now = next;
      await host.turns(50); // the merge waits now
      next = hold();
      for (const bookmark of bookmarks.slice(0, 4))
        await at(branch, ({ storage }) => storage.past.open(bookmark));
      await write(branch, 10 + i, 'later');
      now.release();
      await now.held;
    }
    await host.turns(50);
    next.release();
    expect(await merged).toBe(count < 3 ? bookmarks[4] : 'MOMENT_CLOSED');
    const rows = await read(host.address());
    expect(rows.map(([x]) => x)).toEqual(count < 3 ? [0, 1, 2, 3, 4, 5] : [0]);
  },
);

/** Folders of branches, without the key of the object. */
const folders = async () => {
  const key = addressKey(host.address());
  return (await medium.keys())
    .filter((one) => one.startsWith(`${key}~`))
    .map((one) => one.slice(key.length));
};

/** Replaces ten megabytes of the object. */
async function fill(address: ObjectAddress, byte: number): Promise<void> {
  for (let i = 1; i <= 20; i++) await write(address, 100 + i, new Uint8Array(500_000).fill(byte));
}

test('[BRANCH4] [BRANCH8] a small branch has no folder unless it is kept; a large one has, and its end removes it and those below', {
  tags: 'long',
}, async () => {
  const [branch, kept] = [await fork(), await fork({ name: 'kept' })];
  const end = host.host.branches.hold(branch);
  for (const address of [branch, kept]) await write(address, 1, 'small');
  const [own, ofKept] = [branch, kept].map(({ branch }) => `~${branch![0]}`);
  expect(await folders()).toEqual([ofKept]);
  await fill(branch, 1);
  await host.turns(20);
  expect((await folders()).toSorted()).toEqual([own!, ofKept!].toSorted());
  expect((await read(branch)).slice(0, 2)).toEqual([
    [0, 'origin'],
    [1, 'small'],
  ]);
  const inner = await fork({}, branch);
  host.host.branches.hold(inner);
  await fill(inner, 2);
  await host.turns(20);
  expect(await folders()).toContain(`${own}~${inner.branch![1]}`);
  end();
  await host.turns(20);
  expect(await folders()).toEqual([ofKept]);
});

test('[BRANCH4] [BRANCH8] the pages of its origin that a branch needs go to the disk when they are many, and are removed with its instance', {
  tags: 'long',
}, async () => {
  await fill(host.address(), 1);
  const branch = await fork();
  const end = host.host.branches.hold(branch);
  await at(branch, () => {});
  expect(await folders()).toEqual([]);
  await fill(host.address(), 2);
  const [id] = branch.branch!;
  expect(await folders()).toEqual([`~${id}~base`]);
  const sums = async (address: ObjectAddress) =>
    (await read(address)).slice(1).map(([, y]) => new Uint8Array(y as ArrayBuffer)[400_000]);
  expect(new Set(await sums(branch))).toEqual(new Set([1]));
  expect(new Set(await sums(host.address()))).toEqual(new Set([2]));
  // The instance ends, not the branch: it collects the pages once more, from the history.
  await host.host.reset(branch, new Error('reset'));
  await host.turns(20);
  expect(await folders()).toEqual([]);
  expect(new Set(await sums(branch))).toEqual(new Set([1]));
  expect(await folders()).toEqual([`~${id}~base`]);
  end();
  await host.turns(20);
  expect(await folders()).toEqual([]);
});

test('[BRANCH4] the end of the host waits until the pages of the origins are removed', async () => {
  await fill(host.address(), 1);
  const branch = await fork({ name: 'kept' });
  await at(branch, () => {});
  await fill(host.address(), 2);
  const own = `~${branch.branch![0]}`;
  expect(await folders()).toEqual([own, `${own}~base`]);
  await host.close();
  expect(await folders()).toEqual([own]);
});

test('[BRANCH7] a branch keeps its origin open while it is, and no longer', async () => {
  const branch = await fork();
  const end = host.host.branches.hold(branch);
  const { instances } = host.host;
  const isOpen = (address: ObjectAddress) => instances.has(addressKey(address));
  const release = (await host.host.instance(branch)).retain();
  await host.advance(3_600_000);
  expect([isOpen(host.address()), isOpen(branch)]).toEqual([true, true]);
  release();
  await host.advance(3_600_000);
  expect([isOpen(host.address()), isOpen(branch)]).toEqual([false, false]);
  expect(await read(branch)).toEqual([[0, 'origin']]);
  end();
});

test('[BRANCH7] [LOG30] the deletion of an object whose list of branches is damaged removes the files of all of them', async () => {
  const branch = await fork({ name: 'draft' });
  await write(branch, 1, 'branch');
  const [below, other] = [await fork({ name: 'below' }, branch), await fork({ name: 'other' })];
  for (const address of [below, other]) await write(address, 2, 'branch');
  for (const address of [below, other, branch, host.address()]) await host.host.evict(address);
  expect(await folders()).toHaveLength(3);
  const file = await (await medium.directory(addressKey(host.address()))).open('branches');
  for (const copy of [0, 1 << 17]) file.write(new Uint8Array(100).fill(1), copy);
  file.close();
  await expect(read(host.address())).rejects.toMatchObject({ code: 'CORRUPT' });
  await host.host.erase(host.address());
  expect(await medium.keys()).toEqual([]);
});
