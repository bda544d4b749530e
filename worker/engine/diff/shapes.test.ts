// Tables of one state as they are compared: their columns, keys, and the name of their rowids.

import { expect, test } from 'vitest';
import { inState, stateAfter } from '../../../packages/testing/worker/stored-states.ts';
import { Shapes } from './shapes.ts';

function shapesOf<T>(statements: readonly string[], use: (shapes: Shapes) => T): T {
  return inState(stateAfter(null, ...statements), (database) => use(new Shapes(database, 'main')));
}

const shapeOf = (columns: string) =>
  shapesOf([`CREATE TABLE t ${columns}`], (shapes) => {
    const { kind, columns, rowid, key, order } = shapes.of('t')!;
    const names = columns.map(({ name, keyPlace, isStored }) =>
      isStored ? `${name} ${keyPlace}` : `(${name})`,
    );
    const ordered = order.map(
      ({ collation, isDescending }) => `${collation}${isDescending ? ' DESC' : ''}`,
    );
    return [kind, rowid, names.join(', '), key.join(), ordered.join()];
  });

test.for([
  ['(a, b)', ['rowid', 'rowid', 'a 0, b 0', '', '']],
  ['(a INTEGER PRIMARY KEY, b)', ['rowid', 'rowid', 'a 1, b 0', 'a', 'BINARY']],
  ['(a INTEGER PRIMARY KEY DESC, b)', ['rowid', 'rowid', 'a 1, b 0', 'a', 'BINARY DESC']],
  ['(a, b TEXT COLLATE NOCASE PRIMARY KEY)', ['rowid', 'rowid', 'a 0, b 1', 'b', 'NOCASE']],
  [
    '(a, b, PRIMARY KEY (b COLLATE RTRIM DESC, a))',
    ['rowid', 'rowid', 'a 2, b 1', 'b,a', 'RTRIM DESC,BINARY'],
  ],
  [
    '(a, b UNIQUE, c, UNIQUE (c, a), PRIMARY KEY (c))',
    ['rowid', 'rowid', 'a 0, b 0, c 1', 'c', 'BINARY'],
  ],
  ['(a, b, PRIMARY KEY (b, a)) WITHOUT ROWID', ['keyed', null, 'a 2, b 1', 'b,a', 'BINARY,BINARY']],
  [
    '(a, PRIMARY KEY (a, a COLLATE NOCASE)) WITHOUT ROWID',
    ['keyed', null, 'a 1', 'a,a', 'BINARY,NOCASE'],
  ],
  ['(ROWID, b)', ['rowid', '_rowid_', 'ROWID 0, b 0', '', '']],
  ['(_rowid_, rowid)', ['rowid', 'oid', '_rowid_ 0, rowid 0', '', '']],
  ['(_rowid_, rowid, OID)', ['rowid', null, '_rowid_ 0, rowid 0, OID 0', '', '']],
  ['(a, b AS (a + 1), c AS (a + 2) STORED, d)', ['rowid', 'rowid', 'a 0, (b), (c), d 0', '', '']],
] as const)(
  '[DIFF10] a table %s: its kind, rowid, columns, key and order',
  ([columns, expected]) => {
    expect(shapeOf(columns)).toEqual(expected);
  },
);

test('[DIFF5] a virtual table has its shadows, and these are no tables of their own; hidden columns are left out', () => {
  const statements = [
    'CREATE VIRTUAL TABLE doc USING fts5(a, b)',
    'CREATE VIRTUAL TABLE place USING rtree(id, x0, x1)',
    'CREATE TABLE doc_other (a)',
    'CREATE TABLE zoo (a)',
    'CREATE TABLE Ape (id INTEGER PRIMARY KEY AUTOINCREMENT)',
    'CREATE VIEW seen AS SELECT 1',
    'CREATE INDEX zoo_a ON zoo (a)',
    'ANALYZE',
  ];
  shapesOf(statements, (shapes) => {
    expect(shapes.tables).toEqual(['Ape', 'doc', 'doc_other', 'place', 'zoo']);
    const doc = shapes.of('doc')!;
    expect([doc.kind, doc.rowid, doc.key, [...doc.shadows].sort()]).toEqual([
      'virtual',
      'rowid',
      [],
      ['doc_config', 'doc_content', 'doc_data', 'doc_docsize', 'doc_idx'],
    ]);
    expect(doc.columns.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(
      ['doc_data', 'doc_other', 'doc', 'place_node'].map((name) => shapes.isShadow(name)),
    ).toEqual([true, false, false, true]);
    expect(shapes.of('zoo')!.shadows).toEqual([]);
    expect(['missing', 'seen', 'zoo_a'].map((name) => shapes.of(name))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(shapes.of('zoo')).toBe(shapes.of('zoo'));
    const [view] = shapes.objects.filter(({ type }) => type === 'view');
    expect(view).toEqual({
      type: 'view',
      name: 'seen',
      table: 'seen',
      root: 0,
      sql: 'CREATE VIEW seen AS SELECT 1',
    });
  });
});

test('[DIFF5] a table whose name is like that of a shadow, of no virtual table, is a table', () => {
  shapesOf(['CREATE TABLE doc (a)', 'CREATE TABLE doc_content (a)'], (shapes) => {
    expect(shapes.tables).toEqual(['doc', 'doc_content']);
    expect(shapes.isShadow('doc_content')).toBe(false);
  });
});

test('[DIFF2] the trees beside those of some tables: of all indexes but the key of a table without rowids, and of other tables', () => {
  const statements = [
    'CREATE TABLE t (a TEXT PRIMARY KEY, b COLLATE NOCASE)',
    'CREATE INDEX t_b ON t (b DESC)',
    'CREATE TABLE k (a TEXT COLLATE RTRIM, b, c, PRIMARY KEY (b, a)) WITHOUT ROWID',
    'CREATE INDEX k_c ON k (c)',
    'CREATE TABLE plain (a)',
    'CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT)',
    'CREATE VIEW seen AS SELECT 1',
    'CREATE VIRTUAL TABLE words USING fts5vocab(none, row)',
  ];
  shapesOf(statements, (shapes) => {
    const rootOf = (name: string) => shapes.objects.find((one) => one.name === name)!.root;
    const trees = (...names: string[]) =>
      new Map(
        shapes
          .treesExcept(new Set(names))
          .map(({ root, order }) => [
            root,
            order?.map((one) => `${one.collation}${one.isDescending ? ' DESC' : ''}`),
          ]),
      );
    const byName = (entries: Record<string, string[] | undefined>) =>
      new Map(Object.entries(entries).map(([name, order]) => [rootOf(name), order]));
    const indexes = {
      // Its rowid makes an entry of an index unique; without rowids, SQLite needs no more than the indexed column first.
      sqlite_autoindex_t_1: ['BINARY', 'BINARY'],
      t_b: ['NOCASE DESC', 'BINARY'],
    };
    const all = trees('t', 'k', 'plain', 'counted');
    for (const [root, order] of byName(indexes)) expect(all.get(root)).toEqual(order);
    expect(all.get(rootOf('k_c'))).toEqual(['BINARY']);
    expect([...all.keys()].sort()).toEqual(
      ['sqlite_autoindex_t_1', 't_b', 'k_c'].map(rootOf).sort(),
    );
    const others = trees('t');
    expect([...others.keys()].sort()).toEqual(
      ['sqlite_autoindex_t_1', 't_b', 'k_c', 'k', 'plain', 'counted'].map(rootOf).sort(),
    );
    expect(others.get(rootOf('k'))).toEqual(['BINARY', 'RTRIM']);
    expect(others.get(rootOf('plain'))).toBeUndefined();
  });
});

test.for([
  ['(a PRIMARY KEY, b)', [], false],
  ['(a INTEGER PRIMARY KEY, b UNIQUE)', [], true],
  ['(a, b, PRIMARY KEY (a, b))', ['CREATE INDEX i ON t (b)'], false],
  ['(a, b)', ['CREATE UNIQUE INDEX i ON t (b) WHERE a > 1'], true],
  ['(a PRIMARY KEY, b) WITHOUT ROWID', [], false],
] as const)(
  '[REVERT1] the table %s with %s has a unique index beside its key: %s',
  ([columns, more, expected]) => {
    shapesOf([`CREATE TABLE t ${columns}`, 'CREATE TABLE u (a UNIQUE)', ...more], (shapes) => {
      expect(shapes.hasUnique('t')).toBe(expected);
    });
  },
);

test.for([
  ['(a TEXT PRIMARY KEY)', false],
  ['(a TEXT COLLATE NOCASE PRIMARY KEY)', false],
  ['(a TEXT COLLATE nocase, b, PRIMARY KEY (b, a))', false],
  ['(a TEXT, b, PRIMARY KEY (b, a COLLATE NOCASE))', true],
  ['(a TEXT COLLATE NOCASE, b, PRIMARY KEY (a COLLATE BINARY, b)) WITHOUT ROWID', true],
  ['(a TEXT COLLATE NOCASE)', false],
  ['(a INTEGER COLLATE NOCASE PRIMARY KEY)', false],
] as const)(
  '[MERGE6] in the table %s, a column of the key compares otherwise than its index: %s',
  ([columns, expected]) => {
    shapesOf([`CREATE TABLE t ${columns}`], (shapes) => {
      expect(shapes.hasOtherCollations(shapes.of('t')!)).toBe(expected);
    });
  },
);
