// Merges of the differences of two states into a database: changes that are made, conflicts, and their decisions.

import { expect, test } from 'vitest';
import {
  inState,
  openState,
  type StoredState,
  stateAfter,
  watchedComparison,
} from '../../../packages/testing/worker/stored-states.ts';
import { rows } from '../../../packages/testing/worker/test-database.ts';
import type { WireConflict } from '../../../src/shared/contract/changes.ts';
import type { Decisions } from '../../../src/shared/contract/decisions.ts';
import type { RowDifference, StateDifference } from '../diff/differences.ts';
import { integerCell } from '../sql/cells.ts';
import type { Comparison } from './comparison.ts';
import { mergeEach } from './merge.ts';

const METADATA = 'CREATE TABLE _cf_METADATA ( key INTEGER PRIMARY KEY, value BLOB )';
const KEYS = 'CREATE TABLE _cf_KV ( key TEXT PRIMARY KEY, value BLOB ) WITHOUT ROWID';

const all = (decision: 'ours' | 'theirs'): Decisions => ({ at: null, each: [decision] });
const each = (...decisions: ('ours' | 'theirs')[]): Decisions => ({
  at: 'a bookmark',
  each: decisions,
});

interface Result {
  readonly conflicts: readonly WireConflict[];
  readonly conflictCount: number;
  readonly hasChanged: boolean;
  /** The times that the alarm was set to. */
  readonly alarms: (number | null)[];
  readonly state: StoredState;
  /** Which comparisons were opened, and closed. */
  readonly opened: number;
  readonly closed: number;
}

/** Merges the differences of pairs of states into a copy of `ours`, as an object does, which commits or rolls back. */
async function merge(
  ours: StoredState,
  pairs: readonly (readonly [StoredState, StoredState])[],
  decisions: Decisions | null = null,
  alarm: number | null = null,
): Promise<Result> {
  const state = ours.copy();
  const alarms: (number | null)[] = [];
  const watched: ReturnType<typeof watchedComparison>[] = [];
  const open = ([before, after]: readonly [StoredState, StoredState]) => {
    watched.push(watchedComparison(before, after));
    return watched.at(-1)!.comparison;
  };
  const [first, ...others] = pairs;
  let present = alarm;
  const { database, close } = openState(state);
  database.run('BEGIN');
  const target = {
    database,
    get alarm() {
      return present;
    },
    setAlarm(timeMs: number | null) {
      alarms.push(timeMs);
      present = timeMs;
    },
  };
  const openOthers = others.map((pair) => async () => open(pair));
  const merged = await mergeEach(open(first!), openOthers, decisions, () => target);
  database.run(merged.hasChanged ? 'COMMIT' : 'ROLLBACK');
  close();
  const closed = watched.filter(({ closed: [before, after] }) => before > 0 && after > 0).length;
  return { ...merged, alarms, state, opened: watched.length, closed };
}

const valuesOf = (state: StoredState) =>
  inState(state, (database) => rows(database, 'SELECT id, v FROM t').map(String));
const base = stateAfter(
  null,
  KEYS,
  METADATA,
  'CREATE TABLE t (id INTEGER PRIMARY KEY, v)',
  "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')",
);
const set = (id: number, value: string) => `UPDATE t SET v = '${value}' WHERE id = ${id}`;
const alarmAt = (timeMs: number) =>
  `INSERT OR REPLACE INTO _cf_METADATA VALUES (1, ${timeMs}000000)`;
const [BASE_MS, OURS_MS, THEIRS_MS] = [4e12, 4.1e12, 4.2e12];

test('[MERGE3] changes without conflict are made, with the alarm; and nothing is left to do then', async () => {
  const theirs = stateAfter(
    base,
    set(2, 'theirs'),
    alarmAt(THEIRS_MS),
    "INSERT INTO _cf_KV VALUES ('k', x'01')",
  );
  const ours = stateAfter(base, set(1, 'ours'));
  const made = await merge(ours, [[base, theirs]]);
  expect([made.conflicts, made.conflictCount, made.hasChanged]).toEqual([[], 0, true]);
  expect(valuesOf(made.state)).toEqual(['1,ours', '2,theirs', '3,c']);
  expect(made.alarms).toEqual([THEIRS_MS]);
  const again = await merge(made.state, [[base, theirs]], null, THEIRS_MS);
  expect([again.conflicts, again.hasChanged, again.alarms]).toEqual([[], false, []]);
  const none = await merge(ours, [[theirs, theirs]]);
  expect([none.conflicts, none.hasChanged, none.alarms]).toEqual([[], false, []]);
});

test('[MERGE11] [MERGE3] an alarm alone is a change; the same alarm, or none on both sides, is not', async () => {
  const theirs = stateAfter(base, alarmAt(THEIRS_MS));
  const set = await merge(base, [[base, theirs]]);
  expect([set.hasChanged, set.alarms]).toEqual([true, [THEIRS_MS]]);
  const same = await merge(base, [[base, theirs]], null, THEIRS_MS);
  expect([same.hasChanged, same.alarms, same.conflicts]).toEqual([false, [], []]);
  const removed = await merge(theirs, [[theirs, base]], null, THEIRS_MS);
  expect([removed.hasChanged, removed.alarms]).toEqual([true, [null]]);
  const gone = await merge(theirs, [[theirs, base]], null, null);
  expect([gone.hasChanged, gone.alarms, gone.conflicts]).toEqual([false, [], []]);
  const other = stateAfter(base, 'INSERT INTO _cf_METADATA VALUES (2, 1)');
  expect((await merge(base, [[base, other]])).hasChanged).toBe(false);
});

/** The branch and the object have changed two rows and the alarm, and the branch one more row. */
const withAlarm = stateAfter(base, alarmAt(BASE_MS));
const theirs = stateAfter(
  withAlarm,
  set(1, 'theirs'),
  set(2, 'theirs'),
  set(3, 'theirs'),
  alarmAt(THEIRS_MS),
);
const ours = stateAfter(withAlarm, set(1, 'ours'), set(2, 'ours'), alarmAt(OURS_MS));
const both: [StoredState, StoredState] = [withAlarm, theirs];
const conflictOf = (id: number) => ({
  reason: 'changed',
  change: {
    kind: 'row',
    table: 't',
    key: { id },
    before: { id, v: 'abc'[id - 1] },
    after: { id, v: 'theirs' },
  },
  now: { id, v: 'ours' },
});
const alarmConflict = {
  reason: 'changed',
  change: { kind: 'alarm', before: BASE_MS, after: THEIRS_MS },
  now: OURS_MS,
};

test('[MERGE4] conflicts are listed with the present rows, the alarm last, and nothing is made', async () => {
  const found = await merge(ours, [both], null, OURS_MS);
  expect(found.conflicts).toEqual([conflictOf(1), conflictOf(2), alarmConflict]);
  expect([found.conflictCount, found.hasChanged, found.alarms]).toEqual([3, false, []]);
  expect(valuesOf(found.state)).toEqual(['1,ours', '2,ours', '3,c']);
});

test.for([
  ['theirs', 'theirs', 'theirs'],
  ['theirs', 'ours', 'ours'],
  ['ours', 'theirs', 'ours'],
  ['ours', 'ours', 'theirs'],
  ['ours', 'ours', 'ours'],
] as const)(
  '[MERGE4] conflicts decided one by one, as %s, %s and %s, are made so, with all the rest',
  async (decided) => {
    const [first, second, alarm] = decided;
    const made = await merge(ours, [both], each(...decided), OURS_MS);
    expect([made.conflicts, made.hasChanged]).toEqual([[], true]);
    expect(valuesOf(made.state)).toEqual([`1,${first}`, `2,${second}`, '3,theirs']);
    expect(made.alarms).toEqual(alarm === 'theirs' ? [THEIRS_MS] : []);
  },
);

test.for(['ours', 'theirs'] as const)('[MERGE4] all conflicts decided as %s', async (decision) => {
  const made = await merge(ours, [both], all(decision), OURS_MS);
  expect([made.conflicts, made.hasChanged]).toEqual([[], true]);
  expect(valuesOf(made.state)).toEqual([`1,${decision}`, `2,${decision}`, '3,theirs']);
  expect(made.alarms).toEqual(decision === 'theirs' ? [THEIRS_MS] : []);
});

test('[MERGE1] conflicts that were not decided are open', async () => {
  const found = await merge(ours, [both], each('theirs', 'ours'), OURS_MS);
  expect([found.conflicts, found.hasChanged]).toEqual([[alarmConflict], false]);
  const two = await merge(ours, [both], each('theirs'), OURS_MS);
  expect(two.conflicts).toEqual([conflictOf(2), alarmConflict]);
  expect(valuesOf(two.state)).toEqual(['1,ours', '2,ours', '3,c']);
});

test('[MERGE3] an alarm comes into an object that never had one, and goes again', async () => {
  const none = stateAfter(null, 'CREATE TABLE t (id INTEGER PRIMARY KEY, v)');
  const theirs = stateAfter(
    none,
    METADATA,
    alarmAt(THEIRS_MS),
    'INSERT INTO _cf_METADATA VALUES (-5, 1)',
  );
  expect((await merge(none, [[none, theirs]])).alarms).toEqual([THEIRS_MS]);
  expect((await merge(theirs, [[theirs, none]], null, THEIRS_MS)).alarms).toEqual([null]);
});

test('[MERGE4] a trigger that is decided as ours, with the name of a table, keeps no row of that table back', async () => {
  const trigger = (n: number) => `CREATE TRIGGER u AFTER INSERT ON t BEGIN SELECT ${n}; END`;
  const first = stateAfter(base, 'CREATE TABLE u (a)', trigger(0));
  const theirs = stateAfter(
    first,
    'DROP TRIGGER u',
    trigger(1),
    'INSERT INTO u VALUES (1)',
    set(1, 'theirs'),
  );
  const ours = stateAfter(first, 'DROP TRIGGER u', trigger(2), set(1, 'ours'));
  const made = await merge(ours, [[first, theirs]], each('ours', 'theirs'));
  expect([made.conflicts, made.hasChanged]).toEqual([[], true]);
  expect(inState(made.state, (database) => rows(database, 'SELECT * FROM u'))).toEqual([[1]]);
});

test('[MERGE11] if all is decided as ours, and nothing else has changed, nothing is made', async () => {
  const theirs = stateAfter(withAlarm, set(1, 'theirs'), alarmAt(THEIRS_MS));
  const none = await merge(ours, [[withAlarm, theirs]], all('ours'), OURS_MS);
  expect([none.conflicts, none.hasChanged, none.alarms]).toEqual([[], false, []]);
  const alone = await merge(ours, [[withAlarm, theirs]], each('ours', 'theirs'), OURS_MS);
  expect([alone.hasChanged, alone.alarms]).toEqual([true, [THEIRS_MS]]);
  expect(valuesOf(alone.state)).toEqual(['1,ours', '2,ours', '3,c']);
});

test('[MERGE4] a definition that is decided as ours keeps its rows, also if something else is decided as theirs', async () => {
  const theirs = stateAfter(
    base,
    'ALTER TABLE t ADD COLUMN theirs',
    set(1, 'theirs'),
    "INSERT INTO _cf_KV VALUES ('k', x'01')",
  );
  const ours = stateAfter(
    base,
    'ALTER TABLE t ADD COLUMN ours',
    set(2, 'ours'),
    "INSERT INTO _cf_KV VALUES ('k', x'02')",
  );
  const found = await merge(ours, [[base, theirs]]);
  expect(found.conflicts.map(({ change }) => change.kind)).toEqual(['schema', 'key']);
  expect(found.conflicts[1]?.now).toEqual(Uint8Array.of(2));
  for (const key of ['ours', 'theirs'] as const) {
    const made = await merge(ours, [[base, theirs]], each('ours', key));
    expect([made.conflicts, made.hasChanged]).toEqual([[], key === 'theirs']);
    expect(valuesOf(made.state)).toEqual(['1,a', '2,ours', '3,c']);
  }
  const taken = await merge(ours, [[base, theirs]], each('theirs', 'ours'));
  expect(taken.hasChanged).toBe(true);
  expect(valuesOf(taken.state)).toEqual(['1,theirs', '2,b', '3,c']);
});

test('[MERGE4] rows of a table that the object has dropped, or has made otherwise, are in conflict even as theirs', async () => {
  const theirs = stateAfter(base, set(1, 'theirs'), "INSERT INTO _cf_KV VALUES ('k', x'01')");
  const dropped = stateAfter(base, 'DROP TABLE t', "INSERT INTO _cf_KV VALUES ('k', x'02')");
  for (const decisions of [all('theirs'), each('theirs', 'theirs'), each('ours', 'theirs')]) {
    const found = await merge(dropped, [[base, theirs]], decisions);
    const rowConflict = { reason: 'changed', change: { kind: 'row', table: 't' } };
    expect(found.conflicts.at(-1)).toMatchObject(rowConflict);
    expect(found.hasChanged).toBe(false);
  }
  expect((await merge(dropped, [[base, theirs]], each('theirs', 'ours'))).hasChanged).toBe(true);
});

test('[MERGE8] a change that cannot be made is in conflict, unless it is decided as ours', async () => {
  const first = stateAfter(base, "CREATE VIRTUAL TABLE hidden USING fts5(a, content='')");
  const theirs = stateAfter(first, "INSERT INTO hidden VALUES ('x')", set(1, 'theirs'));
  const unnamed = { reason: 'unnamed', change: { kind: 'table', table: 'hidden' }, now: undefined };
  for (const decisions of [null, all('theirs'), each('theirs')]) {
    const found = await merge(first, [[first, theirs]], decisions);
    expect([found.conflicts, found.hasChanged]).toEqual([[unnamed], false]);
  }
  for (const decisions of [all('ours'), each('ours')]) {
    const made = await merge(first, [[first, theirs]], decisions);
    expect([made.conflicts, made.hasChanged]).toEqual([[], true]);
    expect(valuesOf(made.state)).toEqual(['1,theirs', '2,b', '3,c']);
  }
});

test('[MERGE8] a constraint that refuses the changes is in conflict, whatever is decided; the alarm stays', async () => {
  const first = stateAfter(base, 'CREATE TABLE u (a INTEGER PRIMARY KEY, b UNIQUE)');
  const theirs = stateAfter(first, 'INSERT INTO u VALUES (1, 1)', alarmAt(THEIRS_MS));
  const ours = stateAfter(first, 'INSERT INTO u VALUES (2, 1)');
  for (const decisions of [null, all('theirs'), all('ours')]) {
    const found = await merge(ours, [[first, theirs]], decisions);
    const change = { kind: 'table', table: 'u' };
    expect(found.conflicts).toEqual([{ reason: 'constraint', change, now: undefined }]);
    expect([found.conflictCount, found.hasChanged, found.alarms]).toEqual([1, false, []]);
  }
});

test('[MERGE4] a row that the object has not, and a key that it has not, are in conflict with undefined', async () => {
  const first = stateAfter(base, "INSERT INTO _cf_KV VALUES ('k', x'01')");
  const theirs = stateAfter(first, set(1, 'theirs'), "UPDATE _cf_KV SET value = x'02'");
  const ours = stateAfter(first, 'DELETE FROM t WHERE id = 1', 'DELETE FROM _cf_KV');
  const { conflicts } = await merge(ours, [[first, theirs]]);
  expect(conflicts.map(({ change, now }) => [change.kind, now])).toEqual([
    ['key', undefined],
    ['row', undefined],
  ]);
});

test('[MERGE4] of many conflicts, all are listed and counted', async () => {
  const first = stateAfter(
    base,
    'WITH RECURSIVE n(i) AS (SELECT 101 UNION ALL SELECT i + 1 FROM n WHERE i < 350) INSERT INTO t SELECT i, i FROM n',
  );
  const change = (value: string) => stateAfter(first, `UPDATE t SET v = '${value}' WHERE id > 100`);
  const found = await merge(change('ours'), [[first, change('theirs')]]);
  expect(found.conflicts.length).toBe(250);
  expect([found.conflictCount, found.hasChanged]).toEqual([250, false]);
});

test('[MERGE4] of more than 10,000 conflicts, the first 10,000 are listed, and all are counted', {
  tags: 'long',
}, async () => {
  const first = stateAfter(
    base,
    'WITH RECURSIVE n(i) AS (SELECT 11 UNION ALL SELECT i + 1 FROM n WHERE i < 10015) INSERT INTO t SELECT i, 0 FROM n',
  );
  const change = (value: string) => stateAfter(first, `UPDATE t SET v = '${value}' WHERE id > 10`);
  const found = await merge(change('ours'), [[first, change('theirs')]]);
  expect([found.conflicts.length, found.conflictCount]).toEqual([10_000, 10_005]);
  expect(found.conflicts[9999]).toMatchObject({ change: { key: { id: 10_010 } } });
});

test('[MERGE7] a failure of the disk is an error, and closes the comparison', async () => {
  const theirs = stateAfter(base, 'CREATE INDEX i ON t (v)');
  const watched = watchedComparison(base, theirs);
  const state = stateAfter(base, `INSERT INTO t VALUES (9, zeroblob(100000))`);
  const { database, close } = openState(state);
  database.run('BEGIN');
  // The pages of the large value, which only the index reads.
  state.fail(5 * 4096);
  const target = { database, alarm: null, setAlarm() {} };
  await expect(mergeEach(watched.comparison, [], null, () => target)).rejects.toMatchObject({
    code: 'IO',
  });
  expect(watched.closed).toEqual([1, 1]);
  close();
});

test('[REVERT7] each comparison is merged into the state after the ones before it, and all are closed', async () => {
  const one = stateAfter(base, set(1, 'one'));
  const two = stateAfter(one, set(2, 'two'));
  const made = await merge(base, [
    [base, one],
    [one, two],
  ]);
  expect([made.hasChanged, made.opened, made.closed]).toEqual([true, 2, 2]);
  expect(valuesOf(made.state)).toEqual(['1,one', '2,two', '3,c']);
  // Back and forth: the second comparison finds the changes of the first.
  const back = await merge(base, [
    [base, one],
    [one, base],
  ]);
  expect(valuesOf(back.state)).toEqual(['1,a', '2,b', '3,c']);
});

test.for([0, 1, 2])(
  '[REVERT8] of three comparisons, only number %i has something to change',
  async (some) => {
    const pairs = [0, 1, 2].map(
      (i) => [base, i === some ? stateAfter(base, set(2, 'some')) : base] as const,
    );
    const made = await merge(base, pairs);
    expect([made.hasChanged, made.opened, made.closed]).toEqual([true, 3, 3]);
    expect(valuesOf(made.state)).toEqual(['1,a', '2,some', '3,c']);
  },
);

test('[REVERT7] the first comparison with a conflict ends it: no later one is opened, and nothing has changed', async () => {
  const one = stateAfter(base, set(1, 'one'));
  const two = stateAfter(base, set(2, 'two'));
  const found = await merge(stateAfter(base, set(2, 'ours')), [
    [base, one],
    [base, two],
    [base, one],
  ]);
  expect(found.conflicts).toMatchObject([{ change: { key: { id: 2 } }, now: { v: 'ours' } }]);
  expect([found.hasChanged, found.opened, found.closed]).toEqual([false, 2, 2]);
  expect(valuesOf(found.state)).toEqual(['1,a', '2,ours', '3,c']);
});

test.for([
  [0, false],
  [1, true],
] as const)(
  '[MERGE7] changes of 64 MiB and %i bytes, old and new values together, are MEMORY_FULL: %s',
  async ([more, isFull]) => {
    const cell = (sizeBytes: number) => new Uint8Array(sizeBytes);
    // A difference that no test applies: only the number of its bytes counts.
    const change = (before: Uint8Array | null, after: Uint8Array | null): RowDifference => ({
      kind: 'row',
      table: '_cf_METADATA',
      shapes: [null, null],
      key: [integerCell(2n)],
      rowid: 2n,
      before: before && [cell(0), before],
      after: after && [after],
    });
    const mebi = cell(1 << 20);
    const changes: StateDifference[] = [
      ...Array(20).fill(change(mebi, mebi)),
      ...Array(20).fill(change(null, mebi)),
      ...Array(3).fill(change(mebi, null)),
      {
        kind: 'schema',
        type: 'view',
        name: '_cf_v',
        table: '_cf_METADATA',
        before: 'a text',
        after: 'another text',
      },
      change(cell((1 << 20) - 10), cell(10 + more)),
    ];
    let closed = 0;
    const comparison = {
      differences: { all: () => changes, raisedSequences: () => new Map() },
      close: () => void closed++,
    } as unknown as Comparison;
    const { database, close } = openState(base.copy());
    const target = { database, alarm: null, setAlarm() {} };
    const found = await mergeEach(comparison, [], null, () => target).catch((error) => error);
    if (isFull) {
      expect(found).toMatchObject({
        code: 'MEMORY_FULL',
        message: expect.stringContaining('64 MiB'),
      });
    } else expect(found).toEqual({ conflicts: [], conflictCount: 0, hasChanged: false });
    expect(closed).toBe(1);
    close();
  },
);
