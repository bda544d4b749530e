// Random statements over two tables, of schemas that are random too.

import fc from 'fast-check';
import type { Step } from './step.ts';

/** The statements of which one creates the table `t`. */
const TABLES = [
  'CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b, c REAL)',
  'CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, a UNIQUE, b INT, c)',
  'CREATE TABLE t(id TEXT PRIMARY KEY, a, b, c) WITHOUT ROWID',
  "CREATE TABLE t(id, a NOT NULL DEFAULT 7, b CHECK (b IS NULL OR typeof(b) <> 'blob'), c)",
];
const REFERRING = 'CREATE TABLE u(id INTEGER PRIMARY KEY, a, b, c REFERENCES u(id))';
const EXTRAS = [
  'CREATE INDEX t_a ON t(a)',
  'CREATE UNIQUE INDEX u_ab ON u(a, b)',
  'CREATE INDEX t_part ON t(b) WHERE b > 2',
  'CREATE VIEW v AS SELECT id, a FROM t WHERE b IS NOT NULL',
  "CREATE TRIGGER t_log AFTER INSERT ON t BEGIN INSERT INTO u(a) VALUES (new.a || '!'); END",
  'CREATE TRIGGER t_del AFTER DELETE ON t BEGIN UPDATE u SET b = 0 WHERE a = old.a; END',
];

export const schemas: fc.Arbitrary<Step[]> = fc
  .tuple(fc.constantFrom(...TABLES), fc.subarray(EXTRAS))
  .map(([table, extras]) => [table, REFERRING, ...extras].map((sql) => exec(sql)));

/** Steps that read everything. */
export const READ_TABLES = ['t', 'u'].map((table) =>
  exec(`SELECT * FROM ${table} ORDER BY 1, 2, 3`, [], 'raw'),
);

function exec(sql: string, bindings: readonly unknown[] = [], read = 'all'): Step {
  return { op: 'exec', sql, bindings, read };
}

// ---- Parts of statements.

/** Text with random parts. */
function text(fixed: TemplateStringsArray, ...parts: fc.Arbitrary<unknown>[]) {
  return fc.tuple(...parts).map((values) => String.raw({ raw: fixed }, ...values));
}

const tables = fc.constantFrom('t', 'u');
const columns = fc.constantFrom('id', 'a', 'b', 'c');
const conditions = text`${columns} ${fc.constantFrom('=', '<', '>=', '<>', 'IS', 'LIKE')} ?`;
const smallNumbers = fc.nat(8);

const bindings: fc.Arbitrary<unknown> = fc.oneof(
  fc.nat(5),
  fc.nat(5).map((whole) => whole + 0.5),
  fc.constantFrom('x', 'y', 'é', '3', ''),
  fc.constant(null),
  fc.boolean(),
  fc.nat(2).map((byte) => ['bytes', [byte]]),
  fc.constant(['bigint', '5']),
);

/** JSON in JSON: whether a subquery's JSON is nested or quoted depends on the version of SQLite. */
const nestedJson = jsonWithin(2);

/** Columns that both tables of a join have. */
const joins = fc.constantFrom('JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN');
const joined = fc.oneof(
  text`t ${joins} u USING (${fc.constantFrom('a', 'id', 'id, a', 'b')})`,
  text`U NATURAL ${joins} "t"`,
  text`t NATURAL ${joins} (SELECT id, b FROM u)`,
  text`(SELECT a FROM u) JOIN T USING (a) NATURAL ${joins} u`,
);
const results = fc.constantFrom('count(*)', 'count(*), max(a)', 'total(id), count(b)');

function jsonWithin(depth: number): fc.Arbitrary<string> {
  const scalars = fc.constantFrom('a', 'id', "'x'", "json('[1]')", "json_quote('y')");
  const inner: fc.Arbitrary<string> =
    depth === 0
      ? scalars
      : fc.oneof(
          { weight: 3, arbitrary: scalars },
          { weight: 7, arbitrary: text`(${jsonWithin(depth - 1)})` },
        );
  const json = fc.oneof(
    text`json_object('k', ${inner})`,
    text`json_array(1, ${inner})`,
    text`json_group_array(${inner})`,
    text`json_group_object(coalesce(id, 0), ${inner})`,
    text`json_set('{}', '$.n', ${inner})`,
    text`coalesce(${inner}, json_array())`,
  );
  const sources = fc.constantFrom('u', 't', '(SELECT id, a FROM u ORDER BY id LIMIT 2)');
  return text`SELECT ${json} AS j FROM ${sources} ORDER BY id LIMIT 2`;
}

// ---- Statements.

/** A statement with its bindings, read in one of these ways. */
function execs(
  sql: fc.Arbitrary<string>,
  values: readonly fc.Arbitrary<unknown>[] = [],
  reads: readonly string[] = ['all', 'raw'],
): fc.Arbitrary<Step> {
  return fc
    .tuple(sql, fc.tuple(...values), fc.constantFrom(...reads))
    .map(([statement, bound, read]) => exec(statement, bound, read));
}

const inserts = fc.constantFrom(
  'INSERT',
  'INSERT',
  'INSERT OR IGNORE',
  'REPLACE',
  'INSERT OR ABORT',
);
const RAW = ['raw'];
const ALL = ['all'];

/** Statements that read values, structure or mistakes rather than tables. */
const others = fc.oneof(
  execs(
    fc.constant('SELECT ?, typeof(?), ? + 1, quote(?)'),
    [bindings, bindings, smallNumbers, fc.constantFrom('x', null, 1)],
    RAW,
  ),
  execs(
    fc.constant(
      'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < ?) SELECT sum(x), max(x) FROM c',
    ),
    [fc.constant(5)],
    RAW,
  ),
  execs(fc.constant('SELECT a, row_number() OVER (ORDER BY id) AS r FROM u ORDER BY id'), [], RAW),
  { weight: 2, arbitrary: execs(nestedJson, [], RAW) },
  execs(fc.constantFrom('SELECT * FROM missing', 'SELEC'), [], ALL),
  execs(fc.constantFrom('SELECT * FROM _cf_KV', 'BEGIN'), [], ALL),
  fc.constant<Step>({ op: 'size' }),
);

export const sqlSteps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: execs(text`${inserts} INTO ${tables}(id, a, b) VALUES (?, ?, ?)`, [
      fc.option(smallNumbers, { freq: 1 }),
      bindings,
      fc.oneof({ weight: 4, arbitrary: smallNumbers as fc.Arbitrary<unknown> }, bindings),
    ]),
  },
  execs(text`INSERT INTO ${tables}(a, b) SELECT a, b FROM u WHERE id < ? RETURNING *`, [bindings]),
  execs(
    fc.constant(
      'INSERT INTO u(id, a) VALUES (?, ?) ON CONFLICT DO UPDATE SET a = excluded.a, b = id RETURNING id, a',
    ),
    [fc.nat(5), bindings],
  ),
  execs(text`UPDATE ${tables} SET ${fc.constantFrom('a', 'b')} = ? WHERE ${conditions}`, [
    bindings,
    bindings,
  ]),
  execs(text`DELETE FROM ${tables} WHERE ${conditions}`, [bindings]),
  execs(text`DELETE FROM u ORDER BY id DESC LIMIT ${fc.constantFrom(1, 2)}`),
  tables.map((table): Step => {
    return {
      op: 'open',
      id: 'cursor',
      sql: `SELECT * FROM ${table} ORDER BY 1, 2, 3`,
      bindings: [],
    };
  }),
  fc.constant<Step>({ op: 'rest', id: 'cursor' }),
  execs(
    text`SELECT *, typeof(a) AS k FROM ${tables} WHERE ${conditions} ORDER BY 1, 2, 3`,
    [bindings],
    ['all', 'raw', 'one'],
  ),
  execs(
    text`SELECT t.id, count(*) AS n, sum(u.b), group_concat(u.a) FROM t LEFT JOIN u ON t.a = u.a GROUP BY t.id${fc.constantFrom('', '', ' ORDER BY 1')}`,
    [],
    RAW,
  ),
  execs(text`SELECT ${results} FROM ${joined}`, [], RAW),
  execs(text`SELECT id FROM u WHERE EXISTS (SELECT 1 FROM ${joined}) ORDER BY 1`, [], RAW),
  others,
);
