// StateDifferences between two states of a real database, compared with those found by reading all rows.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { loadSqliteInNode } from '../../../packages/testing/worker/sqlite.ts';
import { TestEnvironment } from '../../../packages/testing/worker/test-log.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { ObjectFiles } from '../log/object-files.ts';
import { differingPages } from '../log/page-layer.ts';
import { valueOfCell } from '../sql/cells.ts';
import type { Database } from '../sql/database.ts';
import { openLogDatabase } from '../storage/databases.ts';
import { type StateDifference, StateDifferences } from './differences.ts';

const EVENTS = { beforeWrite() {}, onCritical() {} };

/** An object whose database the test writes, and of which it opens two moments. */
async function openObject() {
  const files = await ObjectFiles.open(new MemoryDirectory(), new TestEnvironment());
  const sqlite = await loadSqliteInNode();
  const { database, close } = openLogDatabase(sqlite, files, EVENTS);
  const commit = async (...statements: string[]) => {
    database.run('BEGIN');
    for (const sql of statements) database.run(sql);
    database.run('COMMIT');
    await files.flush();
    return files.currentBookmark();
  };
  return {
    database,
    commit,
    bookmark: () => files.currentBookmark(),
    flush: () => files.flush(),
    async differences<T>(
      a: string,
      b: string,
      use: (all: StateDifference[], database: Database, reads: number) => T,
    ): Promise<T> {
      const [before, after] = [await files.openPast(a), await files.openPast(b)];
      let reads = 0;
      const counted = (state: typeof before) => ({
        read: (target: Uint8Array, offset: number) => {
          reads++;
          return state.read(target, offset);
        },
        sizeBytes: () => state.sizeBytes(),
      });
      const opened = openLogDatabase(
        sqlite,
        { file: Object.assign(Object.create(after), counted(after)) },
        EVENTS,
      );
      try {
        opened.attach(Object.assign(Object.create(before), counted(before)), 'earlier');
        const pages = differingPages(before, after);
        const found = new StateDifferences(
          opened.database,
          [counted(before), counted(after)],
          pages,
        );
        const all = [...found.all()];
        return use(all, opened.database, reads);
      } finally {
        opened.close();
        files.closePast(before);
        files.closePast(after);
      }
    },
    async close() {
      close();
      await files.close();
    },
  };
}

/** In words: table, key, before, after. */
function wordsOf(difference: StateDifference): unknown {
  if (difference.kind !== 'row') return difference;
  const { table, key, rowid, before, after } = difference;
  return [
    table,
    key?.map(valueOfCell) ?? Number(rowid),
    before?.map(valueOfCell) ?? null,
    after?.map(valueOfCell) ?? null,
  ];
}

test('[DIFF1] rows that were added, changed and removed are found by their keys, in order', async () => {
  const object = await openObject();
  const a = await object.commit(
    'CREATE TABLE note (id INTEGER PRIMARY KEY, text)',
    "INSERT INTO note VALUES (1, 'a'), (2, 'b'), (3, 'c')",
  );
  const b = await object.commit(
    "UPDATE note SET text = 'B' WHERE id = 2",
    'DELETE FROM note WHERE id = 1',
    "INSERT INTO note VALUES (9, 'z')",
  );
  const found = await object.differences(a, b, (all) => all.map(wordsOf));
  expect(found).toEqual([
    ['note', [1], [1, 'a'], null],
    ['note', [2], [2, 'b'], [2, 'B']],
    ['note', [9], null, [9, 'z']],
  ]);
  await object.close();
});

test('[DIFF2] ten rows of many are found by reading few pages', async () => {
  const object = await openObject();
  const a = await object.commit(
    'CREATE TABLE t (id INTEGER PRIMARY KEY, a, b)',
    'CREATE INDEX t_a ON t (a)',
    'CREATE TABLE n (i)',
    `INSERT INTO n VALUES ${Array.from({ length: 320 }, (_, i) => `(${i})`).join()}`,
    "INSERT INTO t SELECT a.i * 320 + b.i, 'text ' || b.i, a.i FROM n a, n b",
  );
  const b = await object.commit('UPDATE t SET a = a || 1 WHERE id % 10000 = 7777');
  const [count, reads] = await object.differences(a, b, (all, _, reads) => [all.length, reads]);
  expect(count).toBe(10);
  expect(reads).toBeLessThan(400);
  await object.close();
});

const TABLES = [
  'CREATE TABLE t0 (id INTEGER PRIMARY KEY, a, b)',
  'CREATE TABLE t1 (a, b, c)',
  'CREATE TABLE t2 (k TEXT PRIMARY KEY, a)',
  'CREATE TABLE t3 (k TEXT, n REAL, a, PRIMARY KEY (k COLLATE NOCASE DESC, n)) WITHOUT ROWID',
  'CREATE TABLE t4 (k BLOB, n, a, b, PRIMARY KEY (n, k)) WITHOUT ROWID',
  'CREATE TABLE t5 (k INT PRIMARY KEY DESC, a, g AS (length(a)), s AS (k + 1) STORED)',
  'CREATE TABLE _cf_KV ( key TEXT PRIMARY KEY, value BLOB ) WITHOUT ROWID',
];
const KEYS: Readonly<Record<string, readonly string[]>> = {
  t0: ['id'],
  t1: ['rowid'],
  t2: ['k'],
  t3: ['k', 'n'],
  t4: ['n', 'k'],
  t5: ['k'],
  _cf_KV: ['key'],
};

const sizes = fc.constantFrom(0, 1, 5, 40, 300, 1200, 5000, 20000);
const number = fc.integer({ min: 0, max: 60 });
const operation = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('put' as const),
      table: fc.nat(6),
      n: number,
      size: sizes,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('remove' as const),
      table: fc.nat(6),
      n: number,
      size: sizes,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('same size' as const),
      table: fc.nat(6),
      n: number,
      size: sizes,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('many' as const),
      table: fc.nat(6),
      n: number,
      size: fc.constantFrom(0, 5, 40, 300),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('clear' as const),
      table: fc.nat(6),
      n: number,
      size: sizes,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('index' as const),
      table: fc.constant(0),
      n: number,
      size: sizes,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('alter' as const),
      table: fc.nat(5),
      n: number,
      size: sizes,
    }),
  },
);

function statementOf(
  { kind, table, n, size }: { kind: string; table: number; n: number; size: number },
  seed: number,
): string {
  const text = (at: number) =>
    `substr(hex(${at + seed}) || printf('%.*c', ${size}, 'x'), 1, ${size})`;
  const row = (at: string) =>
    [
      `INSERT OR REPLACE INTO t0 (id, a, b) SELECT ${at}, ${text(n)}, ${seed}`,
      `INSERT INTO t1 (a, b, c) SELECT ${at}, ${text(n)}, NULL`,
      `INSERT OR REPLACE INTO t2 (k, a) SELECT nullif('k' || (${at}), 'k7'), ${text(n)}`,
      `INSERT OR REPLACE INTO t3 (k, n, a) SELECT char(65 + 32 * (${seed} % 2) + (${at}) % 26) || printf('%.*c', ${size} / 4, 'y'), ${at} / 2.0, ${text(n)}`,
      `INSERT OR REPLACE INTO t4 (k, n, a, b) SELECT x'0${n % 9}', CASE ${n} % 3 WHEN 0 THEN ${at} WHEN 1 THEN 'n' || (${at}) ELSE ${at} + 0.5 END, ${text(n)}, ${seed}`,
      `INSERT OR REPLACE INTO t5 (k, a) SELECT nullif(${at}, 9), ${text(n)}`,
      `INSERT OR REPLACE INTO _cf_KV (key, value) SELECT 'key' || (${at}), CAST(${text(n)} AS BLOB)`,
    ][table]!;
  const name = Object.keys(KEYS)[table]!;
  switch (kind) {
    case 'put':
      return row(String(n));
    case 'many':
      return `${row('i')} FROM n WHERE i BETWEEN ${n} AND ${n} + 200`;
    case 'remove':
      return `DELETE FROM ${name} WHERE rowid_of % 5 = ${n % 5}`.replace(
        'rowid_of',
        `length(quote(${KEYS[name]![0]})) + ${n}`,
      );
    case 'same size': {
      const column = name === '_cf_KV' ? 'value' : 'a';
      return `UPDATE ${name} SET ${column} = CAST(substr(${column}, 1, max(0, length(${column}) - 2)) || '${10 + (seed % 80)}' AS ${name === '_cf_KV' ? 'BLOB' : 'TEXT'}) WHERE length(${column}) > 2 AND length(quote(${KEYS[name]![0]})) % 3 = ${n % 3}`;
    }
    case 'clear':
      return n < 20 ? `DELETE FROM ${name}` : 'SELECT 1';
    case 'index':
      return n % 2
        ? 'CREATE INDEX IF NOT EXISTS i0 ON t0 (a, b DESC)'
        : 'CREATE INDEX IF NOT EXISTS i1 ON t1 (b)';
    default:
      return n < 12 ? `ALTER TABLE ${name} ADD COLUMN more${seed} DEFAULT 5` : 'SELECT 1';
  }
}

/** All rows of a state, by table and key; values with their types. */
function rowsOf(
  database: Database,
  schema: string,
): Map<string, { all: string; shared: (names: string[]) => string }> {
  const found = new Map<string, { all: string; shared: (names: string[]) => string }>();
  for (const [table, key] of Object.entries(KEYS)) {
    const info = database.statement(`SELECT name FROM pragma_table_xinfo('${table}', '${schema}')`);
    const columns: string[] = [];
    while (info.step()) columns.push(info.columnText(0));
    if (columns.length === 0) continue;
    const hasRowid = !['t3', 't4', '_cf_KV'].includes(table);
    const sql = `SELECT ${[...columns, ...(hasRowid ? ['rowid'] : [])].map((c) => `quote(${c})`).join(', ')} FROM ${schema}.${table}`;
    const rows = database.statement(sql);
    while (rows.step()) {
      const values = columns.map((_, i) => rows.columnText(i));
      const of = (name: string) =>
        name === 'rowid' ? rows.columnText(columns.length) : values[columns.indexOf(name)]!;
      let id = key.map(of).join(',');
      if (id === 'NULL') id = `rowid ${of('rowid')}`;
      if (table === 't3') id = id.toLowerCase();
      const byName = new Map(columns.map((c, i) => [c, values[i]!]));
      found.set(`${table} ${id}`, {
        all: values.join('|'),
        shared: (names) => names.map((name) => byName.get(name)).join('|'),
      });
    }
  }
  return found;
}

test('[DIFF3] the rows that differ are exactly those that differ when all are read, whatever happened in between', {
  tags: 'long',
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(operation, { maxLength: 25 }),
      fc.array(operation, { minLength: 1, maxLength: 8 }),
      fc.array(operation, { maxLength: 5 }),
      async (first, between, later) => {
        const object = await openObject();
        let seed = 0;
        const run = async (operations: typeof first) => {
          for (const each of operations) await object.commit(statementOf(each, ++seed));
          return object.bookmark();
        };
        await object.commit(
          ...TABLES,
          'CREATE TABLE n (i)',
          `INSERT INTO n VALUES ${Array.from({ length: 300 }, (_, i) => `(${i})`).join()}`,
        );
        const a = await run(first);
        const b = await run(between);
        await run(later);
        await object.differences(a, b, (all, database) => {
          const before = rowsOf(database, 'earlier');
          const after = rowsOf(database, 'main');
          const expected: string[] = [];
          for (const key of new Set([...before.keys(), ...after.keys()])) {
            const [old, now] = [before.get(key), after.get(key)];
            const table = key.split(' ')[0]!;
            const names = (schema: string) => {
              const info = database.statement(
                `SELECT name FROM pragma_table_xinfo('${table}', '${schema}')`,
              );
              const columns: string[] = [];
              while (info.step()) columns.push(info.columnText(0));
              return columns;
            };
            const shared = names('earlier').filter((name) => names('main').includes(name));
            if (old?.shared(shared) !== now?.shared(shared)) expected.push(key);
          }
          const keys = all.flatMap((one) => {
            if (one.kind !== 'row') return [];
            const literal = (value: unknown, real: boolean) =>
              value instanceof ArrayBuffer
                ? `X'${Buffer.from(value).toString('hex').toUpperCase()}'`
                : typeof value === 'string'
                  ? `'${value}'`
                  : real && Number.isInteger(value)
                    ? `${value}.0`
                    : String(value);
            const cells = one.key;
            let id =
              cells === null
                ? one.table === 't1'
                  ? String(one.rowid)
                  : `rowid ${one.rowid}`
                : cells.map((cell) => literal(valueOfCell(cell), cell[0] === 2)).join(',');
            if (one.table === 't3') id = id.toLowerCase();
            return [`${one.table} ${id}`];
          });
          expect([...keys].sort()).toEqual(expected.sort());
        });
        await object.close();
      },
    ),
    { numRuns: 60 },
  );
});
