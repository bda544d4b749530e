// The list of the branches that an object keeps, when the disk is slow, fails, or a process ends in between.

import { afterEach, expect, test } from 'vitest';
import { SlowMedium } from '../../../packages/testing/worker/slow-medium.ts';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import {
  addressKey,
  branchAddress,
  type ObjectAddress,
} from '../../../src/shared/contract/object-id.ts';
import { MemoryCatalog } from '../catalog/catalog.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const worldOf = () => ({ medium: new SlowMedium(), catalog: new MemoryCatalog() });

async function hostOf(world: ReturnType<typeof worldOf>): Promise<TestHost> {
  const host = await createTestHost({}, {}, undefined, world);
  ends.push(() => host.close());
  ends.push(() => world.medium.release());
  return host;
}

/** Within an event of the object. */
const within = <T>(host: TestHost, event: (instance: ObjectInstance) => T | Promise<T>) =>
  host.host.deliver(host.address(), event);

const fork = (host: TestHost, name: string) =>
  within(host, (instance) =>
    host.host.branches.fork(instance, { at: null, name, isKept: true, sends: false }),
  );
const listOf = (host: TestHost) =>
  within(host, (instance) => host.host.branches.list(instance).map(({ name }) => name));

function write({ storage }: ObjectInstance): void {
  storage.exec('CREATE TABLE IF NOT EXISTS t (x)', []);
  storage.exec('INSERT INTO t VALUES (1)', []);
}

test('[BRANCH5] a branch is in the list only when the commit that it begins with is durable', async () => {
  const world = worldOf();
  const host = await hostOf(world);
  const key = addressKey(host.address());
  await within(host, write);
  world.medium.holds = (_, name) => name.startsWith('log-');
  const made = within(host, (instance) => {
    write(instance);
    return host.host.branches.fork(instance, { at: null, name: 'x', isKept: true, sends: false });
  });
  while (world.medium.heldCount === 0) await host.turns(1);
  await host.turns(50);
  expect([...(await world.medium.sizes(key)).keys()]).not.toContain('branches');
  world.medium.release();
  await made;
  expect([...(await world.medium.sizes(key)).keys()]).toContain('branches');
  expect(await listOf(host)).toEqual(['x']);
});

test('[BRANCH5] [BRANCH12] a deletion that was interrupted is finished by the next host, and the name is free meanwhile', async () => {
  const world = worldOf();
  const host = await hostOf(world);
  await within(host, write);
  const { id } = await fork(host, 'old');
  const folder = `${addressKey(host.address())}~${id}`;
  await world.medium.directory(folder);
  const { remove } = world.medium;
  world.medium.remove = async () => {
    throw new Error('the process ends');
  };
  const deleted = within(host, (instance) => host.host.branches.delete(instance, 'old'));
  await expect(deleted).rejects.toThrow('the process ends');
  expect(await listOf(host)).toEqual([]);
  await host.close().catch(() => {});
  world.medium.remove = remove;

  const next = await hostOf(world);
  expect(await listOf(next)).toEqual([]);
  await fork(next, 'old');
  for (let turns = 0; (await world.medium.keys()).includes(folder); turns++) {
    expect(turns).toBeLessThan(1000);
    await next.turns(1);
  }
  const stored = await within(next, ({ storage }) =>
    storage.branchPoint.kept.list.map(({ name, isLeaving }) => [name, isLeaving]),
  );
  expect(stored).toEqual([['old', false]]);
});

test('[BRANCH5] [LOG30] after a fork or a deletion that the disk has refused, the object has the list that the next host finds', async () => {
  for (const failing of [1, 2]) {
    for (const change of ['fork', 'delete'] as const) {
      const world = worldOf();
      const host = await hostOf(world);
      await within(host, write);
      await fork(host, 'first');
      let flushes = 0;
      world.medium.fails = (_, name) => name === 'branches' && ++flushes === failing;
      const changed =
        change === 'fork'
          ? fork(host, 'second')
          : within(host, (instance) => host.host.branches.delete(instance, 'first'));
      await expect(changed).rejects.toMatchObject({ code: 'IO' });
      world.medium.fails = () => false;
      const names = await listOf(host);
      await within(host, write);
      await host.close();
      expect(await listOf(await hostOf(world))).toEqual(names);
    }
  }
});

test('[BRANCH4] a branch whose maker is gone ends, unless it has had a user or is kept', async () => {
  const host = await hostOf(worldOf());
  const { branches } = host.host;
  await within(host, write);
  const made = (isKept: boolean, name: string) =>
    within(host, (instance) =>
      branches.fork(instance, { at: null, name, isKept, sends: false }),
    ).then(({ id }) => branchAddress(host.address(), id));
  const [lone, used, kept] = [await made(false, ''), await made(false, ''), await made(true, 'x')];
  const end = branches.hold(used);
  for (const address of [lone, used, kept]) branches.abandon(address);
  const sees = (address: ObjectAddress) =>
    host.host.deliver(address, ({ storage }) => [...storage.exec('SELECT x FROM t', []).raw()]);
  await expect(sees(lone)).rejects.toMatchObject({ code: 'BRANCH_ENDED' });
  expect(await sees(used)).toEqual([[1]]);
  expect(await sees(kept)).toEqual([[1]]);
  end();
  await expect(sees(used)).rejects.toMatchObject({ code: 'BRANCH_ENDED' });
  expect(branches.pinnedSequence(addressKey(host.address()))).toBe(Number.POSITIVE_INFINITY);
});
