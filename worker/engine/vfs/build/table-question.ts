// Makes SQLite ask its authorizer about each table of a FROM clause.
//
// SQLite asks about each column that a statement names. For a table of which no column is used, it asks about a column
// without a name. The columns that USING and NATURAL share are used, and not asked about. So the authorizer never hears
// of a table of which only these are used, whoever compiles the statement: a program, FTS5, or SQLite itself in the
// middle of a step. In sqlite3Select:
//
//   before:  if (item->colUsed == 0 && item->zName) ask about item->zName
//   after:   if ((item->colUsed == 0 || item is a table) && item->zName) ask about item->pSTab->zName
//
// The other items are subqueries, views and WITH clauses; SQLite asks about the tables inside them. The item's name is
// spelled as in the statement, the table's name as in the schema: `FROM NOTE` asks about `note`.
//
// Invariant: the place is found exactly once, otherwise it throws.

import type { Span } from './wasm-bytes.ts';
import {
  ALIGN_8,
  constant,
  get,
  type Insertion,
  isAt,
  load,
  OP,
  occurrences,
  only,
  set,
} from './wasm-code.ts';

/** Bytes from the start of an item of a FROM clause (`SrcItem`). */
const ITEM = { name: 0, table: 8, flags: 13, usedColumns: 24 } as const;
/** Bytes from the start of a `Table`. */
const TABLE_NAME = 0;
/** Flags of items that are not tables: a subquery, a view or a WITH clause; a WITH clause used inside itself. */
const IS_SUBQUERY = 0x04;
const IS_RECURSIVE = 0x80;
/** The authorizer's question whether a column may be read. */
const SQLITE_READ = 20;

/** The function to change, and the code to insert into it. */
export interface TableQuestion {
  readonly body: Span;
  readonly insertions: readonly Insertion[];
}

/** The place where SQLite asks about a table without used columns. */
interface Question {
  readonly body: Span;
  /** Position of the `br_if` that skips the question. The value on the stack there says whether columns are used. */
  readonly skipAt: number;
  /** Position of the code that asks. */
  readonly askAt: number;
  /** The local variables that hold the item, and the name to ask about. */
  readonly itemLocal: number;
  readonly nameLocal: number;
}

/** Finds the question in the functions of the module. @throws Error when it is not there exactly once */
export function tableQuestion(wasm: Uint8Array, bodies: readonly Span[]): TableQuestion {
  const question = findQuestion(wasm, bodies);
  return {
    body: question.body,
    insertions: [
      { at: question.skipAt, code: skipOnlyIfNotTable(question) },
      { at: question.askAt, code: askByTableName(question) },
    ],
  };
}

// The condition is `local.tee item; i64.load usedColumns; i64.const 0; i64.ne; br_if; local.get item; i32.load name;
// local.tee name; i32.eqz; br_if; local.get parse; i32.const SQLITE_READ; local.get name`, with indexes of one byte.
function findQuestion(wasm: Uint8Array, bodies: readonly Span[]): Question {
  const found: Question[] = [];
  const used = [OP.i64Load, ALIGN_8, ITEM.usedColumns, OP.i64Const, 0, OP.i64Ne, OP.brIf];
  for (const body of bodies) {
    for (const at of occurrences(wasm, body, used)) {
      const itemLocal = wasm[at - 1]!;
      const skipAt = at + used.length - 1;
      const name = [...get(itemLocal), ...load(ITEM.name), OP.localTee];
      const nameAt = skipAt + 2;
      const nameLocal = wasm[nameAt + name.length]!;
      const askAt = nameAt + name.length + 4;
      const isQuestion =
        wasm[at - 2] === OP.localTee &&
        isAt(wasm, nameAt, name) &&
        isAt(wasm, askAt - 3, [OP.i32Eqz, OP.brIf]) &&
        isAt(wasm, askAt, [OP.localGet]) &&
        isAt(wasm, askAt + 2, [...constant(SQLITE_READ), ...get(nameLocal)]);
      if (isQuestion) found.push({ body, skipAt, askAt, itemLocal, nameLocal });
    }
  }
  return only(found, 'the question about a table without used columns');
}

/** Code that lets used columns skip the question only for items that are not tables. */
function skipOnlyIfNotTable({ itemLocal }: Question): number[] {
  return [
    ...[...get(itemLocal), OP.i32Load8U, 0, ITEM.flags],
    ...[...constant(IS_SUBQUERY | IS_RECURSIVE), OP.i32And, ...constant(0), OP.i32Ne, OP.i32And],
  ];
}

/** Code that replaces the item's name with the name of its table. */
function askByTableName({ itemLocal, nameLocal }: Question): number[] {
  return [...get(itemLocal), ...load(ITEM.table), ...load(TABLE_NAME), ...set(nameLocal)];
}
