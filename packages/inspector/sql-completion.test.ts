// The suggestions that are shown while SQL is typed.

import { expect, test } from 'vitest';
import { suggestionsAt } from './sql-completion.ts';
import type { Table } from './tables.ts';

const table = (name: string, ...columns: string[]): Table => ({
  name,
  kind: 'table',
  keys: [],
  columns: columns.map((column) => ({ name: column, type: '' })),
});
const TABLES = [table('note', 'id', 'title'), table('person', 'id', 'nick name')];

/** Returns the suggestions for a text at the place of the bar in it. */
function suggestionsAtBar(marked: string): string[] {
  const cursor = marked.indexOf('|');
  return suggestionsAt(marked.replace('|', ''), cursor, TABLES).list.map(({ text }) => text);
}

test('[INSP4] columns of the tables that a statement names come first, then tables, then keywords', () => {
  expect(suggestionsAtBar('SELECT n| FROM person')).toEqual([
    ...['"nick name"', 'note'],
    ...['NOT', 'NULL'],
  ]);
  expect(suggestionsAtBar('SELECT n| FROM note')).toEqual(['note', 'NOT', 'NULL']);
  // A statement that names no table may mean a column of any.
  expect(suggestionsAtBar('SELECT ti|')).toEqual(['title']);
  expect(suggestionsAtBar('sel|')).toEqual(['SELECT']);
});

test('[INSP4] only tables follow FROM, and only columns the name or alias of a table', () => {
  expect(suggestionsAtBar('SELECT * FROM n|')).toEqual(['note']);
  expect(suggestionsAtBar('SELECT n.| FROM note AS n')).toEqual(['id', 'title']);
  expect(suggestionsAtBar('SELECT person.n| FROM note')).toEqual(['"nick name"']);
});

test('[INSP4] a suggestion replaces the word before the cursor', () => {
  expect(suggestionsAt('SELECT ti', 9, TABLES)).toMatchObject({ from: 7 });
  expect(suggestionsAt('SELECT note.ti, id', 14, TABLES)).toMatchObject({ from: 12 });
});

test('[INSP4] nothing is suggested inside texts and comments, before a word, and for a complete word', () => {
  for (const marked of ["SELECT 'n|", 'SELECT 1 -- n|', '/* n|', 'SELECT |', 'SELECT note|']) {
    expect(suggestionsAtBar(marked)).toEqual([]);
  }
  expect(suggestionsAtBar("SELECT 'it''s' AS t, no|")).toEqual(['note', 'NOT']);
});
