// Changes between two states, applied to a third one: without a log, and without an object.

import { expect, test } from 'vitest';
import { programs, THREE } from '../../testing/state-programs.ts';
import {
  apply,
  contentOfState,
  inState,
  type StoredState,
  stateAfter,
} from '../../testing/stored-states.ts';
import { rows } from '../../testing/test-database.ts';
import { RefusedChanges } from './application.ts';

/** The reason and the thing that a constraint refuses. */
function refusalOf(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    if (error instanceof RefusedChanges) return error.change;
    throw error;
  }
  return undefined;
}

const valuesOf = (state: StoredState, sql: string) =>
  inState(state, (database) => rows(database, sql));

function isSound(state: StoredState): void {
  expect(valuesOf(state, 'PRAGMA quick_check')).toEqual([['ok']]);
  expect(valuesOf(state, 'PRAGMA foreign_key_check')).toEqual([]);
}

const named = Object.keys(programs).filter((name) => name !== 'keys');

test.for(named)(
  '[MERGE6] with %s: applied to the first state, the changes give the second one, and nothing is left to do',
  (name) => {
    const [first, later] = programs[name]!;
    const base = stateAfter(null, ...first);
    const theirs = stateAfter(base, ...later);
    const { state, conflicts, isEmpty } = apply(base, base, theirs);
    expect([conflicts, isEmpty]).toEqual([[], false]);
    expect(contentOfState(state)).toEqual(contentOfState(theirs));
    isSound(state);
    const again = apply(theirs, base, theirs);
    expect([again.conflicts, again.isEmpty, again.tables]).toEqual([[], true, []]);
    expect(contentOfState(again.state)).toEqual(contentOfState(theirs));
  },
);

test.for(named)(
  '[REVERT1] with %s: the changes of the other direction give the first state, and other tables of the object stay',
  (name) => {
    const [first, later] = programs[name]!;
    const base = stateAfter(null, ...first);
    const theirs = stateAfter(base, ...later);
    const own = ['CREATE TABLE own (a, b UNIQUE)', "INSERT INTO own VALUES (1, 2), ('x', 3)"];
    const { state, conflicts } = apply(stateAfter(theirs, ...own), theirs, base);
    expect(conflicts).toEqual([]);
    expect(contentOfState(state)).toEqual(contentOfState(stateAfter(base, ...own)));
    isSound(state);
  },
);

test('[MERGE6] keys come from a branch into an object that had none, and go again; the empty table of them stays', () => {
  const [first, later] = programs.keys!;
  const base = stateAfter(null, ...first);
  const theirs = stateAfter(base, ...later);
  const made = apply(base, base, theirs);
  expect([made.conflicts, made.isEmpty, made.tables]).toEqual([[], false, ['_cf_KV']]);
  expect(contentOfState(made.state)).toEqual(contentOfState(theirs));
  const back = apply(theirs, theirs, base);
  expect([back.conflicts, back.isEmpty]).toEqual([[], false]);
  expect(contentOfState(back.state)).toEqual(
    contentOfState(stateAfter(theirs, 'DELETE FROM _cf_KV')),
  );
  const empty = stateAfter(base, later[0]!);
  expect(apply(base, base, empty).isEmpty).toBe(true);
});

test('[MERGE3] rows that a branch has changed, and the object in another way in other columns, are in conflict with the present rows', () => {
  const base = stateAfter(null, 'CREATE TABLE t (a INTEGER PRIMARY KEY, b, c)', THREE);
  const theirs = stateAfter(
    base,
    "UPDATE t SET b = 'theirs' WHERE a < 3",
    'DELETE FROM t WHERE a = 3',
  );
  const ours = stateAfter(base, "UPDATE t SET c = 'ours' WHERE a <> 2");
  const found = apply(ours, base, theirs);
  expect(found.conflicts).toEqual([
    ['changed', ['t', [1], [1, 'a', 'x'], [1, 'theirs', 'x']], [1, 'a', 'ours']],
    ['changed', ['t', [3], [3, 'c', 'z'], null], [3, 'c', 'ours']],
  ]);
  expect(valuesOf(found.state, 'SELECT b, c FROM t')).toEqual([
    ['a', 'ours'],
    ['theirs', 'y'],
    ['c', 'ours'],
  ]);
  const taken = apply(ours, base, theirs, true);
  expect(taken.conflicts).toEqual([]);
  expect(contentOfState(taken.state)).toEqual(contentOfState(theirs));
});

test('[MERGE4] if it is to be made in any case, a definition replaces that of the object, with all rows of the branch', () => {
  const base = stateAfter(null, 'CREATE TABLE t (a INTEGER PRIMARY KEY, b, c)', THREE);
  const theirs = stateAfter(base, 'ALTER TABLE t ADD COLUMN theirs', 'CREATE INDEX i ON t (b)');
  const ours = stateAfter(
    base,
    'ALTER TABLE t ADD COLUMN ours',
    'CREATE INDEX i ON t (c)',
    'DELETE FROM t',
  );
  const { conflicts } = apply(ours, base, theirs);
  expect(
    conflicts.map(([reason, change]) => [reason, ...(change as unknown[]).slice(0, 2)]),
  ).toEqual([
    ['changed', 'index', 'i'],
    ['changed', 'table', 't'],
  ]);
  const { state } = apply(ours, base, theirs, true);
  expect(contentOfState(state)).toEqual(contentOfState(theirs));
  const gone = stateAfter(base, 'DROP TABLE t');
  expect(contentOfState(apply(ours, base, gone, true).state)).toEqual(contentOfState(gone));
  const dropped = apply(gone, base, theirs, true);
  expect(contentOfState(dropped.state)).toEqual(contentOfState(theirs));
});

test('[MERGE8] a definition that does not fit the object is named, and so is the table whose constraint refuses rows', () => {
  const base = stateAfter(
    null,
    'CREATE TABLE t (a INTEGER PRIMARY KEY, b, c)',
    'CREATE TABLE u (a, b UNIQUE)',
  );
  const rows = [THREE, "INSERT INTO u VALUES (1, 'one')"];
  const refused = (ours: string[], theirs: string[]) =>
    refusalOf(() => apply(stateAfter(base, ...ours), base, stateAfter(base, ...theirs)));
  expect(
    refused(['INSERT INTO u (rowid, b) VALUES (5, 1)'], ['INSERT INTO u VALUES (1, 1)']),
  ).toEqual({
    kind: 'table',
    table: 'u',
  });
  expect(refused(["INSERT INTO u (rowid, b) VALUES (5, 'one')"], rows)).toEqual({
    kind: 'table',
    table: 'u',
  });
  expect(refused(['DROP TABLE t'], ['CREATE INDEX i ON t (b)'])).toMatchObject({
    type: 'index',
    name: 'i',
  });
  expect(
    refused(['DROP TABLE t'], ['CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END']),
  ).toMatchObject({ type: 'trigger', name: 'g' });
});
