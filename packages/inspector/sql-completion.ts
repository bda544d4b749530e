// Completions of a word of SQL: columns, tables and keywords, by the text before the cursor.

import type { Table } from './tables.ts';

export interface Suggestion {
  readonly text: string;
  readonly kind: 'table' | 'column' | 'keyword';
}

export interface Suggestions {
  /** Where the word begins that a suggestion replaces. */
  readonly from: number;
  readonly list: readonly Suggestion[];
}

const SHOWN_MAX = 8;
const KEYWORDS =
  'SELECT FROM WHERE GROUP BY ORDER BY HAVING LIMIT OFFSET JOIN LEFT JOIN ON AS DISTINCT COUNT INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE CREATE INDEX DROP TABLE ALTER TABLE EXPLAIN QUERY PLAN WITH UNION AND OR NOT NULL BETWEEN LIKE'
    .split(' ')
    .filter((word, index, all) => all.indexOf(word) === index);
/** Only a table can be next. */
const TABLE_FOLLOWS = /\b(?:from|join|into|update|table)\s+$/i;
const PLAIN_NAME = /^[A-Za-z_]\w*$/;

/** Completions of the word before the cursor; none inside a text or a comment. */
export function suggestionsAt(text: string, cursor: number, tables: readonly Table[]): Suggestions {
  const before = text.slice(0, cursor);
  const word = /(?<![\p{L}\p{N}_])[\p{L}_][\p{L}\p{N}_]*$/u.exec(before)?.[0] ?? '';
  const from = cursor - word.length;
  const [, owner] = /(?<![\p{L}\p{N}_])([\p{L}\p{N}_]+)\.$/u.exec(before.slice(0, from)) ?? [];
  const isInside = isQuoted(before.slice(0, from));
  if (isInside || (word === '' && owner === undefined)) return { from, list: [] };
  const isOfTable = TABLE_FOLLOWS.test(before.slice(0, from));
  const named = tables.filter(({ name }) => mentions(text, name));
  const owned = owner === undefined ? undefined : tableOf(text, owner, tables);
  const of =
    owner === undefined ? (named.length > 0 ? named : tables) : owned === undefined ? [] : [owned];
  const columns = of.flatMap((table) => table.columns.map(({ name }) => name));
  const all: Suggestion[] = [
    ...[...new Set(columns)].map((name) => ({ text: nameText(name), kind: 'column' }) as const),
    ...(owner === undefined
      ? [
          ...tables.map(({ name }) => ({ text: nameText(name), kind: 'table' }) as const),
          ...KEYWORDS.map((name) => ({ text: name, kind: 'keyword' }) as const),
        ]
      : []),
  ];
  const candidates = isOfTable ? all.filter(({ kind }) => kind === 'table') : all;
  const start = word.toLowerCase();
  const fits = candidates.filter(
    (one) =>
      one.text.replace(/^"/, '').toLowerCase().startsWith(start) &&
      one.text.toLowerCase() !== start,
  );
  return { from, list: fits.slice(0, SHOWN_MAX) };
}

/** The table of "n." in "FROM note AS n", or of that name. */
function tableOf(text: string, owner: string, tables: readonly Table[]): Table | undefined {
  const aliased = [...text.matchAll(new RegExp(`\\b(\\w+)"?\\s+(?:AS\\s+)?${owner}\\b`, 'giu'))];
  const names = [...aliased.map(([, name]) => name!), owner];
  return tables.find((table) => names.some((name) => isSame(table.name, name)));
}

function mentions(text: string, name: string): boolean {
  return text.toLowerCase().includes(name.toLowerCase());
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function nameText(name: string): string {
  return PLAIN_NAME.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** Texts and comments, also an unfinished text or comment at the end. */
const QUOTED = /'[^']*(?:'|$)|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$)/g;

/** True if a text or a comment is open at the end. */
function isQuoted(before: string): boolean {
  return [...before.matchAll(QUOTED)].some(([quoted]) => !isClosed(quoted));
}

function isClosed(quoted: string): boolean {
  if (quoted.startsWith("'")) return quoted.length > 1 && quoted.endsWith("'");
  return quoted.startsWith('--') ? quoted.endsWith('\n') : /^\/\*[\s\S]*\*\/$/.test(quoted);
}
