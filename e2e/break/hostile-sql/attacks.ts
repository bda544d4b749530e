// Attacks on the storage's own tables through the schema of a program. Both engines take the same
// steps; `here` names a difference and its reason.

import { REFUSED } from './steps.ts';

/** The last step whose answer differs here, by its place, and the answer. */
export interface Attack {
  readonly steps: readonly string[];
  readonly here?: Readonly<Record<number, string>>;
}

const KEYS = ['.put a', '.put b', '.put c', '.turn'];
const WITHOUT_KEYS_CHECKED = ['PRAGMA foreign_keys = OFF', '.turn'];
const CHECKED = ['.turn', 'PRAGMA foreign_keys = ON', '.turn'];
/** Puts a row that refers to key `a` into t, which the check of foreign keys would refuse to read. */
const REFER = [...WITHOUT_KEYS_CHECKED, "INSERT INTO t(k) VALUES ('a')", ...CHECKED];
const LOOT = 'CREATE TABLE loot(k, v)';
const STEAL = 'INSERT INTO loot SELECT key, value FROM _cf_KV';
// workerd reads keys by the columns that USING and NATURAL share, because SQLite does not ask about them. Here it asks
// about each table.
const SHARED = 'SELECT key, value FROM _cf_KV FULL JOIN t USING (key, value)';
const SHARING = [...KEYS, 'CREATE TABLE t(key TEXT, value BLOB)'];
const OUTCOME = ['.turn', '.keys', 'SELECT count(*) FROM loot', 'SELECT count(*) FROM t'];

function refusedFrom(first: number, last: number): Readonly<Record<number, string>> {
  const steps = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  return Object.fromEntries(steps.map((step) => [step, REFUSED]));
}

export const ATTACKS: Readonly<Record<string, Attack>> = {
  'a cascade with a trigger that reads keys': {
    steps: [
      ...KEYS,
      LOOT,
      'CREATE TABLE t(k TEXT REFERENCES _cf_KV(key) ON DELETE CASCADE)',
      `CREATE TRIGGER tr AFTER DELETE ON t BEGIN ${STEAL}; END`,
      ...REFER,
      '.delete a',
      ...OUTCOME,
    ],
  },
  'a cascade with a trigger before': {
    steps: [
      ...KEYS,
      LOOT,
      'CREATE TABLE t(k TEXT REFERENCES _cf_KV(key) ON DELETE CASCADE)',
      `CREATE TRIGGER tr BEFORE DELETE ON t BEGIN ${STEAL}; END`,
      ...REFER,
      '.delete a',
      ...OUTCOME,
    ],
  },
  'a cascade with a trigger that changes keys': {
    steps: [
      ...KEYS,
      LOOT,
      'CREATE TABLE t(k TEXT REFERENCES _cf_KV(key) ON DELETE CASCADE)',
      "CREATE TRIGGER tr AFTER DELETE ON t BEGIN DELETE FROM _cf_KV WHERE key = 'b'; END",
      ...REFER,
      '.delete a',
      ...OUTCOME,
    ],
  },
  'a cascade with a trigger that touches its own table only': {
    steps: [
      ...KEYS,
      LOOT,
      'CREATE TABLE t(k TEXT REFERENCES _cf_KV(key) ON DELETE CASCADE)',
      'CREATE TRIGGER tr AFTER DELETE ON t BEGIN INSERT INTO loot VALUES (old.k, 1); END',
      ...REFER,
      '.delete a',
      ...OUTCOME,
    ],
  },
  'a cascade with a trigger whose condition reads keys': {
    steps: [
      ...KEYS,
      LOOT,
      'CREATE TABLE t(k TEXT REFERENCES _cf_KV(key) ON DELETE CASCADE)',
      `CREATE TRIGGER tr AFTER DELETE ON t WHEN (SELECT count(*) FROM _cf_KV) > 1
        BEGIN INSERT INTO loot VALUES (1, 1); END`,
      ...REFER,
      '.delete a',
      ...OUTCOME,
    ],
  },
  'a cascade of a cascade with a trigger': {
    steps: [
      ...KEYS,
      LOOT,
      'CREATE TABLE t(k TEXT UNIQUE REFERENCES _cf_KV(key) ON DELETE CASCADE)',
      'CREATE TABLE u(k TEXT REFERENCES t(k) ON DELETE CASCADE)',
      `CREATE TRIGGER tr AFTER DELETE ON u BEGIN ${STEAL}; END`,
      ...REFER,
      "INSERT INTO u VALUES ('a')",
      '.turn',
      '.delete a',
      ...OUTCOME,
    ],
  },
  'SET NULL with a trigger on the update': {
    steps: [
      ...KEYS,
      LOOT,
      'CREATE TABLE t(k TEXT REFERENCES _cf_KV(key) ON DELETE SET NULL)',
      `CREATE TRIGGER tr AFTER UPDATE ON t BEGIN ${STEAL}; END`,
      ...REFER,
      '.delete a',
      ...OUTCOME,
    ],
  },
  'SET DEFAULT with a trigger on the update of one column': {
    steps: [
      ...KEYS,
      LOOT,
      "CREATE TABLE t(k TEXT DEFAULT 'b' REFERENCES _cf_KV(key) ON DELETE SET DEFAULT)",
      `CREATE TRIGGER tr BEFORE UPDATE OF k ON t BEGIN ${STEAL}; END`,
      ...REFER,
      '.delete a',
      ...OUTCOME,
    ],
  },
  'a trigger that inserts through a view': {
    steps: [
      ...KEYS,
      LOOT,
      'CREATE TABLE t(k TEXT REFERENCES _cf_KV(key) ON DELETE CASCADE)',
      'CREATE VIEW keys AS SELECT key, value FROM _cf_KV',
      'CREATE TRIGGER tr AFTER DELETE ON t BEGIN INSERT INTO loot SELECT * FROM keys; END',
      ...REFER,
      '.delete a',
      ...OUTCOME,
    ],
  },
  'ON UPDATE CASCADE, which an overwritten key does not meet': {
    steps: [
      ...KEYS,
      LOOT,
      'CREATE TABLE t(k TEXT REFERENCES _cf_KV(key) ON UPDATE CASCADE)',
      `CREATE TRIGGER tr AFTER UPDATE ON t BEGIN ${STEAL}; END`,
      ...REFER,
      '.put a',
      ...OUTCOME,
    ],
  },
  'a foreign key to the alarm, with a trigger': {
    steps: [
      '.alarm',
      '.turn',
      LOOT,
      'CREATE TABLE t(k INTEGER REFERENCES _cf_METADATA(key) ON DELETE CASCADE ON UPDATE CASCADE)',
      'CREATE TRIGGER tr AFTER UPDATE ON t BEGIN INSERT INTO loot SELECT * FROM _cf_METADATA; END',
      ...WITHOUT_KEYS_CHECKED,
      'INSERT INTO t VALUES (1)',
      ...CHECKED,
      '.no-alarm',
      '.alarm',
      ...OUTCOME,
    ],
  },
  'a cascade without a trigger is only a cascade': {
    steps: [
      ...KEYS,
      LOOT,
      'CREATE TABLE t(k TEXT REFERENCES _cf_KV(key) ON DELETE CASCADE)',
      ...REFER,
      '.delete a',
      ...OUTCOME,
    ],
  },
  'a foreign key that forbids the deletion of a key': {
    steps: [
      ...KEYS,
      LOOT,
      'CREATE TABLE t(k TEXT REFERENCES _cf_KV(key))',
      ...REFER,
      '.delete a',
      '.delete b',
      ...OUTCOME,
    ],
  },
  'a foreign key to values': {
    steps: [
      ...KEYS,
      LOOT,
      'CREATE TABLE t(k BLOB REFERENCES _cf_KV(value))',
      ...REFER,
      '.put a',
      '.delete b',
      ...OUTCOME,
    ],
  },
  'a foreign key asks whether a key exists': {
    steps: [
      ...KEYS,
      'CREATE TABLE t(k TEXT REFERENCES _cf_KV(key))',
      "INSERT INTO t VALUES ('a')",
      "INSERT INTO t VALUES ('missing')",
      'PRAGMA foreign_key_check',
      'PRAGMA foreign_key_check(t)',
      'SELECT * FROM pragma_foreign_key_check',
    ],
  },
  'generated columns, expression indexes and checks of a cascade': {
    steps: [
      ...KEYS,
      LOOT,
      `CREATE TABLE t(k TEXT CHECK (k <> 'z') REFERENCES _cf_KV(key) ON DELETE SET NULL,
        g AS (coalesce(k, 'x') || '!') STORED)`,
      'CREATE INDEX i ON t(length(g)) WHERE k IS NOT NULL',
      ...REFER,
      '.delete a',
      ...OUTCOME,
      'SELECT * FROM t',
    ],
  },
  'a subquery in a check': {
    steps: [...KEYS, 'CREATE TABLE t(k CHECK (k IN (SELECT key FROM _cf_KV)))'],
  },
  'a subquery in an index and in its condition': {
    steps: [
      ...KEYS,
      'CREATE TABLE t(k)',
      'CREATE INDEX i ON t((SELECT key FROM _cf_KV))',
      'CREATE INDEX i ON t(k) WHERE k IN (SELECT key FROM _cf_KV)',
    ],
  },
  'a subquery in a generated column and in a default': {
    steps: [
      ...KEYS,
      'CREATE TABLE t(k, g AS ((SELECT key FROM _cf_KV)))',
      'CREATE TABLE t(k DEFAULT ((SELECT key FROM _cf_KV)))',
    ],
  },
  'a view of the keys, its columns and triggers': {
    steps: [
      ...KEYS,
      'CREATE VIEW v AS SELECT key FROM _cf_KV',
      'SELECT * FROM v',
      'SELECT count(*) FROM v',
      'PRAGMA table_info(v)',
      'CREATE TRIGGER tr INSTEAD OF INSERT ON v BEGIN DELETE FROM _cf_KV; END',
      "INSERT INTO v VALUES ('x')",
      'CREATE TABLE t(k REFERENCES v(key))',
      "INSERT INTO t VALUES ('a')",
      '.keys',
    ],
  },
  'a trigger on a table of the program': {
    steps: [
      ...KEYS,
      'CREATE TABLE t(k)',
      'CREATE TRIGGER tr AFTER INSERT ON t BEGIN DELETE FROM _cf_KV; END',
      'INSERT INTO t VALUES (1)',
      '.keys',
    ],
  },
  'full text search over the keys': {
    steps: [
      ...KEYS,
      "CREATE VIRTUAL TABLE f USING fts5(key, content = '_cf_KV')",
      "INSERT INTO f(f) VALUES ('rebuild')",
      'SELECT key FROM f',
      'CREATE VIEW v AS SELECT 1 AS rowid, key FROM _cf_KV',
      "CREATE VIRTUAL TABLE g USING fts5(key, content = 'v')",
      "INSERT INTO g(g) VALUES ('rebuild')",
      "INSERT INTO g(g) VALUES ('integrity-check')",
      'SELECT key FROM g',
      "CREATE VIRTUAL TABLE w USING fts5vocab('_cf_KV', 'row')",
      'SELECT * FROM w',
      '.put d',
      '.keys',
    ],
  },
  'columns that a join shares': {
    steps: [
      ...SHARING,
      '.alarm',
      SHARED,
      'SELECT key FROM t NATURAL FULL JOIN "_CF_kv"',
      'SELECT count(*) FROM main._cf_KV JOIN t USING (key)',
      'SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM t NATURAL LEFT JOIN _cf_KV)',
      'SELECT 1 FROM (t JOIN t AS u USING (key)) RIGHT JOIN _cf_KV USING (key)',
      'SELECT key FROM _cf_METADATA NATURAL JOIN t',
      `WITH stolen AS MATERIALIZED (${SHARED}) SELECT key FROM stolen`,
      `EXPLAIN ${SHARED}`,
      `CREATE TABLE loot AS ${SHARED}`,
      `INSERT INTO t ${SHARED}`,
      `INSERT INTO t(key) VALUES (1) RETURNING (SELECT key FROM (${SHARED}))`,
      `UPDATE t SET key = stolen.key FROM (${SHARED}) AS stolen`,
      `DELETE FROM t WHERE EXISTS (${SHARED})`,
      'SELECT count(*) FROM t',
      '.keys',
    ],
    here: refusedFrom(6, 18),
  },
  'a view of columns that a join shares': {
    steps: [
      ...SHARING,
      'CREATE TABLE loot(k)',
      `CREATE VIEW v AS ${SHARED}`,
      'SELECT * FROM v',
      'SELECT count(*) FROM t NATURAL JOIN v',
      'CREATE VIEW w AS SELECT key FROM v',
      'SELECT 1 FROM w',
      'CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO loot SELECT key FROM v; END',
      "INSERT INTO t VALUES ('x', 1)",
      'CREATE TRIGGER instead INSTEAD OF INSERT ON w BEGIN SELECT 1; END',
      "INSERT INTO w VALUES ('x')",
      'DELETE FROM w',
      'SELECT * FROM loot',
    ],
    here: { ...refusedFrom(7, 8), 10: REFUSED, 12: REFUSED, 16: '[]' },
  },
  'a view that comes to share columns': {
    steps: [
      ...SHARING,
      'CREATE VIEW v AS SELECT key, value FROM t',
      'SELECT * FROM v',
      'DROP VIEW v',
      `CREATE VIEW v AS ${SHARED}`,
      'SELECT * FROM v',
    ],
    here: { 9: REFUSED },
  },
  'statements of virtual tables over columns that a join shares': {
    steps: [
      ...SHARING,
      `CREATE VIEW v AS SELECT unicode(key) AS rowid, key FROM (${SHARED})`,
      "CREATE VIRTUAL TABLE f USING fts5(key, content = 'v')",
      "INSERT INTO f(f) VALUES ('rebuild')",
      'SELECT key FROM f',
      "CREATE VIRTUAL TABLE words USING fts5vocab('f', 'row')",
      'SELECT term FROM words',
      `CREATE VIEW r_rowid AS SELECT unicode(key) AS rowid, unicode(key) AS nodeno FROM (${SHARED})`,
      'CREATE TABLE r(id, low, high)',
      'CREATE TABLE r_parent(nodeno, parentnode)',
      'CREATE TABLE r_node(nodeno, data)',
      // A node of one row, whose number is the code of `a`.
      "INSERT INTO r_node VALUES (1, unhex('0000000100000000000000610000000000000000'))",
      "SELECT rtreecheck('r')",
    ],
    here: { ...refusedFrom(7, 8), 10: '[]', 16: REFUSED },
  },
  'ON CONFLICT, RETURNING, ORDER BY and LIMIT': {
    steps: [
      ...KEYS,
      'CREATE TABLE t(k UNIQUE)',
      'INSERT INTO t VALUES (1)',
      'INSERT INTO t VALUES (1) ON CONFLICT(k) DO UPDATE SET k = (SELECT count(*) FROM _cf_KV)',
      'INSERT INTO t VALUES (2) RETURNING (SELECT count(*) FROM _cf_KV)',
      'DELETE FROM t WHERE k IN (SELECT key FROM _cf_KV) LIMIT 1',
      'DELETE FROM t ORDER BY (SELECT key FROM _cf_KV) LIMIT 1',
      'DELETE FROM _cf_KV ORDER BY key LIMIT 1',
      'UPDATE "_CF_KV" SET value = 1 LIMIT 1',
      'EXPLAIN SELECT * FROM _cf_KV',
      'SELECT * FROM t',
      '.keys',
    ],
  },
  'the schema': {
    steps: [
      ...KEYS,
      'PRAGMA writable_schema = ON',
      "UPDATE sqlite_master SET sql = 'x'",
      'DELETE FROM sqlite_schema',
      "SELECT name FROM sqlite_master WHERE name = '_cf_KV'",
      'PRAGMA table_info(_cf_KV)',
      "SELECT * FROM pragma_table_xinfo('_CF_KV')",
      'PRAGMA index_list(_cf_KV)',
      'PRAGMA foreign_key_list(_cf_KV)',
      'PRAGMA quick_check(_cf_KV)',
      'PRAGMA quick_check',
      'ALTER TABLE _cf_KV ADD COLUMN x',
      'ALTER TABLE _cf_KV RENAME COLUMN key TO k',
      'ANALYZE _cf_KV',
      "INSERT INTO sqlite_stat1 VALUES ('_cf_KV', NULL, 'x')",
      '.put d',
      '.keys',
    ],
  },
  'settings that outlive their statement': {
    steps: [
      ...KEYS,
      'PRAGMA reverse_unordered_selects = ON',
      'PRAGMA case_sensitive_like = ON',
      'PRAGMA recursive_triggers = ON',
      'PRAGMA ignore_check_constraints = ON',
      'PRAGMA legacy_alter_table = ON',
      '.turn',
      '.put d',
      '.keys',
    ],
  },
  'deleteAll under a cascade': {
    steps: [
      ...KEYS,
      LOOT,
      'CREATE TABLE t(k TEXT REFERENCES _cf_KV(key) ON DELETE CASCADE)',
      `CREATE TRIGGER tr AFTER DELETE ON t BEGIN ${STEAL}; END`,
      ...REFER,
      '.deleteAll',
      '.keys',
      'SELECT name FROM sqlite_master',
    ],
  },
  'a table that becomes _cf_…': {
    steps: [
      'CREATE TABLE t(a)',
      'ALTER TABLE t RENAME TO _cf_x',
      'ALTER TABLE t RENAME TO [_CF_x]',
      'ALTER TABLE main.t RENAME /* */ TO "_Cf_x"',
      'SELECT name FROM sqlite_master',
    ],
  },
  'a virtual table that becomes _cf': {
    steps: [
      'CREATE VIRTUAL TABLE f USING fts5(a)',
      'ALTER TABLE f RENAME TO _cf',
      "ALTER TABLE f RENAME TO '_CF'",
      "SELECT count(*) FROM sqlite_master WHERE name LIKE '!_cf%' ESCAPE '!'",
    ],
  },
  'a virtual table that is made as _cf': {
    steps: [
      'CREATE VIRTUAL TABLE _cf USING fts5(a)',
      'CREATE VIRTUAL TABLE "_CF" USING rtree(id, a, b)',
      "SELECT count(*) FROM sqlite_master WHERE name LIKE '!_cf%' ESCAPE '!'",
    ],
  },
  'a table called _cf': {
    steps: ['CREATE TABLE _cf(a)', 'CREATE VIEW _CF AS SELECT 1'],
    // Reserved as a whole, so that no way of renaming can make tables called after it.
    here: { 0: REFUSED },
  },
};
