// UPDATE and DELETE with ORDER BY and LIMIT, which the official build of SQLite cannot parse.
//
// A build that can parse it turns such a statement into one over the rows' identities. Here the text is
// rewritten the same way:
//
//   DELETE FROM t WHERE a > 1 ORDER BY b LIMIT 2
//   DELETE FROM t WHERE rowid IN (SELECT rowid FROM t WHERE a > 1 ORDER BY b LIMIT 2)
//
// so results, counts and errors match those of such a build. Statements that this form cannot express
// (views, UPDATE … FROM, parameters in RETURNING) are refused, and the error names an alternative.

import { type StorageError, storageError } from '../../../src/shared/contract/errors.ts';
import { isKeyword, nameOf, statementTokens, type Token } from './tokens.ts';

/** The properties of a statement's table that the rewriting needs. */
export interface TableShape {
  readonly kind: 'table' | 'view';
  /** The columns of the primary key, in its order, if the table has no rowid; empty otherwise. */
  readonly keyColumns: readonly string[];
  readonly columns: readonly string[];
}

export type DescribeTable = (name: string) => TableShape | undefined;

export interface Rewritten {
  readonly sql: string;
  /** The end of the statement in the original text. */
  readonly end: number;
}

// Names of the row number; a column of the same name hides that name.
const ROWID_NAMES = ['rowid', '_rowid_', 'oid'];

/**
 * Rewrites the first statement of the text without ORDER BY and LIMIT; returns undefined if it is not an UPDATE or
 * DELETE that ends with them.
 *
 * @throws SQL if it does but cannot be rewritten exactly.
 */
export function rewriteOrderLimit(
  text: string,
  describeTable: DescribeTable,
): Rewritten | undefined {
  const tokens = statementTokens(text);
  const clauses = findClauses(tokens);
  if (clauses === undefined) return undefined;
  const { verb, target, where, returning, orderBy, limit, end } = clauses;
  if (limit === undefined) {
    if (orderBy === undefined) return undefined;
    throw sqlError(`ORDER BY without LIMIT on ${verb}: SQLITE_ERROR`);
  }

  const table = describeTable(tableName(target));
  // If the table is unknown, let SQLite report that.
  const identity = table === undefined ? ['rowid'] : rowIdentity(verb, table);
  if (clauses.updatesFrom) {
    throw refusal(verb, 'with FROM', 'select the rows in a subquery of its WHERE clause');
  }
  if (returning?.some((token) => token.kind === 'variable')) {
    throw refusal(verb, 'with parameters in RETURNING', 'compute those columns from the rows');
  }

  const source = (part: readonly Token[]) => textOf(text, part);
  const key = identity.length === 1 ? identity[0]! : `(${identity.join(', ')})`;
  const chosen = [
    `SELECT ${identity.join(', ')} FROM ${source(target)}`,
    ...(where === undefined ? [] : [source(where)]),
    ...(orderBy === undefined ? [] : [source(orderBy)]),
    source(limit),
  ].join(' ');
  const sql = [
    // Up to the table, including a WITH clause; for UPDATE, the SET clause follows the table.
    text.slice(0, target[0]!.start),
    source(withoutIndexedBy(target)),
    ` ${source(clauses.assignments)} WHERE ${key} IN (${chosen})`,
    ...(returning === undefined ? [] : [` ${source(returning)}`]),
  ].join('');
  return { sql, end: Math.min(end, text.length) };
}

interface Clauses {
  readonly verb: 'UPDATE' | 'DELETE';
  /** The table with its alias and INDEXED BY. */
  readonly target: readonly Token[];
  /** From SET to the next clause; empty for DELETE. */
  readonly assignments: readonly Token[];
  readonly updatesFrom: boolean;
  readonly where: readonly Token[] | undefined;
  readonly returning: readonly Token[] | undefined;
  readonly orderBy: readonly Token[] | undefined;
  readonly limit: readonly Token[] | undefined;
  readonly end: number;
}

// The clauses in the order of the grammar; each extends to the next one present.
const CLAUSE_ORDER = ['SET', 'FROM', 'WHERE', 'RETURNING', 'ORDER', 'LIMIT'] as const;

function findClauses(all: readonly Token[]): Clauses | undefined {
  const last = all.at(-1);
  if (last === undefined) return undefined;
  const tokens = last.text === ';' && last.depth === 0 ? all.slice(0, -1) : all;
  const outermost = (keyword: string) => (token: Token) =>
    token.depth === 0 && isKeyword(token, keyword);
  const first = tokens.findIndex(
    (token) => outermost('UPDATE')(token) || outermost('DELETE')(token),
  );
  if (first < 0 || !isPrefix(tokens.slice(0, first))) return undefined;
  const verb = isKeyword(tokens[first], 'UPDATE') ? 'UPDATE' : 'DELETE';

  const targetStart = verb === 'DELETE' ? first + 2 : afterConflictClause(tokens, first + 1);
  const starts = new Map<string, number>();
  for (let index = targetStart; index < tokens.length; index++) {
    const keyword = CLAUSE_ORDER.find((clause) => outermost(clause)(tokens[index]!));
    if (keyword === undefined || starts.has(keyword)) continue;
    // IS [NOT] DISTINCT FROM is an operator.
    if (keyword === 'FROM' && isKeyword(tokens[index - 1], 'DISTINCT')) continue;
    starts.set(keyword, index);
  }
  const found = [...starts.keys()] as (typeof CLAUSE_ORDER)[number][];
  const isOrdered = found.every(
    (keyword, i) => i === 0 || CLAUSE_ORDER.indexOf(found[i - 1]!) < CLAUSE_ORDER.indexOf(keyword),
  );
  if (!isOrdered) return undefined;
  const part = (keyword: (typeof CLAUSE_ORDER)[number]): Token[] | undefined => {
    const start = starts.get(keyword);
    if (start === undefined) return undefined;
    const later = [...starts.values()].filter((other) => other > start);
    return tokens.slice(start, Math.min(...later, tokens.length));
  };
  const target = tokens.slice(targetStart, Math.min(...starts.values(), tokens.length));
  if (target.length === 0) return undefined;
  return {
    verb,
    target,
    assignments: part('SET') ?? [],
    updatesFrom: starts.has('FROM'),
    where: part('WHERE'),
    returning: part('RETURNING'),
    orderBy: part('ORDER'),
    limit: part('LIMIT'),
    // If it has no semicolon, comments after it belong to it.
    end: tokens.length < all.length ? last.end : Number.POSITIVE_INFINITY,
  };
}

/** True for tokens that may precede UPDATE and DELETE: nothing, EXPLAIN, a WITH clause. */
function isPrefix(tokens: readonly Token[]): boolean {
  let rest = tokens;
  if (isKeyword(rest[0], 'EXPLAIN')) {
    rest = rest.slice(isKeyword(rest[1], 'QUERY') && isKeyword(rest[2], 'PLAN') ? 3 : 1);
  }
  return rest.length === 0 || isKeyword(rest[0], 'WITH');
}

/** Returns the index after OR REPLACE and similar clauses. */
function afterConflictClause(tokens: readonly Token[], index: number): number {
  return isKeyword(tokens[index], 'OR') ? index + 2 : index;
}

function tableName(target: readonly Token[]): string {
  const qualified = target[1]?.text === '.' && target[2] !== undefined;
  return nameOf(qualified ? target[2]! : target[0]!);
}

function rowIdentity(verb: string, table: TableShape): string[] {
  if (table.kind === 'view') {
    throw refusal(verb, 'on a view', 'change its tables directly');
  }
  if (table.keyColumns.length > 0) return table.keyColumns.map(quoteName);
  const columns = new Set(table.columns.map((name) => name.toLowerCase()));
  const rowid = ROWID_NAMES.find((name) => !columns.has(name));
  if (rowid === undefined) {
    throw refusal(verb, 'on a table whose columns hide its rowid', 'use a subquery in WHERE');
  }
  return [rowid];
}

/** INDEXED BY belongs to the inner SELECT alone; NOT INDEXED stays in both. */
function withoutIndexedBy(target: readonly Token[]): Token[] {
  const at = target.findIndex(
    (token, index) => isKeyword(token, 'INDEXED') && isKeyword(target[index + 1], 'BY'),
  );
  return at < 0 ? [...target] : [...target.slice(0, at), ...target.slice(at + 3)];
}

function textOf(text: string, tokens: readonly Token[]): string {
  const first = tokens[0];
  return first === undefined ? '' : text.slice(first.start, tokens.at(-1)!.end);
}

function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function refusal(verb: string, where: string, wayOut: string): StorageError {
  return sqlError(
    `${verb} … ORDER BY … LIMIT ${where} is not supported by this build of SQLite; ${wayOut}: ` +
      'SQLITE_ERROR',
  );
}

function sqlError(message: string): StorageError {
  return storageError('SQL', message);
}
