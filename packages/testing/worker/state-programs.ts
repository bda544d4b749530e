// For tests of differences: programs of SQL, each with the statements of a state and of the one after it. Every kind of
// table and of change has one.

export const THREE = "INSERT INTO t VALUES (1, 'a', 'x'), (2, 'b', 'y'), (3, 'c', 'z')";
const WRITES = [
  "UPDATE t SET c = 'changed' WHERE a = 2",
  'DELETE FROM t WHERE a = 3',
  "INSERT INTO t VALUES (4, 'd', NULL), (5, 'e', x'00')",
];

/** Statements of a state, and of the one after it. */
export const programs: Readonly<Record<string, readonly [string[], string[]]>> = {
  'an id': [['CREATE TABLE t (a INTEGER PRIMARY KEY, b, c)', THREE], WRITES],
  'a key of the second column': [['CREATE TABLE t (a, b TEXT PRIMARY KEY, c)', THREE], WRITES],
  'a key of two columns in the other order': [
    ['CREATE TABLE t (a, b, c, PRIMARY KEY (c DESC, a))', THREE],
    ["UPDATE t SET b = 'q'", 'DELETE FROM t WHERE a = 1', "INSERT INTO t VALUES (1, 'd', 'y')"],
  ],
  'a key that is changed': [
    ['CREATE TABLE t (a INTEGER PRIMARY KEY, b, c)', THREE],
    ['UPDATE t SET a = a + 10 WHERE a > 1', "UPDATE t SET b = 'k' WHERE a = 12"],
  ],
  'no rowids': [
    ['CREATE TABLE t (a, b, c, PRIMARY KEY (b COLLATE NOCASE DESC, a)) WITHOUT ROWID', THREE],
    [...WRITES, "UPDATE t SET b = 'A' WHERE a = 1"],
  ],
  'a column in its key with two collations': [
    ['CREATE TABLE t (a TEXT, b, c, PRIMARY KEY (a, b, a COLLATE NOCASE)) WITHOUT ROWID', THREE],
    WRITES,
  ],
  'no key': [['CREATE TABLE t (a, b, c)', THREE], WRITES],
  'no key, and a column named rowid': [
    ['CREATE TABLE t (rowid, a, b)', "INSERT INTO t VALUES ('x', 1, 1), ('x', 2, 1)"],
    [
      'UPDATE t SET b = 2 WHERE a = 2',
      "INSERT INTO t VALUES ('x', 3, 3)",
      'DELETE FROM t WHERE a = 1',
    ],
  ],
  'no key, and columns that hide all but one name of the rowid': [
    ['CREATE TABLE t (OID, _rowid_, a)', 'INSERT INTO t VALUES (7, 8, 1), (7, 8, 2)'],
    [
      'UPDATE t SET a = 5 WHERE a = 2',
      'INSERT INTO t VALUES (7, 8, 9)',
      'DELETE FROM t WHERE a = 1',
    ],
  ],
  'NULL in some keys': [
    ['CREATE TABLE t (a, b, c, PRIMARY KEY (a, b))', THREE, "INSERT INTO t VALUES (NULL, 1, 'n')"],
    [
      ...WRITES,
      "UPDATE t SET c = 'm' WHERE a IS NULL",
      "INSERT INTO t VALUES (NULL, 1, 'n'), (6, NULL, 'o')",
    ],
  ],
  'a unique column whose values are exchanged': [
    ['CREATE TABLE t (a INTEGER PRIMARY KEY, b UNIQUE, c)', THREE],
    [
      "UPDATE t SET b = 'q' WHERE a = 1",
      "UPDATE t SET b = 'a' WHERE a = 2",
      "UPDATE t SET b = 'b' WHERE a = 1",
    ],
  ],
  'no key, and a unique index whose values are exchanged': [
    ['CREATE TABLE t (a, b, c)', 'CREATE UNIQUE INDEX i ON t (b)', THREE],
    [
      "UPDATE t SET b = 'q' WHERE a = 1",
      "UPDATE t SET b = 'a' WHERE a = 2",
      "UPDATE t SET b = 'b' WHERE a = 1",
    ],
  ],
  'a key whose index compares otherwise than its column': [
    ['CREATE TABLE t (a, b TEXT COLLATE NOCASE, c, PRIMARY KEY (b COLLATE BINARY))', THREE],
    [
      "INSERT INTO t VALUES (9, 'B', 'of another')",
      "UPDATE t SET c = 'w' WHERE b = 'b' COLLATE BINARY",
    ],
  ],
  'a key that replaces': [
    ['CREATE TABLE t (a PRIMARY KEY ON CONFLICT REPLACE, b, c)', THREE],
    WRITES,
  ],
  'generated columns': [
    ['CREATE TABLE t (a INTEGER PRIMARY KEY, g AS (b || c), b, s AS (a + 1) STORED, c)', THREE],
    WRITES,
  ],
  'no key, and generated columns': [
    ['CREATE TABLE t (a, g AS (b || c), b, s AS (a + 1) STORED, c)', THREE],
    WRITES,
  ],
  'quotes in its names': [
    [
      'CREATE TABLE "a ""t""" ("k ""y" PRIMARY KEY, "it\'s")',
      `INSERT INTO "a ""t""" VALUES (1, 1), (2, 2)`,
    ],
    [
      `UPDATE "a ""t""" SET "it's" = 5 WHERE "k ""y" = 1`,
      `DELETE FROM "a ""t""" WHERE "k ""y" = 2`,
    ],
  ],
  'large values': [
    [
      'CREATE TABLE t (a INTEGER PRIMARY KEY, b)',
      "INSERT INTO t VALUES (1, printf('%.*c', 20000, 'x')), (2, 5)",
    ],
    ["UPDATE t SET b = printf('%.*c', 300, 'y')", 'INSERT INTO t VALUES (3, zeroblob(70000))'],
  ],
  'values of every type': [
    [
      'CREATE TABLE t (a PRIMARY KEY, b)',
      "INSERT INTO t VALUES (1, 0.0), (1.5, NULL), ('1', 9223372036854775807), (x'31', '')",
    ],
    [
      "UPDATE t SET b = CASE typeof(a) WHEN 'integer' THEN -0.0 WHEN 'real' THEN x'' WHEN 'text' THEN 1e300 ELSE -1 END",
    ],
  ],
  'a table that is made, with what belongs to it': [
    ['CREATE TABLE other (a)'],
    [
      'CREATE TABLE t (a INTEGER PRIMARY KEY, b, c)',
      'CREATE INDEX i ON t (b)',
      'CREATE VIEW v AS SELECT a FROM t',
      'CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO other VALUES (new.a); END',
      THREE,
    ],
  ],
  'a table without a key that is made': [
    ['CREATE TABLE o (a)'],
    ['CREATE TABLE t (a, b, c)', THREE, 'DELETE FROM t WHERE a = 2'],
  ],
  'an altered table, whose index and trigger stay': [
    [
      'CREATE TABLE t (a INTEGER PRIMARY KEY, b, c)',
      'CREATE TABLE other (a)',
      'CREATE INDEX i ON t (b)',
      'CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO other VALUES (new.a); END',
      THREE,
    ],
    [
      'ALTER TABLE t ADD COLUMN d DEFAULT 7',
      "UPDATE t SET d = 8, b = 'z' WHERE a = 2",
      'DELETE FROM t WHERE a = 1',
    ],
  ],
  'an altered table, with another index': [
    ['CREATE TABLE t (a INTEGER PRIMARY KEY, b, c)', 'CREATE INDEX i ON t (b)', THREE],
    ['DROP INDEX i', 'ALTER TABLE t DROP COLUMN b', 'CREATE INDEX i ON t (c)'],
  ],
  'another index, view and trigger': [
    [
      'CREATE TABLE t (a INTEGER PRIMARY KEY, b, c)',
      'CREATE INDEX i ON t (b)',
      'CREATE VIEW v AS SELECT a FROM t',
      'CREATE TRIGGER g AFTER DELETE ON t BEGIN SELECT 1; END',
      THREE,
    ],
    [
      'DROP INDEX i',
      'CREATE INDEX i ON t (c)',
      'DROP VIEW v',
      'CREATE VIEW v AS SELECT b FROM t',
      'DROP TRIGGER g',
      'CREATE TRIGGER g AFTER UPDATE ON t BEGIN SELECT 2; END',
      'DELETE FROM t WHERE a = 1',
    ],
  ],
  'a table in place of a view': [
    ['CREATE VIEW t AS SELECT 1 AS a'],
    ['DROP VIEW t', 'CREATE TABLE t (a, b, c)', THREE],
  ],
  'a table of another kind': [
    ['CREATE TABLE t (a PRIMARY KEY, b, c)', THREE],
    ['DROP TABLE t', 'CREATE TABLE t (a PRIMARY KEY, b, c) WITHOUT ROWID', THREE],
  ],
  'rows of parents and children': [
    [
      'CREATE TABLE p (id INTEGER PRIMARY KEY)',
      'CREATE TABLE c (id INTEGER PRIMARY KEY, p REFERENCES p ON DELETE CASCADE)',
      'INSERT INTO p VALUES (1), (2)',
      'INSERT INTO c VALUES (1, 1), (2, 2)',
    ],
    ['DELETE FROM p WHERE id = 1', 'INSERT INTO p VALUES (3)', 'INSERT INTO c VALUES (3, 3)'],
  ],
  'a key that ignores case': [
    ['CREATE TABLE t (a, b TEXT COLLATE NOCASE PRIMARY KEY, c)', THREE],
    ["UPDATE t SET b = 'A' WHERE a = 1", "UPDATE t SET b = 'B', c = 'w' WHERE a = 2"],
  ],
  'a view whose trigger writes instead': [
    ['CREATE TABLE t (a INTEGER PRIMARY KEY, b, c)', THREE],
    [
      'CREATE VIEW v AS SELECT a FROM t',
      'CREATE TRIGGER g INSTEAD OF INSERT ON v BEGIN DELETE FROM t; END',
      "UPDATE t SET b = 'w'",
    ],
  ],
  'another view, whose trigger stays': [
    [
      'CREATE TABLE t (a INTEGER PRIMARY KEY, b, c)',
      'CREATE VIEW v AS SELECT a FROM t',
      'CREATE TRIGGER g INSTEAD OF INSERT ON v BEGIN DELETE FROM t; END',
    ],
    [
      'DROP VIEW v',
      'CREATE VIEW v AS SELECT a, b FROM t',
      'CREATE TRIGGER g INSTEAD OF INSERT ON v BEGIN DELETE FROM t; END',
    ],
  ],
  'an index and a trigger of one name, of which one is another one': [
    [
      'CREATE TABLE t (a INTEGER PRIMARY KEY, b, c)',
      'CREATE INDEX x ON t (b)',
      'CREATE INDEX y ON t (c)',
      'CREATE TRIGGER x AFTER DELETE ON t BEGIN SELECT 1; END',
      'CREATE TRIGGER z AFTER DELETE ON t BEGIN SELECT 1; END',
      THREE,
    ],
    [
      'ALTER TABLE t ADD COLUMN d',
      'DROP INDEX x',
      'CREATE INDEX x ON t (b, c)',
      'DROP TRIGGER z',
      'CREATE TRIGGER z AFTER DELETE ON t BEGIN SELECT 2; END',
    ],
  ],
  'ids that are given once': [
    ['CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT, b, c)', THREE],
    WRITES,
  ],
  'rows of an index of text and of one of places': [
    [
      'CREATE VIRTUAL TABLE t USING fts5(a, b, c)',
      'CREATE VIRTUAL TABLE place USING rtree(id, x0, x1)',
      THREE,
      'INSERT INTO place VALUES (1, 0, 1), (2, 2, 3), (7, 8, 9)',
    ],
    [
      ...WRITES.slice(0, 2),
      "INSERT INTO t (rowid, a) VALUES (9, 'nine')",
      'UPDATE place SET x0 = 1 WHERE id = 2',
      'DELETE FROM place WHERE id = 1',
      'INSERT INTO place VALUES (5, 5, 6)',
    ],
  ],
  'virtual tables that are made': [
    ['CREATE TABLE page (id INTEGER PRIMARY KEY, text)', "INSERT INTO page VALUES (1, 'one')"],
    [
      'CREATE VIRTUAL TABLE t USING fts5(a, b, c)',
      'CREATE VIRTUAL TABLE place USING rtree(id, x0, x1)',
      "CREATE VIRTUAL TABLE found USING fts5(text, content='page', content_rowid='id')",
      "INSERT INTO found (found) VALUES ('rebuild')",
      'CREATE VIRTUAL TABLE words USING fts5vocab(t, row)',
      THREE,
      'INSERT INTO place VALUES (1, 0, 1)',
    ],
  ],
  'parents with a key, and children without one': [
    [
      'CREATE TABLE p (id INTEGER PRIMARY KEY)',
      'CREATE TABLE c (v, p REFERENCES p)',
      'INSERT INTO p VALUES (1), (2)',
      "INSERT INTO c VALUES ('a', 1), ('b', 2)",
    ],
    [
      'INSERT INTO p VALUES (3)',
      "UPDATE c SET p = 3 WHERE v = 'a'",
      "INSERT INTO c VALUES ('c', 3)",
      'DELETE FROM p WHERE id = 1',
    ],
  ],
  'unique values that three rows exchange, in two columns': [
    [
      'CREATE TABLE t (a INTEGER PRIMARY KEY, b UNIQUE, c NOT NULL UNIQUE)',
      "INSERT INTO t VALUES (1, 'a', 'x'), (2, 'b', 'y'), (3, 'c', 'z')",
    ],
    [
      'CREATE TABLE kept AS SELECT * FROM t',
      'DELETE FROM t',
      "INSERT INTO t VALUES (1, 'b', 'z'), (2, 'c', 'x'), (3, 'a', 'y')",
      'DROP TABLE kept',
    ],
  ],
  keys: [
    ['CREATE TABLE t (a)'],
    [
      'CREATE TABLE _cf_KV ( key TEXT PRIMARY KEY, value BLOB ) WITHOUT ROWID',
      "INSERT INTO _cf_KV VALUES ('k', x'01'), ('l', x'02')",
    ],
  ],
};
