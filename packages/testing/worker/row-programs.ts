// For tests of differences: random tables, and random programs that write to them, as SQL.
//
// Values are few, so that keys meet: texts that a collation takes for the same, NULL, texts with NUL, integers beyond
// 2^53 beside reals, -0.0. Most programs also fill a table, so that its tree has inner pages.

import fc from 'fast-check';

type CollationName = 'BINARY' | 'NOCASE' | 'RTRIM';

interface Column {
  readonly name: string;
  readonly type: string;
  readonly collation: CollationName;
}

export interface KeyPart {
  /** The column, whose type gives the affinity. */
  readonly column: Column;
  /** The collation in the index. */
  readonly collation: CollationName;
}

/** A table with the name `t`. */
export interface TableCase {
  readonly create: readonly string[];
  /** The columns that are stored. */
  readonly columns: readonly Column[];
  /** The parts of the primary key; empty if there is none. */
  readonly key: readonly KeyPart[];
  /** The name by which the table's rowids are read; null if they cannot be read. */
  readonly rowid: string | null;
}

export type Program = readonly string[];

export interface ChangesCase {
  readonly table: TableCase;
  /** The program before the common moment. */
  readonly first: Program;
  /** The program between the common moment and the other state. */
  readonly theirs: Program;
  /** The program that the object runs after the common moment instead. */
  readonly ours: Program;
  readonly onConflict: 'ours' | 'theirs' | undefined;
}

/** Makes one statement of a program, for any table. */
type Write = (table: TableCase) => string;

const TYPES = ['', 'TEXT', 'INTEGER', 'REAL', 'NUMERIC', 'BLOB'];
const COLLATIONS = ['BINARY', 'NOCASE', 'RTRIM'] as const;
const OR = fc.constantFrom('ABORT', 'ABORT', 'REPLACE', 'IGNORE');

const VALUES = [
  ...['NULL', 'NULL', '0', '1', '-1', '0.0', '-0.0', '1.0', '0.5', '9e999'],
  ...['9007199254740992', '9007199254740993', '9007199254740992.0', '9223372036854775807'],
  ...["''", "'a'", "'A'", "'a '", "'b'", "'é'", "'É'", "'1'", "'0.0'"],
  ...["x''", "x'61'", "x'00'", textOf('a\0'), textOf('a\0b'), textOf('A\0C'), textOf('\0')],
];

const value = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...VALUES) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(300, 3000).map((size) => `printf('%.*c', ${size}, 'x')`),
  },
);

const tableCase: fc.Arbitrary<TableCase> = fc
  .record({
    columns: fc.array(
      fc.record({
        type: fc.constantFrom(...TYPES),
        collation: fc.constantFrom(...COLLATIONS),
        rule: fc.constantFrom('', '', '', '', 'NOT NULL', 'UNIQUE', 'UNIQUE ON CONFLICT REPLACE'),
      }),
      { minLength: 2, maxLength: 4 },
    ),
    kind: fc.constantFrom('rowid', 'rowid', 'rowid', 'keyed', 'keyed', 'alias', 'none', 'virtual'),
    key: fc.array(
      fc.record({
        at: fc.nat(3),
        collation: fc.constantFrom(null, null, ...COLLATIONS),
        isDescending: fc.boolean(),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    generated: fc.constantFrom('', '', 'g AS (length(a))', "g AS (a || 'x') STORED"),
    index: fc.constantFrom('', '', '', 'i ON t (b)', 'i ON t (b, a) WHERE b IS NOT NULL'),
    names: fc.constantFrom(0, 0, 0, 0, 0, 1, 3),
  })
  .map(({ columns: given, kind, key: parts, generated, index, names }) => {
    const columns = given.map((one, i) => ({ ...one, name: 'abcd'[i]! }));
    if (kind === 'virtual') {
      const plain = columns.map(({ name }) => ({ name, type: '', collation: 'BINARY' as const }));
      const text = `CREATE VIRTUAL TABLE t USING fts5(${plain.map(({ name }) => name).join()})`;
      return { create: [text], columns: plain, key: [], rowid: 'rowid' };
    }
    // A column may take a name by which rowids are read.
    const taken = ['rowid', '_rowid_', 'oid'].slice(0, names);
    const all = [
      ...columns,
      ...taken.map((name) => ({ name, type: '', collation: 'BINARY' as const, rule: '' })),
    ];
    const chosen = parts.map((part) => ({ ...part, column: columns[part.at % columns.length]! }));
    const distinct = chosen.filter(
      ({ at }, i) =>
        chosen.findIndex((other) => other.at % columns.length === at % columns.length) === i,
    );
    const hasKey = kind === 'rowid' || kind === 'keyed';
    const definitions = all.map(({ name, type, collation, rule }, i) =>
      kind === 'alias' && i === 0
        ? 'a INTEGER PRIMARY KEY'
        : `${name} ${type} COLLATE ${collation} ${rule}`,
    );
    if (generated !== '') definitions.push(generated);
    if (hasKey) {
      const terms = distinct.map(
        ({ column, collation, isDescending }) =>
          `${column.name} ${collation === null ? '' : `COLLATE ${collation}`} ${isDescending ? 'DESC' : ''}`,
      );
      definitions.push(`PRIMARY KEY (${terms.join()})`);
    }
    const ending = kind === 'keyed' ? ' WITHOUT ROWID' : '';
    const integer = { name: 'a', type: 'INTEGER', collation: 'BINARY' as const };
    // Without a rowid, it has the collation of the column, whatever the key says (sqlite/src/build.c, sqlite3AddPrimaryKey).
    const isInteger = distinct.length === 1 && distinct[0]!.column.type === 'INTEGER';
    const isAliasOfTerms = kind === 'rowid' && isInteger;
    const collationOf = ({ column, collation }: (typeof distinct)[number]) => {
      if (isAliasOfTerms) return 'BINARY';
      return isInteger ? column.collation : (collation ?? column.collation);
    };
    return {
      create: [
        `CREATE TABLE t (${definitions.join(', ')})${ending}`,
        ...(index === '' ? [] : [`CREATE UNIQUE INDEX ${index}`]),
      ],
      columns: all,
      key: hasKey
        ? distinct.map((one) => ({ column: one.column, collation: collationOf(one) }))
        : kind === 'alias'
          ? [{ column: integer, collation: 'BINARY' }]
          : [],
      rowid: kind === 'keyed' ? null : (['rowid', '_rowid_', 'oid'][names] ?? null),
    };
  });

const nat = fc.nat(7);
const condition = fc.oneof(
  fc.tuple(nat, value).map(
    ([at, v]) =>
      (t: TableCase) =>
        `${columnOf(t, at)} IS ${v}`,
  ),
  fc.tuple(nat, nat).map(
    ([at, n]) =>
      (t: TableCase) =>
        t.rowid === null
          ? `length(${columnOf(t, at)}) % 3 = ${n % 3}`
          : `${t.rowid} % 5 = ${n % 5}`,
  ),
);

const statement: fc.Arbitrary<Write> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ or: OR, values: fc.array(value, { minLength: 7, maxLength: 7 }) }).map(
      ({ or, values }): Write =>
        (t) =>
          insertOf(t, or, [values]),
    ),
  },
  {
    weight: 4,
    arbitrary: fc.record({ or: OR, at: nat, to: value, where: condition }).map(
      ({ or, at, to, where }): Write =>
        (t) =>
          `UPDATE OR ${or} t SET ${columnOf(t, at)} = ${to} WHERE ${where(t)}`,
    ),
  },
  {
    weight: 1,
    arbitrary: fc.record({ from: nat, to: nat }).map(
      ({ from, to }): Write =>
        (t) =>
          t.rowid === null
            ? 'SELECT 1'
            : `UPDATE OR IGNORE t SET ${t.rowid} = ${to} WHERE ${t.rowid} = ${from}`,
    ),
  },
  {
    weight: 2,
    arbitrary: condition.map(
      (where): Write =>
        (t) =>
          `DELETE FROM t WHERE ${where(t)}`,
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ seed: fc.nat(), count: fc.constantFrom(3, 60), pad: fc.constantFrom(0, 200) })
      .map(({ seed, count, pad }): Write => {
        const next = randomOf(seed);
        const text = () => {
          let made = '';
          for (let left = next(6); left >= 0; left--) made += '\0aAz é'[next(6)];
          return textOf(made + 'p'.repeat(next(pad + 1)));
        };
        const row = () => Array.from({ length: 7 }, () => (next(9) === 0 ? 'NULL' : text()));
        const rows = Array.from({ length: count }, row);
        return (table) => insertOf(table, 'IGNORE', rows);
      }),
  },
);

/** A table, and programs that write to it. */
export const changesCase = fc
  .record({
    table: tableCase,
    first: fc.array(statement, { maxLength: 12 }),
    theirs: fc.array(statement, { minLength: 1, maxLength: 5 }),
    ours: fc.array(statement, { maxLength: 4 }),
    onConflict: fc.constantFrom(undefined, 'ours' as const, 'theirs' as const),
  })
  .map(({ table, first, theirs, ours, onConflict }): ChangesCase => {
    const programOf = (writes: readonly Write[]) => writes.map((write) => write(table));
    return {
      table,
      first: programOf(first),
      theirs: programOf(theirs),
      ours: programOf(ours),
      onConflict,
    };
  });

function columnOf({ columns }: TableCase, at: number): string {
  return columns[at % columns.length]!.name;
}

function insertOf(table: TableCase, or: string, rows: readonly (readonly string[])[]): string {
  const { columns, key } = table;
  const isInteger = (i: number) => key.length === 1 && key[0]!.column.type === 'INTEGER' && i === 0;
  const names = columns.map(({ name }) => name);
  const texts = rows.map((row) =>
    columns.map((_, i) => (isInteger(i) && row[i]!.startsWith('CAST') ? 'NULL' : row[i]!)).join(),
  );
  return `INSERT OR ${or} INTO t (${names.join()}) VALUES ${texts.map((text) => `(${text})`).join()}`;
}

/** A literal of a text that may have NUL. */
function textOf(text: string): string {
  return `CAST(x'${Buffer.from(text).toString('hex')}' AS TEXT)`;
}

function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >>> 16) % below;
  };
}
