// The accesses noted for live reads, and when they are handed over.

import { beforeEach, expect, test } from 'vitest';
import { convertListOptions } from '../../../src/shared/contract/list-options.ts';
import { liveReadPolicy } from './access-policy.ts';
import { Accesses, ReadSet, type WriteSet } from './accesses.ts';

let accesses: Accesses;
let flushed: WriteSet[];
/** How often the tables of queries were forgotten. */
let forgottenCount: number;

beforeEach(() => {
  forgottenCount = 0;
  accesses = new Accesses({
    forgetTables() {
      forgottenCount += 1;
    },
  });
  flushed = [];
});

const watch = () => accesses.watch((writes) => flushed.push(writes));
const query = (
  reads: readonly string[],
  writes: 'all' | readonly string[],
  collected: ReadSet | null = null,
) => {
  const written = writes === 'all' ? 'all' : new Set(writes);
  accesses.notes!.onQuery({ reads: new Set(reads), writes: written }, collected);
};

/** A read of one key, and whether the writes that were handed over concern it. */
function concerns(writes: WriteSet | undefined, key: string): boolean {
  const reads = new ReadSet();
  reads.addKey(key);
  return writes?.meets(reads) ?? false;
}

test('[LIVE8] while nobody watches, nothing is noted or handed over', () => {
  expect([accesses.notes, forgottenCount]).toEqual([undefined, 0]);
  watch();
  expect(forgottenCount).toBe(1);
  accesses.notes!.committed();
  accesses.notes!.flushed();
  expect(flushed).toEqual([]);
});

test('[LIVE8] committed changes are handed over after the flush, once, and all together', () => {
  watch();
  accesses.notes!.writes.addKey('a');
  accesses.notes!.committed();
  accesses.notes!.writes.addKey('b');
  accesses.notes!.committed();
  accesses.notes!.committed();
  expect(flushed).toEqual([]);
  accesses.notes!.flushed();
  expect(flushed).toHaveLength(1);
  expect(['a', 'b', 'c'].map((key) => concerns(flushed[0], key))).toEqual([true, true, false]);
  accesses.notes!.flushed();
  expect(flushed).toHaveLength(1);
});

test('[LIVE8] a transaction that is open at the flush is handed over with the next one', () => {
  watch();
  accesses.notes!.writes.addKey('a');
  accesses.notes!.committed();
  accesses.notes!.writes.addKey('b');
  accesses.notes!.flushed();
  expect(concerns(flushed[0], 'b')).toBe(false);
  accesses.notes!.committed();
  accesses.notes!.flushed();
  expect([concerns(flushed[1], 'a'), concerns(flushed[1], 'b')]).toEqual([false, true]);
});

test('[LIVE8] a rollback discards the writes of the open transaction, and no others', () => {
  watch();
  accesses.notes!.writes.addKey('a');
  accesses.notes!.committed();
  accesses.notes!.writes.addKey('b');
  accesses.notes!.rolledBack();
  accesses.notes!.committed();
  accesses.notes!.flushed();
  expect([concerns(flushed[0], 'a'), concerns(flushed[0], 'b')]).toEqual([true, false]);
});

test('[LIVE8] nothing of before is handed over to somebody who watches again', () => {
  watch();
  accesses.notes!.writes.addKey('a');
  accesses.notes!.committed();
  accesses.notes!.writes.addKey('b');
  accesses.unwatch();
  expect([accesses.notes, forgottenCount]).toEqual([undefined, 2]);
  watch();
  accesses.notes!.committed();
  accesses.notes!.flushed();
  expect(flushed).toEqual([]);
});

test('[LIVE1] a query notes its tables: those it writes always, those it reads for who collects', () => {
  watch();
  query(['r'], ['w']);
  accesses.notes!.committed();
  accesses.notes!.flushed();
  query(['r'], []);
  accesses.notes!.committed();
  accesses.notes!.flushed();
  expect(flushed).toHaveLength(1);
  const tables = (...names: string[]) => {
    const reads = new ReadSet();
    reads.addTables(new Set(names));
    return reads;
  };
  expect([flushed[0]!.meets(tables('w')), flushed[0]!.meets(tables('r'))]).toEqual([true, false]);
  query([], 'all');
  accesses.notes!.committed();
  accesses.notes!.flushed();
  expect(flushed[1]!.meets(tables('r'))).toBe(true);

  const reads = new ReadSet();
  query(['r'], [], reads);
  query(['later'], []);
  expect([...reads.tables]).toEqual(['r']);
});

test('[LIVE3] a query of a live read may not write, with the way out', () => {
  const isRefused = expect.objectContaining({
    code: 'LIVE_READ_ONLY',
    message: expect.stringMatching(/tried to write.*may only read; write in a method/),
  });
  expect(liveReadPolicy(new ReadSet()).refusal!()).toEqual(isRefused);
});

test('[LIVE1] a table that the first key makes concerns queries that list the tables', () => {
  watch();
  accesses.notes!.tableCreated();
  accesses.notes!.committed();
  accesses.notes!.flushed();
  const reads = new ReadSet();
  reads.addTables(new Set(['sqlite_master']));
  expect(flushed[0]!.meets(reads)).toBe(true);
});

test('[LIVE1] a read set names all reads, and an empty range is nothing', () => {
  const reads = new ReadSet();
  expect([reads.hasAlarm, reads.hasEverything]).toEqual([false, false]);
  reads.addRange(convertListOptions('list', { start: 'b', end: 'a' }));
  expect(reads.ranges).toEqual([]);
  reads.addRange(convertListOptions('list', { start: 'b' }));
  reads.addAlarm();
  expect([reads.ranges.length, reads.hasAlarm, reads.hasEverything]).toEqual([1, true, false]);
  reads.addTables('all');
  expect(reads.hasEverything).toBe(true);
});
