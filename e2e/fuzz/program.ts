// Random programs over the storage, as JSON. Every choice comes from the seed.
//
// Left out on purpose:
//   what docs/compatibility.md lists as different: limits, an unread RETURNING
//   rowsRead, and writes to an index on an expression: the SQLite of the workerd that is compared
//   with is older, and counts some that the newer one need not make
//   databaseSize after deleteAll, where workerd has an empty table of its own, and beside errors,
//   whose stacks are longer or shorter
//   kv.list held across a rollback: workerd may start it again

import { Random } from './random.ts';

/** A step as e2e/fuzz/interpreter.mjs runs it. */
export interface Step {
  readonly op: string;
  readonly steps?: readonly Step[];
  readonly [member: string]: unknown;
}

const KEYS = ['a', 'b', 'aa', 'ab', 'é', '\u{1F600}', '\uFF5E', '', 'z\0', '10', '9', '__proto__'];
const COLUMNS = ['id', 'a', 'b', 'c'];
const FAR = 4_000_000_000_000;

export function makeProgram(seed: number): Step[] {
  const random = new Random(seed);
  const withSql = random.chance(0.7);
  const steps = withSql ? schema(random) : [];
  const count = 5 + random.below(25);
  for (let i = 0; i < count; i++) steps.push(step(random, withSql, 0));
  steps.push({ op: 'list', options: {} }, { op: 'getAlarm' });
  if (withSql)
    steps.push(...['t', 'u'].map((name) => select(`SELECT * FROM ${name} ORDER BY 1, 2, 3`)));
  return without(steps, [
    ...(has(steps, ({ op }) => op === 'deleteAll') || holdsError(steps) ? ['size'] : []),
    ...(has(steps, ({ end }) => end === 'throw' || end === 'rollback') ? ['walk', 'step'] : []),
  ]);
}

function holdsError(steps: readonly Step[]): boolean {
  return JSON.stringify(steps).includes('["error",');
}

function has(steps: readonly Step[], wanted: (step: Step) => boolean): boolean {
  return steps.some((step) => wanted(step) || has(step.steps ?? [], wanted));
}

function without(steps: readonly Step[], ops: readonly string[]): Step[] {
  return steps
    .filter(({ op }) => !ops.includes(op))
    .map((step) => (step.steps ? { ...step, steps: without(step.steps, ops) } : step));
}

function step(random: Random, withSql: boolean, depth: number): Step {
  if (depth < 2 && random.chance(0.12)) return transaction(random, withSql, depth);
  if (withSql && random.chance(0.55)) return sql(random);
  return keyValue(random, depth);
}

function transaction(random: Random, withSql: boolean, depth: number): Step {
  const op = random.chance(0.5) ? 'transaction' : 'transactionSync';
  const ends = op === 'transaction' ? ['commit', 'throw', 'rollback'] : ['commit', 'throw'];
  const steps = random.times(1 + random.below(5), () => step(random, withSql, depth + 1));
  // A section inside a synchronous one would begin after it; that is another program.
  const isFit = (inner: Step) => op === 'transaction' || inner.op !== 'transaction';
  return { op, end: random.pick(ends), steps: steps.filter(isFit) };
}

function keyValue(random: Random, depth: number): Step {
  const key = () => random.pick(KEYS);
  const keys = () => (random.chance(0.5) ? key() : random.times(random.below(5), key));
  switch (random.below(depth > 0 ? 14 : 17)) {
    case 0:
    case 1:
    case 2:
      return { op: 'put', key: key(), value: value(random, 0) };
    case 3:
      return {
        op: 'putMany',
        entries: random.times(random.below(5), () => [key(), value(random, 0)]),
      };
    case 4:
    case 5:
      return { op: 'get', keys: keys() };
    case 6:
      return { op: 'delete', keys: keys() };
    case 7:
      return { op: 'list', options: listOptions(random) };
    case 8:
      return { op: 'kvPut', key: key(), value: value(random, 0) };
    case 9:
      return { op: 'kvGet', key: key() };
    case 10:
      return { op: 'kvDelete', key: key() };
    case 11:
      return { op: 'kvList', options: listOptions(random) };
    case 12:
      return { op: 'walk', id: 'walk', options: listOptions(random) };
    case 13:
      return { op: 'step', id: 'walk' };
    case 14:
      return random.chance(0.3)
        ? { op: 'deleteAll' }
        : { op: 'setAlarm', time: FAR + random.below(1000) };
    case 15:
      return { op: random.pick(['getAlarm', 'deleteAlarm', 'sync', 'tick']) };
    default:
      return { op: 'sync' };
  }
}

function listOptions(random: Random): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  if (random.chance(0.3)) options[random.pick(['start', 'startAfter'])] = random.pick(KEYS);
  if (random.chance(0.3)) options.end = random.pick(KEYS);
  if (random.chance(0.3)) options.prefix = random.pick(KEYS);
  if (random.chance(0.3)) options.reverse = random.pick([true, false, 'x', 0]);
  if (random.chance(0.3)) options.limit = random.pick([1, 2, 3, 2.5, '2', 0, -1, null, 'x', true]);
  return options;
}

function value(random: Random, depth: number): unknown {
  const inner = () => value(random, depth + 1);
  const some = <T>(make: () => T) => random.times(random.below(4), make);
  const byte = () => random.below(256);
  const plain: (() => unknown)[] = [
    () => random.below(2 ** 31) - 2 ** 30,
    () => random.next() * 1e6,
    () => random.pick(['', 'text', 'é', '\u{1F600}', 'a\0b', '\ud800']),
    () => random.pick([true, false, null]),
    () => ['number', random.pick(['NaN', 'Infinity', '-0', '1e300'])],
    () => ['bigint', String(random.below(1e9) * (random.chance(0.5) ? 1 : -1e9))],
    () => ['date', random.below(2 ** 31)],
    () => ['regexp', random.pick(['a+', 'é', '(x)'])],
    () => ['bytes', some(byte)],
    () => ['floats', some(() => random.next())],
    () => ['buffer', some(byte)],
    () => ['view', [1, 2, 3]],
    () => ['error', 'message'],
    () => ['boxed', random.pick([1, 'x', true])],
    () => ['circle', 'c'],
    () => ['holes', 1 + random.below(9)],
    () => ['text', random.pick(['abc ', 'é€'])],
    () => (random.chance(0.2) ? ['function', 1] : 0),
  ];
  if (depth < 3 && random.chance(0.35)) {
    return random.pick<() => unknown>([
      () => ['list', some(inner)],
      () => ['object', some(() => [random.pick(['x', 'y', '1', 'é']), inner()])],
      () => ['map', some(() => [inner(), inner()])],
      () => ['set', some(inner)],
      () => ['list', [['undefined'], inner()]],
    ])();
  }
  return random.pick(plain)();
}

// ---- SQL.

function schema(random: Random): Step[] {
  const kind = random.pick([
    'CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b, c REAL)',
    'CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, a UNIQUE, b INT, c)',
    'CREATE TABLE t(id TEXT PRIMARY KEY, a, b, c) WITHOUT ROWID',
    "CREATE TABLE t(id, a NOT NULL DEFAULT 7, b CHECK (b IS NULL OR typeof(b) <> 'blob'), c)",
  ]);
  const steps = [
    run(kind),
    run('CREATE TABLE u(id INTEGER PRIMARY KEY, a, b, c REFERENCES u(id))'),
  ];
  const extras = [
    'CREATE INDEX t_a ON t(a)',
    'CREATE UNIQUE INDEX u_ab ON u(a, b)',
    'CREATE INDEX t_part ON t(b) WHERE b > 2',
    'CREATE VIEW v AS SELECT id, a FROM t WHERE b IS NOT NULL',
    "CREATE TRIGGER t_log AFTER INSERT ON t BEGIN INSERT INTO u(a) VALUES (new.a || '!'); END",
    'CREATE TRIGGER t_del AFTER DELETE ON t BEGIN UPDATE u SET b = 0 WHERE a = old.a; END',
  ];
  for (const extra of extras) if (random.chance(0.3)) steps.push(run(extra));
  return steps;
}

function run(text: string, ...bindings: unknown[]): Step {
  return { op: 'exec', sql: text, bindings, read: 'all' };
}

function select(text: string, ...bindings: unknown[]): Step {
  return { op: 'exec', sql: text, bindings, read: 'raw' };
}

/** JSON in JSON: a subquery's JSON is nested as such, or quoted as text, by SQLite's version. */
function nestedJson(random: Random, depth: number): string {
  const inner = () => {
    const scalar = random.pick(['a', 'id', "'x'", "json('[1]')", "json_quote('y')"]);
    return depth < 2 && random.chance(0.7) ? `(${nestedJson(random, depth + 1)})` : scalar;
  };
  const table = random.pick(['u', 't', '(SELECT id, a FROM u ORDER BY id LIMIT 2)']);
  const json = random.pick([
    () => `json_object('k', ${inner()})`,
    () => `json_array(1, ${inner()})`,
    () => `json_group_array(${inner()})`,
    () => `json_group_object(coalesce(id, 0), ${inner()})`,
    () => `json_set('{}', '$.n', ${inner()})`,
    () => `coalesce(${inner()}, json_array())`,
  ])();
  return `SELECT ${json} AS j FROM ${table} ORDER BY id LIMIT 2`;
}

function sql(random: Random): Step {
  const table = random.pick(['t', 'u']);
  const column = () => random.pick(COLUMNS);
  const binding = () =>
    random.pick<() => unknown>([
      () => random.below(6),
      () => random.below(6) + 0.5,
      () => random.pick(['x', 'y', 'é', '3', '']),
      () => null,
      () => random.pick([true, false]),
      () => ['bytes', [random.below(3)]],
      () => ['bigint', '5'],
    ])();
  const where = () => `${column()} ${random.pick(['=', '<', '>=', '<>', 'IS', 'LIKE'])} ?`;
  const order = () => random.pick(['', '', ` ORDER BY ${column()} DESC, 1, 2, 3`]);
  const written = (text: string, ...bindings: unknown[]): Step => ({
    op: 'exec',
    sql: text,
    bindings,
    read: random.pick(['all', 'raw']),
  });
  switch (random.below(13)) {
    case 0:
    case 1:
    case 2: {
      const how = random.pick([
        'INSERT',
        'INSERT',
        'INSERT OR IGNORE',
        'REPLACE',
        'INSERT OR ABORT',
      ]);
      return written(
        `${how} INTO ${table}(id, a, b) VALUES (?, ?, ?)`,
        random.chance(0.5) ? null : random.below(9),
        binding(),
        random.chance(0.8) ? random.below(9) : binding(),
      );
    }
    case 3:
      return written(
        `INSERT INTO ${table}(a, b) SELECT a, b FROM u WHERE id < ? RETURNING *`,
        binding(),
      );
    case 4:
      return written(
        `INSERT INTO u(id, a) VALUES (?, ?) ON CONFLICT DO UPDATE SET a = excluded.a, b = id RETURNING id, a`,
        random.below(6),
        binding(),
      );
    case 5:
      return written(
        `UPDATE ${table} SET ${random.pick(['a', 'b'])} = ? WHERE ${where()}`,
        binding(),
        binding(),
      );
    case 6:
      return written(`DELETE FROM ${table} WHERE ${where()}`, binding());
    case 7:
      return written(`DELETE FROM u ORDER BY id DESC LIMIT ${1 + random.below(2)}`);
    case 8:
      return {
        op: 'open',
        id: 'cursor',
        sql: `SELECT * FROM ${table} ORDER BY 1, 2, 3`,
        bindings: [],
      };
    case 9:
      return { op: 'rest', id: 'cursor' };
    case 10:
      return {
        op: 'exec',
        sql: `SELECT *, typeof(a) AS k FROM ${table} WHERE ${where()} ORDER BY 1, 2, 3`,
        bindings: [binding()],
        read: random.pick(['all', 'raw', 'one']),
      };
    case 11:
      return select(
        `SELECT t.id, count(*) AS n, sum(u.b), group_concat(u.a) FROM t LEFT JOIN u ON t.a = u.a GROUP BY t.id${order() && ' ORDER BY 1'}`,
      );
    default:
      return random.pick([
        select(
          'SELECT ?, typeof(?), ? + 1, quote(?)',
          binding(),
          binding(),
          random.below(9),
          random.pick(['x', null, 1]),
        ),
        select(
          'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < ?) SELECT sum(x), max(x) FROM c',
          5,
        ),
        select('SELECT a, row_number() OVER (ORDER BY id) AS r FROM u ORDER BY id'),
        select(nestedJson(random, 0)),
        run('SELECT * FROM missing'),
        run('SELEC'),
        run('SELECT * FROM _cf_KV'),
        run('BEGIN'),
        { op: 'size' },
      ]);
  }
}
