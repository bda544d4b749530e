// Suggests columns, tables and keywords that complete the word of SQL before the cursor.

import type { Table } from './tables.ts';

export interface Suggestion {
  readonly text: string;
  readonly kind: 'table' | 'column' | 'keyword';
}

export interface Suggestions {
  /** The position at which the word begins that a suggestion replaces. */
  readonly from: number;
  readonly list: readonly Suggestion[];
}

const SHOWN_MAX = 8;
const KEYWORDS =
  'SELECT FROM WHERE GROUP BY ORDER BY HAVING LIMIT OFFSET JOIN LEFT JOIN ON AS DISTINCT COUNT INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE CREATE INDEX DROP TABLE ALTER TABLE EXPLAIN QUERY PLAN WITH UNION AND OR NOT NULL BETWEEN LIKE'
    .split(' ')
    .filter((word, index, all) => all.indexOf(word) === index);
/** Matches the end of a text after which only a table can follow. */
const TABLE_FOLLOWS = /\b(?:from|join|into|update|table)\s+$/i;
const PLAIN_NAME = /^[A-Za-z_]\w*$/;

/** Returns the suggestions for the word before the cursor. There are none inside a text or a comment. */
export function suggestionsAt(text: string, cursor: number, tables: readonly Table[]): Suggestions {
  const before = text.slice(0, cursor);
  const word = /(?<![\p{L}\p{N}_])[\p{L}_][\p{L}\p{N}_]*$/u.exec(before)?.[0] ?? '';
  const from = cursor - word.length;
  const [, owner] = /(?<![\p{L}\p{N}_])([\p{L}\p{N}_]+)\.$/u.exec(before.slice(0, from)) ?? [];
  const isInside = endsInsideQuote(before.slice(0, from));
  if (isInside || (word === '' && owner === undefined)) return { from, list: [] };
  const onlyTables = TABLE_FOLLOWS.test(before.slice(0, from));
  const mentioned = tables.filter(({ name }) => mentions(text, name));
  const owned = owner === undefined ? undefined : findTable(text, owner, tables);
  const columnSources =
    owner === undefined
      ? mentioned.length > 0
        ? mentioned
        : tables
      : owned === undefined
        ? []
        : [owned];
  const columns = columnSources.flatMap((table) => table.columns.map(({ name }) => name));
  const all: Suggestion[] = [
    ...[...new Set(columns)].map((name) => ({ text: nameText(name), kind: 'column' }) as const),
    ...(owner === undefined
      ? [
          ...tables.map(({ name }) => ({ text: nameText(name), kind: 'table' }) as const),
          ...KEYWORDS.map((name) => ({ text: name, kind: 'keyword' }) as const),
        ]
      : []),
  ];
  const candidates = onlyTables ? all.filter(({ kind }) => kind === 'table') : all;
  const start = word.toLowerCase();
  const matching = candidates.filter(
    (one) =>
      one.text.replace(/^"/, '').toLowerCase().startsWith(start) &&
      one.text.toLowerCase() !== start,
  );
  return { from, list: matching.slice(0, SHOWN_MAX) };
}

/** Returns the table with this alias, such as `n` in "FROM note AS n", or with this name. */
function findTable(text: string, owner: string, tables: readonly Table[]): Table | undefined {
  const aliased = [...text.matchAll(new RegExp(`\\b(\\w+)"?\\s+(?:AS\\s+)?${owner}\\b`, 'giu'))];
  const names = [...aliased.map(([, name]) => name!), owner];
  return tables.find((table) => names.some((name) => equalsIgnoringCase(table.name, name)));
}

function mentions(text: string, name: string): boolean {
  return text.toLowerCase().includes(name.toLowerCase());
}

function equalsIgnoringCase(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function nameText(name: string): string {
  return PLAIN_NAME.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** Matches texts and comments, and an unfinished text or comment at the end. */
const QUOTED = /'[^']*(?:'|$)|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$)/g;

/** Returns whether a text or a comment is open at the end. */
function endsInsideQuote(before: string): boolean {
  return [...before.matchAll(QUOTED)].some(([quoted]) => !isClosed(quoted));
}

function isClosed(quoted: string): boolean {
  if (quoted.startsWith("'")) return quoted.length > 1 && quoted.endsWith("'");
  return quoted.startsWith('--') ? quoted.endsWith('\n') : /^\/\*[\s\S]*\*\/$/.test(quoted);
}
