// Reads a sandbox's messages about an object's history: its commits, its state, and the differences of two states.
//
// Invariant: as for all messages of a sandbox, reading takes bounded work, and another shape is an Overrun.

import { SHOWN_MAX } from '../../packages/inspector/compared.ts';
import { LETTERS } from '../playground/calls.ts';
import { COMMITS_MAX, type Commit, type Past, type Reading } from '../playground/object-time.ts';
import {
  type Change,
  type Differences,
  SHOWN,
  type ShownKey,
  type ShownRow,
  type ShownTable,
  type State,
} from '../playground/state.ts';
import {
  fieldsOf,
  readList,
  readMap,
  readNumber,
  readText,
  readTime,
  unknownMessage,
} from './shape.ts';

/** The most columns that SQLite allows in a table. */
const COLUMNS_MAX = 2000;
const TABLES_MAX = 10_000;
const CHANGES: readonly Change[] = ['added', 'changed', 'removed'];

/** @throws Overrun, as all below */
export function readReading(value: unknown): Reading {
  const { commits, state } = fieldsOf(value);
  return { commits: readList(commits, COMMITS_MAX).map(readCommit), state: readState(state) };
}

export function readPast(value: unknown): Past {
  const { state, differences } = fieldsOf(value);
  return { state: readState(state), differences: readDifferences(differences) };
}

/** Reads the answer of `restore`, a bookmark. */
export const readBookmark = (value: unknown): string => readText(value, LETTERS.word);

/** Reads the answer of `revert`: the bookmark of the new commit, or null. */
export const readMade = (value: unknown): string | null =>
  value === null ? null : readBookmark(value);

function readCommit(value: unknown): Commit {
  const { bookmark, timeMs, isRestore, label } = fieldsOf(value);
  return {
    bookmark: readBookmark(bookmark),
    timeMs: readTime(timeMs),
    isRestore: isRestore === true,
    label: readText(label, LETTERS.word),
  };
}

function readState(value: unknown): State {
  const { keys, hasMoreKeys, tables } = fieldsOf(value);
  return {
    keys: readList(keys, SHOWN.keys).map(readKey),
    hasMoreKeys: hasMoreKeys === true,
    tables: readList(tables, SHOWN.tables).map(readTable),
  };
}

function readKey(value: unknown): ShownKey {
  const { key, text, print } = fieldsOf(value);
  return {
    key: readText(key, LETTERS.name),
    text: readText(text, LETTERS.line),
    print: readText(print, LETTERS.word),
  };
}

function readTable(value: unknown): ShownTable {
  const { name, columns, rows, count } = fieldsOf(value);
  return {
    name: readText(name, LETTERS.name),
    columns: readNames(columns),
    rows: readList(rows, SHOWN.rows).map(readRow),
    count: readNumber(count),
  };
}

function readRow(value: unknown): ShownRow {
  const { id, texts, prints } = fieldsOf(value);
  const read = (list: unknown, lettersMax: number) =>
    readList(list, COLUMNS_MAX).map((text) => readText(text, lettersMax));
  return {
    id: readText(id, LETTERS.message),
    texts: read(texts, LETTERS.line),
    prints: read(prints, LETTERS.word),
  };
}

function readDifferences(value: unknown): Differences {
  const { keys, tables, unnamed } = fieldsOf(value);
  return {
    keys: readChanges(keys),
    tables: readMap(tables, TABLES_MAX, LETTERS.name, (table) => {
      const { columns, rows } = fieldsOf(table);
      return { columns: readNames(columns), rows: readChanges(rows) };
    }),
    unnamed: readList(unnamed, TABLES_MAX).map((name) => readText(name, LETTERS.name)),
  };
}

const readChanges = (value: unknown): ReadonlyMap<string, Change> =>
  readMap(value, SHOWN_MAX, LETTERS.message, readChange);

function readChange(value: unknown): Change {
  const known = CHANGES.find((one) => one === value);
  if (known === undefined) throw unknownMessage();
  return known;
}

const readNames = (value: unknown): string[] =>
  readList(value, COLUMNS_MAX).map((name) => readText(name, LETTERS.name));
