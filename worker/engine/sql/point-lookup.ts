// Finds the rows that a query can see if it selects them by key: `SELECT … FROM t WHERE id = ?`, `… WHERE id IN (?,
// ?)`, and more conditions after AND.
//
// Invariant: the result never has too few rows. If the text has another form, the key is not a rowid or one column of
// text, or SQLite would convert a value, there is no lookup, and callers assume that the query sees every row of the
// table.
//
// A change of the schema makes lookups invalid; the caller drops them then.

import type { Binding } from '../../../src/shared/contract/bindings.ts';
import type { PreparedStatement } from './statement.ts';
import { isKeyword, nameOf, statementTokens, type Token } from './tokens.ts';

/** A rowid, or the text of a primary key. */
export type LookupKey = number | string;

/** Some rows of one table, by their keys. */
export interface TableRows {
  readonly table: string;
  readonly keys: readonly LookupKey[];
}

/** The columns by which rows of a table are found. */
export interface RowShape {
  /** True if the table has rowids. */
  readonly hasRowid: boolean;
  /** The column that is an alias of the rowid (INTEGER PRIMARY KEY), in lower case. */
  readonly rowidName: string | undefined;
  /** The text column that is the primary key: its name in lower case, and its index. */
  readonly textKey: { readonly name: string; readonly column: number } | undefined;
  /** The names of all columns, in lower case. */
  readonly columns: readonly string[];
}

/** A key in the text: a parameter, counted from 0, or a literal. */
type Operand = { readonly parameter: number } | { readonly value: LookupKey };

/** The lookup that a query's text makes; names are in lower case. */
export interface PointQuery {
  readonly table: string;
  readonly column: string;
  readonly operands: readonly Operand[];
}

const ROWID_NAMES = ['rowid', 'oid', '_rowid_'];
/** Keywords that may follow the lookup, because their clauses only reduce or order the rows. */
const ENDINGS = ['AND', 'ORDER', 'LIMIT'];

const KIND =
  'SELECT l.type, l.wr, s.sql FROM pragma_table_list(?1) l, sqlite_schema s ' +
  "WHERE l.schema = 'main' AND s.type = 'table' AND s.name = l.name";
const COLUMNS = 'SELECT name, type, pk FROM pragma_table_xinfo(?1)';
const KEY_INDEX =
  "SELECT count(*), sum(x.coll = 'BINARY') FROM pragma_index_list(?1) l, pragma_index_xinfo(l.name) x " +
  "WHERE l.origin = 'pk' AND x.key";

/** Parses the text of one statement as a lookup; returns undefined if it has another form. */
export function pointQuery(sql: string): PointQuery | undefined {
  const tokens = statementTokens(sql).filter(({ text }) => text !== ';');
  const froms = tokens.filter((token) => isKeyword(token, 'FROM'));
  const hasOther = tokens.some(
    (token, i) => (i > 0 && isKeyword(token, 'SELECT')) || isKeyword(token, 'OR'),
  );
  if (!isKeyword(tokens[0], 'SELECT') || froms.length !== 1 || hasOther) return undefined;
  const parameters = parameterNumbers(tokens);
  if (parameters === undefined) return undefined;

  let at = tokens.indexOf(froms[0]!) + 1;
  const table = nameAt(tokens[at]);
  if (table === undefined || froms[0]!.depth > 0) return undefined;
  at += 1;
  let alias = table;
  if (isKeyword(tokens[at], 'AS')) at += 1;
  if (!isKeyword(tokens[at], 'WHERE')) {
    const name = nameAt(tokens[at]);
    if (name === undefined || !isKeyword(tokens[at + 1], 'WHERE')) return undefined;
    alias = name;
    at += 1;
  }
  at += 1;
  let column = nameAt(tokens[at]);
  at += 1;
  if (tokens[at]?.text === '.') {
    if (column !== alias) return undefined;
    column = nameAt(tokens[at + 1]);
    at += 2;
  }
  if (column === undefined) return undefined;

  const operands: Operand[] = [];
  const takeOperand = () => {
    const operand = operandOf(tokens[at], parameters);
    if (operand !== undefined) operands.push(operand);
    at += 1;
    return operand !== undefined;
  };
  if (tokens[at]?.text === '=') {
    at += tokens[at + 1]?.text === '=' ? 2 : 1;
    if (!takeOperand()) return undefined;
  } else if (isKeyword(tokens[at], 'IN') && tokens[at + 1]?.text === '(') {
    at += 1;
    do {
      at += 1;
      if (!takeOperand()) return undefined;
    } while (tokens[at]?.text === ',');
    if (tokens[at]?.text !== ')') return undefined;
    at += 1;
  } else return undefined;
  const next = tokens[at];
  if (next !== undefined && !ENDINGS.some((word) => isKeyword(next, word))) return undefined;
  return { table, column, operands };
}

/** Returns the keys that the lookup searches, whether such rows exist or not; undefined if they are not known. */
export function keysOf(
  { column, operands }: PointQuery,
  shape: RowShape,
  bindings: readonly Binding[],
): readonly LookupKey[] | undefined {
  const isRowid =
    column === shape.rowidName ||
    (shape.hasRowid && ROWID_NAMES.includes(column) && !shape.columns.includes(column));
  if (!isRowid && column !== shape.textKey?.name) return undefined;
  const keys: LookupKey[] = [];
  for (const operand of operands) {
    const value = 'value' in operand ? operand.value : bindings[operand.parameter];
    if (value === null) continue; // NULL is equal to nothing.
    const isKey = isRowid
      ? Number.isSafeInteger(value)
      : typeof value === 'string' && value.isWellFormed();
    if (!isKey) return undefined;
    keys.push(value as LookupKey);
  }
  return keys;
}

/** Reads a table's key columns from the schema; returns undefined if it is not an ordinary table. */
export function rowShape(
  table: string,
  statement: (sql: string) => PreparedStatement,
): RowShape | undefined {
  const kind = ask(statement(KIND), table);
  const isTable = kind.step() && kind.columnText(0) === 'table';
  const hasRowid = isTable && kind.columnNumber(1) === 0;
  // With COLLATE, a column and its index may compare differently.
  const collates = isTable && /\bCOLLATE\b/i.test(kind.columnText(2));
  kind.reset();
  if (!isTable) return undefined;
  const columns: string[] = [];
  const keys: { readonly name: string; readonly type: string; readonly column: number }[] = [];
  const listed = ask(statement(COLUMNS), table);
  while (listed.step()) {
    const name = listed.columnText(0).toLowerCase();
    const type = listed.columnText(1).toUpperCase();
    if (listed.columnNumber(2) > 0) keys.push({ name, type, column: columns.length });
    columns.push(name);
  }
  const index = ask(statement(KEY_INDEX), table);
  index.step();
  const [indexed, binary] = [index.columnNumber(0), index.columnNumber(1)];
  index.reset();
  const key = keys.length === 1 ? keys[0]! : undefined;
  // INTEGER PRIMARY KEY DESC has an index of its own, and is not an alias of the rowid.
  const isRowid = hasRowid && key?.type === 'INTEGER' && indexed === 0;
  const isIndexed = indexed > 0 && indexed === binary && !collates;
  const isText = key !== undefined && isIndexed && isTextType(key.type);
  return {
    hasRowid,
    rowidName: isRowid ? key.name : undefined,
    textKey: isText && columns.length === new Set(columns).size ? key : undefined,
    columns,
  };
}

/** True for types with text affinity: https://sqlite.org/datatype3.html#determination_of_column_affinity */
function isTextType(type: string): boolean {
  return !type.includes('INT') && ['CHAR', 'CLOB', 'TEXT'].some((part) => type.includes(part));
}

function ask(statement: PreparedStatement, table: string): PreparedStatement {
  statement.bindText(1, table);
  return statement;
}

/** Returns the number of each parameter, counted from 0; undefined if a parameter has a name. */
function parameterNumbers(tokens: readonly Token[]): ReadonlyMap<Token, number> | undefined {
  const numbers = new Map<Token, number>();
  let highest = 0;
  for (const token of tokens) {
    if (token.kind !== 'variable') continue;
    if (!token.text.startsWith('?')) return undefined;
    const number = token.text === '?' ? highest + 1 : Number(token.text.slice(1));
    highest = Math.max(highest, number);
    numbers.set(token, number - 1);
  }
  return numbers;
}

function operandOf(
  token: Token | undefined,
  parameters: ReadonlyMap<Token, number>,
): Operand | undefined {
  if (token === undefined) return undefined;
  const parameter = parameters.get(token);
  if (parameter !== undefined) return { parameter };
  if (token.kind === 'number' && /^\d{1,15}$/.test(token.text))
    return { value: Number(token.text) };
  if (token.kind === 'quoted' && /^'.*'$/s.test(token.text)) return { value: nameOf(token) };
  return undefined;
}

function nameAt(token: Token | undefined): string | undefined {
  const isName =
    token?.kind === 'word' || (token?.kind === 'quoted' && !token.text.startsWith("'"));
  return isName ? nameOf(token).toLowerCase() : undefined;
}
