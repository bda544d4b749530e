// Suggestions while SQL is typed.

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

/** The suggestions at the bar. */
function at(marked: string): string[] {
  const cursor = marked.indexOf('|');
  return suggestionsAt(marked.replace('|', ''), cursor, TABLES).list.map(({ text }) => text);
}

test('[INSP4] columns of the tables that a statement names come first, then tables and keywords', () => {
  expect(at('SELECT t| FROM note')).toEqual(['title', 'TABLE']);
  expect(at('SELECT * FROM n|')).toEqual(['note']);
  expect(at('SELECT n.| FROM note AS n')).toEqual(['id', 'title']);
  expect(at('SELECT person.n| FROM note')).toEqual(['"nick name"']);
  expect(at('SELECT ti|')).toEqual(['title']);
  expect(at('sel|')).toEqual(['SELECT']);
  expect(suggestionsAt('SELECT ti', 9, TABLES)).toMatchObject({ from: 7 });
});

test('[INSP4] nothing is suggested inside texts and comments, for nothing, and for a whole word', () => {
  for (const marked of ["SELECT 'n|", 'SELECT 1 -- n|', '/* n|', 'SELECT |', 'SELECT note|']) {
    expect(at(marked)).toEqual([]);
  }
  expect(at("SELECT 'it''s' AS t, no|")).toEqual(['note', 'NOT']);
});
