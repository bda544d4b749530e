// Sorts the migration files of a D1 database, and splits them into statements, as wrangler does.
//
// Invariant: the time to split a text is linear in its length.

import { storageError } from './errors.ts';

/** Compares two paths by the numbers at the beginning of their names, then by name. Names without a number come last. */
export function compareMigrations(one: string, other: string): number {
  const [ones, others] = [one.split('/'), other.split('/')];
  for (let at = 0; at < Math.min(ones.length, others.length); at++) {
    const order = compareNames(ones[at]!, others[at]!);
    if (order !== 0) return order;
  }
  return ones.length - others.length;
}

function compareNames(one: string, other: string): number {
  const order = numberOf(one) - numberOf(other); // NaN if both are infinite
  if (order !== 0 && !Number.isNaN(order)) return order;
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

function numberOf(name: string): number {
  const number = Number.parseInt(name, 10);
  return Number.isNaN(number) ? Number.POSITIVE_INFINITY : number;
}

/**
 * Splits a migration file into statements. BEGIN and COMMIT are left out, because D1 runs each file in a transaction.
 *
 * @throws INVALID_ARGUMENT for a file with several transactions
 */
export function statementsIn(file: string): string[] {
  const sql = withoutTransaction(file);
  const first = sql.indexOf(';');
  if (first === -1 || first === sql.trimEnd().length - 1) return [sql];
  const statements = split(sql);
  return statements.length === 0 ? [sql] : statements;
}

const BEGIN = 'BEGIN TRANSACTION';

function withoutTransaction(sql: string): string {
  if (!sql.includes(BEGIN)) return sql;
  const rest = sql.replace(`${BEGIN};`, '').replace('COMMIT;', '');
  if (!rest.includes(BEGIN)) return rest;
  throw storageError(
    'INVALID_ARGUMENT',
    `The file has several transactions (${BEGIN}). D1 runs a file in one of its own: remove them.`,
  );
}

/** Matches one token: space and comments, quoted text, a semicolon, a word, or another character. */
const TOKENS =
  /(?<space>[ \r\t\n\f]+|--[^\n]*\n?|\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?)|(?<end>;)|(?<word>[\w$\u0080-\uffff]+)|'[^']*'?|"[^"]*"?|`[^`]*`?|\[[^\]]*\]?|[^ \r\t\n\f;\w$\u0080-\uffff'"`[/-]+|[/-]/g;

/** The kind of statement, as far as it was read. */
type Phase =
  | 'nothing'
  /** `EXPLAIN`, and words that may come before `CREATE`. */
  | 'explain'
  | 'create'
  /** A statement that its first semicolon ends. */
  | 'plain'
  /** `CREATE TRIGGER`, which ends with `; END;`. */
  | 'trigger'
  | 'semicolon of a trigger'
  | 'end of a trigger';

function split(sql: string): string[] {
  const statements: string[] = [];
  let start = 0;
  let phase: Phase = 'nothing';
  const close = (place?: number) => {
    const statement = phase === 'nothing' ? '' : sql.slice(start, place).trim();
    if (statement !== '') statements.push(statement);
  };
  for (const { 0: token, index, groups } of sql.matchAll(TOKENS)) {
    const { space, end, word } = groups!;
    if (space !== undefined) continue;
    if (end === undefined) {
      phase = phaseAfter(phase, word?.toLowerCase());
      continue;
    }
    if (phase === 'trigger' || phase === 'semicolon of a trigger') {
      phase = 'semicolon of a trigger';
      continue;
    }
    close(index);
    start = index + token.length;
    phase = 'nothing';
  }
  close();
  return statements;
}

/** Returns the phase after another token. `word` is in lower case; undefined for a token that is not a word. */
function phaseAfter(phase: Phase, word: string | undefined): Phase {
  switch (phase) {
    case 'plain':
      return 'plain';
    case 'nothing':
      return word === 'explain' || word === 'create' ? word : 'plain';
    case 'explain':
      if (word === 'create') return 'create';
      return EXPLAINS_NO_MORE.has(word) ? 'plain' : 'explain';
    case 'create':
      if (word === 'temp' || word === 'temporary') return 'create';
      return word === 'trigger' ? 'trigger' : 'plain';
    case 'semicolon of a trigger':
      return word === 'end' ? 'end of a trigger' : 'trigger';
    default:
      return 'trigger';
  }
}

const EXPLAINS_NO_MORE: ReadonlySet<string | undefined> = new Set([
  'explain',
  'temp',
  'temporary',
  'trigger',
  'end',
]);
