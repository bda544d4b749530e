// Changes of a server on their way into a copy.

import { expect, test } from 'vitest';
import { encodeChanges } from '../../src/follow/changes/changes-bytes.ts';
import { NO_FOLLOWERS } from '../objects/host/followers.ts';
import { DurableObject } from '../realm/library/base-classes.ts';
import { createTestHost } from '../testing/test-host.ts';
import { Base } from './base.ts';

class Room extends DurableObject {}

test.for(['', 'ON CONFLICT REPLACE', 'ON CONFLICT IGNORE'])(
  '[FOLP33] changes that do not fit the copy are refused as a whole, also in a table with UNIQUE %s',
  async (clause) => {
    const world = await createTestHost({}, { Room });
    const { host } = world;
    const address = world.address();
    host.followers = { ...NO_FOLLOWERS, classNames: new Set(['Room']) };
    const base = await Base.open(host, address);
    const sql = `CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT UNIQUE ${clause})`;
    const apply = (id: number, rows: (string | number)[][]) => {
      const schema = id === 1 ? [{ type: 'table' as const, name: 'item', sql }] : null;
      const table = {
        name: 'item',
        keys: ['id'],
        columns: ['id', 'name'],
        isWhole: false,
        gone: [],
      };
      const changes = { isWiped: false, sequences: null, kv: [], kvGone: [], schema };
      const cut = encodeChanges({ ...changes, tables: [{ ...table, rows }] });
      return base.apply(cut, { position: { id, life: 1 }, last: 0 });
    };
    await apply(1, [
      [1, 'one'],
      [2, 'two'],
    ]);
    await expect(
      apply(2, [
        [3, 'three'],
        [4, 'one'],
      ]),
    ).rejects.toMatchObject({ code: 'SQL' });
    await apply(3, [
      [1, 'two'],
      [2, 'one'],
    ]);
    const select = 'SELECT id, name FROM item ORDER BY id';
    const rows = await host.deliver(address, ({ storage }) => [...storage.exec(select, []).raw()]);
    expect(rows).toEqual([
      [1, 'two'],
      [2, 'one'],
    ]);
    base.close();
    await world.close();
  },
);
