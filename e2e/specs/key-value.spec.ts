// Keys and values, transactions and alarms, as a page uses them.

import { expect, test } from '../browsers/fixtures.ts';
import { LONG, RELEASE, REST } from '../browsers/tags.ts';

test('[VAL1] put stores and get returns any value that structured clone takes', async ({
  storagePage,
}) => {
  const seen = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('values');
    await storage.put('value', {
      map: new Map([[1, new Set(['a'])]]),
      date: new Date(5),
      bytes: new Uint8Array([1, 2, 3]),
      big: 2n ** 70n,
      list: [undefined, null, Number.NaN, -0],
    });
    const value = (await storage.get('value')) as Record<string, unknown>;
    const list = value.list as unknown[];
    return {
      mapped: (value.map as Map<number, Set<string>>).get(1)!.has('a'),
      date: (value.date as Date).getTime(),
      bytes: [...(value.bytes as Uint8Array)],
      big: value.big === 2n ** 70n,
      list: [
        list[0] === undefined,
        list[1] === null,
        Number.isNaN(list[2]),
        Object.is(list[3], -0),
      ],
      missing: (await storage.get('missing')) === undefined,
    };
  });
  expect(seen).toEqual({
    mapped: true,
    date: 5,
    bytes: [1, 2, 3],
    big: true,
    list: [true, true, true, true],
    missing: true,
  });
});

test('[KV2] many keys are put, read and deleted in one call each, and read in order of UTF-8', async ({
  storagePage,
}) => {
  const seen = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('many');
    await storage.put({ b: 2, a: 1, '\u{ffff}': 3, '\u{1f600}': 4 });
    const some = await storage.get(['b', 'missing', 'a']);
    const all = await storage.list<number>();
    const deleted = await storage.delete(['a', 'b', 'missing']);
    return {
      some: [...some],
      all: [...all.values()],
      deleted,
      one: [await storage.delete('\u{ffff}'), await storage.delete('\u{ffff}')],
      left: [...(await storage.list()).keys()],
    };
  });
  expect(seen).toEqual({
    some: [
      ['a', 1],
      ['b', 2],
    ],
    all: [1, 2, 3, 4],
    deleted: 2,
    one: [true, false],
    left: ['\u{1f600}'],
  });
});

test('[KV8] list takes a prefix, both bounds, a limit and the reverse order', {
  tag: [LONG, RELEASE],
}, async ({ storagePage }) => {
  const keys = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('list');
    await storage.put({ 'a:1': 1, 'a:2': 2, 'a:3': 3, 'a:4': 4, b: 5 });
    const keysOf = async (options: Parameters<typeof storage.list>[0]) =>
      [...(await storage.list(options)).keys()].join(' ');
    return [
      await keysOf({ prefix: 'a:' }),
      await keysOf({ start: 'a:2', end: 'a:4' }),
      await keysOf({ startAfter: 'a:2', limit: 1 }),
      await keysOf({ prefix: 'a:', reverse: true, limit: 2 }),
    ];
  });
  expect(keys).toEqual(['a:1 a:2 a:3 a:4', 'a:2 a:3', 'a:3', 'a:4 a:3']);
});

test('[PAGE9] kv mirrors the synchronous keys, and is the same data', {
  tag: [LONG, RELEASE],
}, async ({ storagePage }) => {
  const seen = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('kv');
    await storage.kv.put('a', 1);
    await storage.put('b', 2);
    const listed: [string, unknown][] = [];
    for await (const entry of storage.kv.list()) listed.push(entry);
    return [
      await storage.get('a'),
      await storage.kv.get('b'),
      await storage.kv.delete('a'),
      listed,
    ];
  });
  expect(seen).toEqual([
    1,
    2,
    true,
    [
      ['a', 1],
      ['b', 2],
    ],
  ]);
});

test('[ID5] objects of different names hold different data', { tag: LONG }, async ({
  storagePage,
}) => {
  const seen = await storagePage.evaluate(async () => {
    const [one, two] = await Promise.all([
      window.api.openStorage('one'),
      window.api.openStorage('two'),
    ]);
    await one.put('key', 'of one');
    return [await one.get('key'), (await two.get('key')) ?? null];
  });
  expect(seen).toEqual(['of one', null]);
});

test('[KV9] deleteAll empties keys and tables, and leaves the alarm', {
  tag: [LONG, RELEASE],
}, async ({ storagePage }) => {
  const seen = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('empty');
    const alarmMs = Date.now() + 3_600_000;
    await storage.put('a', 1);
    await storage.sql.exec('CREATE TABLE t (x)').ready;
    await storage.setAlarm(alarmMs);
    await storage.deleteAll();
    const tables = await storage.sql.exec('SELECT name FROM sqlite_master').toArray();
    return {
      keys: (await storage.list()).size,
      tables: tables.map(({ name }) => name).filter((name) => !String(name).startsWith('_cf_')),
      isAlarmKept: (await storage.getAlarm()) === alarmMs,
    };
  });
  expect(seen).toEqual({ keys: 0, tables: [], isAlarmKept: true });
});

test('[AL1] an alarm is set by number or Date, read back and deleted', {
  tag: [LONG, RELEASE],
}, async ({ storagePage }) => {
  const seen = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('alarm');
    const alarmMs = Date.now() + 3_600_000;
    const none = await storage.getAlarm();
    await storage.setAlarm(alarmMs);
    const byNumber = (await storage.getAlarm()) === alarmMs;
    await storage.setAlarm(new Date(alarmMs + 1));
    const byDate = (await storage.getAlarm()) === alarmMs + 1;
    await storage.deleteAlarm();
    return [none, byNumber, byDate, await storage.getAlarm()];
  });
  expect(seen).toEqual([null, true, true, null]);
});

test("[PTX1] a transaction commits keys and rows together and returns its closure's result", async ({
  storagePage,
}) => {
  const seen = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('commit');
    await storage.sql.exec('CREATE TABLE t (x)').ready;
    const result = await storage.transaction(async (txn) => {
      await txn.put('a', 1);
      await storage.sql.exec('INSERT INTO t VALUES (1)').ready;
      return (await txn.get<number>('a'))! + 1;
    });
    const rows = await storage.sql.exec('SELECT x FROM t').toArray();
    return [result, await storage.get('a'), rows];
  });
  expect(seen).toEqual([2, 1, [{ x: 1 }]]);
});

test('[PTX1] a transaction whose closure throws, or that is rolled back, leaves nothing', {
  tag: REST,
}, async ({ storagePage }) => {
  const seen = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('rollback');
    await storage.put('a', 'old');
    const own = new RangeError('mine');
    const thrown = await storage
      .transaction(async (txn) => {
        await txn.put('a', 'new');
        throw own;
      })
      .catch((error: unknown) => error);
    const afterThrow = await storage.get('a');
    const late = await storage.transaction(async (txn) => {
      await txn.put('a', 'newer');
      txn.rollback();
      return await txn.get('a').then(
        () => 'worked',
        (error: { code: string }) => error.code,
      );
    });
    return [thrown === own, afterThrow, late, await storage.get('a')];
  });
  expect(seen).toEqual([true, 'old', 'TRANSACTION_ENDED', 'old']);
});

test('[SES5] transactions of two handles on one object do not mix', {
  tag: [REST, RELEASE],
}, async ({ storagePage }) => {
  const count = await storagePage.evaluate(async () => {
    const handles = await Promise.all([
      window.api.openStorage('counter'),
      window.api.openStorage('counter'),
    ]);
    const increment = (storage: (typeof handles)[number]) =>
      storage.transaction(async (txn) => {
        const count = (await txn.get<number>('count')) ?? 0;
        await txn.put('count', count + 1);
      });
    await Promise.all([0, 1, 0, 1, 0, 1, 0, 1].map((i) => increment(handles[i]!)));
    return await handles[0].get('count');
  });
  expect(count).toBe(8);
});
