// Tests the base of a replica, which only the changes of the server write.

import { afterEach, describe, expect, test } from 'vitest';
import { NO_FOLLOWERS } from '../../../worker/objects/host/followers.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { createTestHost } from '../../testing/worker/test-host.ts';
import type { Changes } from '../changes/changes.ts';
import { encodeChanges } from '../changes/changes-bytes.ts';
import { worldOf } from '../testing/followed-device.ts';
import { Base } from './base.ts';

class Room extends DurableObject {}

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function hostOn(world = worldOf(), follows = true) {
  const own = await createTestHost({}, { Room }, undefined, world);
  ends.push(() => own.close());
  if (follows) own.host.followers = { ...NO_FOLLOWERS, classNames: new Set(['Room']) };
  return own;
}

const ITEM = {
  type: 'table' as const,
  name: 'item',
  sql: 'CREATE TABLE item (id INTEGER PRIMARY KEY, v)',
};
const NOTHING: Changes = {
  isWiped: false,
  schema: null,
  tables: [],
  sequences: null,
  kv: [],
  kvGone: [],
};
const rowsOf = (...rows: (readonly [bigint, string])[]) => ({
  ...{ name: 'item', keys: ['id'], columns: ['id', 'v'], isWhole: false, gone: [], rows },
});
const at = (id: number, last = 0) => ({ position: { id, life: 7 }, last });

describe('the base of a copy', () => {
  test('[FOLP1] has its position, and the last call that it contains, with each cut', async () => {
    const world = worldOf();
    const first = await hostOn(world);
    const base = await Base.open(first.host, first.address());
    expect(base.mark).toEqual({ position: null, last: 0 });
    const changes = encodeChanges({ ...NOTHING, schema: [ITEM], tables: [rowsOf([1n, 'one'])] });
    await base.apply(changes, at(3, 2));
    base.close();
    await first.close();

    const second = await hostOn(world);
    const again = await Base.open(second.host, second.address());
    expect(again.mark).toEqual(at(3, 2));
    await expect(
      again.apply(
        encodeChanges({ ...NOTHING, tables: [rowsOf([2n, 'two'], [2n, 'too'])] }),
        at(4, 3),
      ),
    ).rejects.toMatchObject({ code: 'SQL' });
    again.close();
    await second.close();

    const third = await hostOn(world);
    const refused = await Base.open(third.host, third.address());
    expect(refused.mark).toEqual(at(3, 2));
    await refused.forgetPosition(at(4, 3));
    refused.close();
    await third.close();

    const fourth = await hostOn(world);
    const forgotten = await Base.open(fourth.host, fourth.address());
    expect(forgotten.mark).toEqual({ position: null, last: 3 });
    forgotten.close();
  });

  test('[FOLP31] becomes the parts with the changes since the first, in one commit with its position', async () => {
    const world = worldOf();
    const own = await hostOn(world);
    const base = await Base.open(own.host, own.address());
    const parts = [
      encodeChanges({ ...NOTHING, isWiped: true, schema: [ITEM], tables: [rowsOf([1n, 'a'])] }),
      encodeChanges({ ...NOTHING, tables: [rowsOf([2n, 'b'])] }),
    ];
    const changes = encodeChanges({ ...NOTHING, tables: [rowsOf([1n, 'newer'])] });
    const everything = { fromMs: 0, toMs: Number.MAX_VALUE, before: null, limit: 100 };
    const commits = () =>
      own.host.deliver(own.address(), ({ storage }) => storage.past.commits(everything));
    const { length } = await commits();
    await base.replace(parts, changes, at(9, 4));
    expect(await commits()).toHaveLength(length + 1);
    base.close();
    const rows = await own.host.deliver(own.address(), ({ storage }) => [
      ...storage.exec('SELECT id, v FROM item ORDER BY id', []).raw(),
    ]);
    expect(rows).toEqual([
      [1, 'newer'],
      [2, 'b'],
    ]);
    await own.close();
    const next = await hostOn(world);
    const opened = await Base.open(next.host, next.address());
    expect(opened.mark).toEqual(at(9, 4));
    opened.close();
  });

  test('[FOLP33] an object with data of its own does not become a copy, until it is deleted', async () => {
    const world = worldOf();
    const before = await hostOn(world, false);
    await before.run(({ storage }) => storage.put('own', 'data'), 'a');
    await before.close();
    const own = await hostOn(world);
    const { host } = own;
    await expect(Base.open(host, own.address('a'))).rejects.toMatchObject({
      code: 'CONFLICT',
      message:
        'follow: object a of Room has data that the server has not; delete the object, or follow under another name.',
    });
    await own.advance(60_000);
    expect(host.instances.running()).toEqual([]);
    await host.erase(own.address('a'));
    const base = await Base.open(host, own.address('a'));
    expect(base.mark).toEqual({ position: null, last: 0 });
    base.close();
    await own.advance(60_000);
    expect(host.instances.running()).toEqual([]);
  });
});
