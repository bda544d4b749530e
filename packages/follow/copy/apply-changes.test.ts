// Tests how the changes of a server are applied to a copy.

import { afterEach, describe, expect, test } from 'vitest';
import { NO_FOLLOWERS } from '../../../worker/objects/host/followers.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { createTestHost } from '../../testing/worker/test-host.ts';
import type { Changes, SentCell, TableChanges } from '../changes/changes.ts';
import { encodeChanges } from '../changes/changes-bytes.ts';
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

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const NOTHING: Changes = {
  isWiped: false,
  schema: null,
  tables: [],
  sequences: null,
  kv: [],
  kvGone: [],
};

/** Returns a copy to which the test applies changes one after the other. */
async function copyOf() {
  const world = await createTestHost({}, { Room });
  const { host } = world;
  host.followers = { ...NO_FOLLOWERS, classNames: new Set(['Room']) };
  const address = world.address();
  const base = await Base.open(host, address);
  ends.push(async () => {
    base.close();
    await world.close();
  });
  let id = 0;
  const mark = () => ({ position: { id: ++id, life: 1 }, last: 0 });
  return {
    apply: (changes: Partial<Changes>) =>
      base.apply(encodeChanges({ ...NOTHING, ...changes }), mark()),
    replace: (parts: Partial<Changes>[], changes: Partial<Changes>) =>
      base.replace(
        parts.map((part) => encodeChanges({ ...NOTHING, ...part })),
        encodeChanges({ ...NOTHING, ...changes }),
        mark(),
      ),
    rows: (query: string) =>
      host.deliver(address, ({ storage }) => [...storage.exec(query, []).raw()]),
  };
}

const tableOf = (
  keys: readonly string[],
  columns: readonly string[],
  rows: readonly (readonly SentCell[])[],
  more: Partial<TableChanges> = {},
): TableChanges => ({ name: 't', keys, columns, isWhole: false, gone: [], rows, ...more });

const table = (sql: string, name = 't') => ({ type: 'table' as const, name, sql });

test('[FOLC9] of a row that was written meanwhile the newer one counts: keys of other types are other keys', async () => {
  const copy = await copyOf();
  const [k, v] = [['k'], ['k', 'v']];
  const keys: SentCell[] = [
    1n,
    '1',
    new Uint8Array([49]),
    new Uint8Array([1]),
    2.5,
    '2.5',
    '',
    'x',
  ];
  const partOf = (some: SentCell[]) =>
    tableOf(
      k,
      v,
      some.map((key) => [key, 'part']),
    );
  const schema = [table('CREATE TABLE t (k PRIMARY KEY, v) WITHOUT ROWID')];
  const parts = [
    { isWiped: true, schema, tables: [partOf(keys.slice(0, 3))] },
    { tables: [partOf(keys.slice(3))] },
  ];
  const rows = ['1', new Uint8Array([1]), 2.5].map((key) => [key, 'cut']);
  const cut = tableOf(k, v, rows, { gone: [['x'], [new Uint8Array([7])]] });
  await copy.replace(parts, { tables: [cut] });
  const shown = 'SELECT typeof(k), hex(k), v FROM t ORDER BY typeof(k), hex(k)';
  expect(await copy.rows(shown)).toEqual([
    ['blob', '01', 'cut'],
    ['blob', '31', 'part'],
    ['integer', '31', 'part'],
    ['real', '322E35', 'cut'],
    ['text', '', 'part'],
    ['text', '31', 'cut'],
    ['text', '322E35', 'part'],
  ]);
});

test('[FOLC9] a key is named by its columns in the order of the key, and 1 and 1.0 are one key', async () => {
  const copy = await copyOf();
  const columns = ['v', 'a', 'b'];
  const schema = [
    table('CREATE TABLE t (v, a, b, PRIMARY KEY (b, a)) WITHOUT ROWID'),
    table('CREATE TABLE u (id INTEGER PRIMARY KEY, v)', 'u'),
  ];
  const rows = [
    ['part', 1n, 2n],
    ['part', 2n, 1n],
    ['part', 3n, 4n],
    ['part', 4n, 3n],
  ];
  const other = tableOf(['id'], ['id', 'v'], [[1n, 'of another table']], { name: 'u' });
  const part = { isWiped: true, schema, tables: [tableOf(['b', 'a'], columns, rows), other] };
  const cut = tableOf(['b', 'a'], columns, [['cut', 1, 2]], { gone: [[4n, 3n]] });
  await copy.replace([part], { tables: [cut] });
  expect(await copy.rows('SELECT v, a, b FROM t ORDER BY a')).toEqual([
    ['cut', 1, 2],
    ['part', 2, 1],
    ['part', 4, 3],
  ]);
  expect(await copy.rows('SELECT * FROM u')).toEqual([[1, 'of another table']]);
});

test('[FOLC9] a table that comes whole after the parts takes the place of their rows', async () => {
  const copy = await copyOf();
  const columns = ['id', 'v'];
  const schema = [table('CREATE TABLE t (id INTEGER PRIMARY KEY, v)')];
  const rows = [
    [1n, 'a'],
    [2n, 'b'],
  ];
  const part = { isWiped: true, schema, tables: [tableOf(['id'], columns, rows)] };
  const whole = tableOf(['id'], columns, [[3n, 'c']], { isWhole: true });
  await copy.replace([part], { tables: [whole] });
  expect(await copy.rows('SELECT * FROM t')).toEqual([[3, 'c']]);
});

test('[FOLC1] sequences stay until they are sent, and a wipe leaves none', async () => {
  const copy = await copyOf();
  const schema = [table('CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, v)')];
  const columns = ['id', 'v'];
  await copy.apply({
    schema,
    tables: [tableOf(['id'], columns, [[2n, 'a']])],
    sequences: [
      ['t', 7],
      ['other', 9_007_199_254_740_993n],
    ],
  });
  const sequences = "SELECT name, seq || '' FROM sqlite_sequence ORDER BY name";
  const both = [
    ['other', '9007199254740993'],
    ['t', '7'],
  ];
  expect(await copy.rows(sequences)).toEqual(both);
  await copy.apply({ kv: [['key', new Uint8Array([1])]] });
  await copy.apply({ tables: [tableOf(['id'], columns, [], { gone: [[2n]] })] });
  expect(await copy.rows(sequences)).toEqual(both);
  await copy.apply({ sequences: [['t', 8]] });
  expect(await copy.rows(sequences)).toEqual([['t', '8']]);
  await copy.apply({ sequences: [['other', 8]] });
  await copy.apply({ isWiped: true });
  expect(await copy.rows(sequences)).toEqual([]);
  expect(await copy.rows("SELECT name FROM sqlite_master WHERE name = 't'")).toEqual([]);
});

test('[FOLC1] names with quotes are those of the tables, columns and views', async () => {
  const copy = await copyOf();
  const name = 'we"i""rd';
  const quoted = '"we""i""""rd"';
  const schema = [
    table(`CREATE TABLE ${quoted} ("k""ey" PRIMARY KEY, "v""al") WITHOUT ROWID`, name),
    { type: 'view' as const, name: 'v"w', sql: `CREATE VIEW "v""w" AS SELECT * FROM ${quoted}` },
  ];
  const [keys, columns] = [['k"ey'], ['k"ey', 'v"al']];
  const rows = [
    ['a', 1n],
    ['b', 2n],
  ];
  await copy.apply({ schema, tables: [tableOf(keys, columns, rows, { name })] });
  await copy.apply({ tables: [tableOf(keys, columns, [['b', 3n]], { name, gone: [['a']] })] });
  expect(await copy.rows(`SELECT * FROM ${quoted}`)).toEqual([['b', 3]]);
  await copy.apply({ tables: [tableOf(keys, columns, [['c', 4n]], { name, isWhole: true })] });
  expect(await copy.rows('SELECT * FROM "v""w"')).toEqual([['c', 4]]);
  await copy.apply({ schema: schema.slice(0, 1) });
  const views = "SELECT name FROM sqlite_master WHERE type = 'view'";
  expect(await copy.rows(views)).toEqual([]);
  await copy.apply({ isWiped: true, schema: [] });
  expect(await copy.rows("SELECT name FROM sqlite_master WHERE name LIKE 'we%'")).toEqual([]);
});

test.for<[string, SentCell, SentCell]>([
  ['an integer', 1n, '1'],
  ['a real', 1.5, '1.5'],
  ['a text', '1', 1n],
  ['a blob', new Uint8Array([49]), '1'],
])(
  '[FOLC9] a row of the parts that was written meanwhile gives its unique value free, by its key, %s',
  async ([, key, other]) => {
    const copy = await copyOf();
    const [keys, columns] = [
      ['a', 'b'],
      ['u', 'b', 'a'],
    ];
    const schema = [table('CREATE TABLE t (u UNIQUE, b, a, PRIMARY KEY (a, b)) WITHOUT ROWID')];
    const partOf = (...rows: SentCell[][]) => tableOf(keys, columns, rows);
    const parts = [
      { isWiped: true, schema, tables: [partOf(['x', 1n, key], ['y', 2n, key])] },
      // These rows were read later. By then, the rows above had other unique values.
      { tables: [partOf(['x', 1n, other], ['y', 2n, other], ['z', key, 2n])] },
    ];
    const cut = tableOf(keys, columns, [['new', 1n, key]], { gone: [[key, 2n]] });
    await copy.replace(parts, { tables: [cut] });
    expect(await copy.rows('SELECT u FROM t ORDER BY u')).toEqual([['new'], ['x'], ['y'], ['z']]);
    // Without the changes, the same parts do not fit together.
    await expect(copy.replace(parts, {})).rejects.toMatchObject({ code: 'SQL' });
  },
);

test('[FOLC1] a change of the schema leaves the rows of the tables that stay as they are', async () => {
  const copy = await copyOf();
  const [t, u] = [
    table('CREATE TABLE t (id INTEGER PRIMARY KEY, v)'),
    table('CREATE TABLE u (a)', 'u'),
  ];
  const index = { type: 'index' as const, name: 'i', sql: 'CREATE INDEX i ON t (v)' };
  const rows = [
    [1n, null],
    [2n, new Uint8Array()],
    [3n, 'text'],
  ];
  await copy.apply({ schema: [t], tables: [tableOf(['id'], ['id', 'v'], rows)] });
  await copy.apply({ schema: [t, u, index] });
  await copy.apply({ schema: [t, index] });
  const select = 'SELECT id, typeof(v) FROM t ORDER BY id';
  const kept = [
    [1, 'null'],
    [2, 'blob'],
    [3, 'text'],
  ];
  expect(await copy.rows(select)).toEqual(kept);
  const names = "SELECT name FROM sqlite_master WHERE name IN ('t', 'u', 'i') ORDER BY name";
  expect(await copy.rows(names)).toEqual([['i'], ['t']]);
  // A table with the same name and other columns replaces the earlier one.
  await copy.apply({ schema: [table('CREATE TABLE t (id INTEGER PRIMARY KEY, v, w)')] });
  expect(await copy.rows('SELECT id, w FROM t')).toEqual([]);
});

describe('a server that sends changes of what is not its object', () => {
  const CHANGES = { isWiped: false, sequences: null, kv: [], kvGone: [], schema: null, tables: [] };
  const table = (name: string, columns: string[], row: SentCell[]): Partial<Changes> => ({
    tables: [{ name, keys: [columns[0]!], columns, isWhole: false, rows: [row], gone: [] }],
  });
  const schema = (sql: string): Partial<Changes> => ({
    schema: [{ type: 'table', name: 'more', sql }],
  });

  test.each<[string, Partial<Changes>]>([
    ['the keys', table('_cf_KV', ['key', 'value'], ['k', 'theirs'])],
    ['the metadata', table('_cf_METADATA', ['key', 'value'], [1n, 5n])],
    ['the metadata, in capitals', table('_CF_METADATA', ['key', 'value'], [1n, 5n])],
    ['the mark of the copy', table('_follow_base', ['one', 'last'], [1n, 99n])],
    ['the schema', table('sqlite_schema', ['name', 'sql'], ['item', 'CREATE TABLE item (x)'])],
    ['the sequences as a table', table('sqlite_sequence', ['name', 'seq'], ['item', 9n])],
    ['a text that writes the keys', schema("INSERT INTO _cf_KV VALUES ('k', 'theirs')")],
    ['a text that reads the metadata', schema('CREATE TABLE more AS SELECT * FROM _cf_METADATA')],
    ['a text that attaches a file', schema("ATTACH 'other' AS other")],
    ['a text that ends the transaction', schema('COMMIT')],
  ])('[FOLP32] %s: nothing is applied, and the copy goes on', async (_, changes) => {
    const world = await createTestHost({}, { Room });
    ends.push(() => world.close());
    const { host } = world;
    host.followers = { ...NO_FOLLOWERS, classNames: new Set(['Room']) };
    const base = await Base.open(host, world.address());
    ends.push(async () => base.close());
    const cut = (own: Partial<Changes>) => encodeChanges({ ...CHANGES, ...own } as Changes);
    const sql = 'CREATE TABLE item (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)';
    const item = { type: 'table' as const, name: 'item', sql };
    await base.apply(cut({ schema: [item] }), { position: { id: 1, life: 1 }, last: 0 });
    const contentOf = () =>
      host.deliver(world.address(), ({ storage }) => [
        ...storage.exec('SELECT * FROM _follow_base', []).raw(),
        ...storage.exec('SELECT name, sql FROM sqlite_schema', []).raw(),
        ...storage.exec('SELECT * FROM item', []).raw(),
        storage.currentBookmark(),
      ]);
    const before = await contentOf();
    const more = changes.schema ? { schema: [item, ...changes.schema] } : changes;
    const applied = base.apply(cut(more), { position: { id: 2, life: 1 }, last: 0 });
    await expect(applied).rejects.toMatchObject({ code: expect.stringMatching(/^(INVALID|SQL)/) });
    expect(await contentOf()).toEqual(before);
    await base.apply(cut(table('item', ['id', 'name'], [1n, 'one'])), {
      position: { id: 3, life: 1 },
      last: 0,
    });
    expect(await contentOf()).toContainEqual([1, 'one']);
  });
});
