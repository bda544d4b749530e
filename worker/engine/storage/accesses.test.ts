// The accesses noted for live reads, and when they are handed over.

import { beforeEach, expect, test } from 'vitest';
import { convertListOptions } from '../../../src/shared/contract/arguments.ts';
import { Accesses, ReadSet, type WatchedDatabase, type WriteSet } from './accesses.ts';

let database: WatchedDatabase;
let accesses: Accesses;
let flushed: WriteSet[];

beforeEach(() => {
  database = { onQuery: undefined, onRow: undefined, refusesWrites: undefined };
  accesses = new Accesses(database);
  flushed = [];
});

const watch = () => accesses.watch((writes) => flushed.push(writes));
const query = (reads: readonly string[], writes: 'all' | readonly string[]) =>
  database.onQuery!({
    reads: new Set(reads),
    writes: writes === 'all' ? 'all' : new Set(writes),
  });

/** A read of one key, and whether the writes that were handed over concern it. */
function concerns(writes: WriteSet | undefined, key: string): boolean {
  const reads = new ReadSet();
  reads.addKey(key);
  return writes?.meets(reads) ?? false;
}

test('[LIVE8] while nobody watches, nothing is noted or handed over', () => {
  expect([accesses.reads, accesses.writes, database.onQuery]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  accesses.committed();
  accesses.flushed();
  expect(flushed).toEqual([]);
});

test('[LIVE8] committed changes are handed over after the flush, once, and all together', () => {
  watch();
  accesses.writes!.addKey('a');
  accesses.committed();
  accesses.writes!.addKey('b');
  accesses.committed();
  accesses.committed();
  expect(flushed).toEqual([]);
  accesses.flushed();
  expect(flushed).toHaveLength(1);
  expect(['a', 'b', 'c'].map((key) => concerns(flushed[0], key))).toEqual([true, true, false]);
  accesses.flushed();
  expect(flushed).toHaveLength(1);
});

test('[LIVE8] a transaction that is open at the flush is handed over with the next one', () => {
  watch();
  accesses.writes!.addKey('a');
  accesses.committed();
  accesses.writes!.addKey('b');
  accesses.flushed();
  expect(concerns(flushed[0], 'b')).toBe(false);
  accesses.committed();
  accesses.flushed();
  expect([concerns(flushed[1], 'a'), concerns(flushed[1], 'b')]).toEqual([false, true]);
});

test('[LIVE8] a rollback discards the writes of the open transaction, and no others', () => {
  watch();
  accesses.writes!.addKey('a');
  accesses.committed();
  accesses.writes!.addKey('b');
  accesses.rolledBack();
  accesses.committed();
  accesses.flushed();
  expect([concerns(flushed[0], 'a'), concerns(flushed[0], 'b')]).toEqual([true, false]);
});

test('[LIVE8] nothing of before is handed over to somebody who watches again', () => {
  watch();
  accesses.writes!.addKey('a');
  accesses.committed();
  accesses.writes!.addKey('b');
  accesses.unwatch();
  expect([accesses.writes, database.onQuery]).toEqual([undefined, undefined]);
  watch();
  accesses.committed();
  accesses.flushed();
  expect(flushed).toEqual([]);
});

test('[LIVE1] a query notes its tables: those it writes always, those it reads for who collects', () => {
  watch();
  query(['r'], ['w']);
  accesses.committed();
  accesses.flushed();
  query(['r'], []);
  accesses.committed();
  accesses.flushed();
  expect(flushed).toHaveLength(1);
  const tables = (...names: string[]) => {
    const reads = new ReadSet();
    reads.addTables(new Set(names));
    return reads;
  };
  expect([flushed[0]!.meets(tables('w')), flushed[0]!.meets(tables('r'))]).toEqual([true, false]);
  query([], 'all');
  accesses.committed();
  accesses.flushed();
  expect(flushed[1]!.meets(tables('r'))).toBe(true);

  const reads = new ReadSet();
  const end = accesses.collect(reads);
  query(['r'], []);
  expect(accesses.reads).toBe(reads);
  end();
  query(['later'], []);
  expect([...reads.tables]).toEqual(['r']);
});

test('[LIVE3] while a live read runs, writes are refused, with the way out', () => {
  const isRefused = expect.objectContaining({
    code: 'LIVE_READ_ONLY',
    message: expect.stringMatching(/tried to write.*may only read; write in a method/),
  });
  accesses.checkWrite();
  const end = accesses.collect(new ReadSet());
  expect(() => accesses.checkWrite()).toThrow(isRefused);
  expect(database.refusesWrites!()).toEqual(isRefused);
  end();
  accesses.checkWrite();
  expect([accesses.reads, database.refusesWrites]).toEqual([undefined, undefined]);
});

test('[LIVE3] [FOLP8] what is refused to everybody is refused also after a live read, with its own error', () => {
  const refusal = () => new Error('of a copy');
  accesses.refusal = refusal;
  accesses.collect(new ReadSet())();
  expect(database.refusesWrites).toBe(refusal);
  expect(() => accesses.checkWrite()).toThrow('of a copy');
  accesses.refusal = undefined;
  expect(database.refusesWrites).toBe(undefined);
  accesses.checkWrite();
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
