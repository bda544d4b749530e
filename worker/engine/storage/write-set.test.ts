import { describe, expect, test } from 'vitest';
import { convertListOptions } from '../../../src/shared/contract/list-options.ts';
import { ReadSet, WriteSet } from './accesses.ts';

function reads(fill: (reads: ReadSet) => void): ReadSet {
  const set = new ReadSet();
  fill(set);
  return set;
}

function writes(fill: (writes: WriteSet) => void): WriteSet {
  const set = new WriteSet();
  fill(set);
  return set;
}

const keys = (...names: string[]) =>
  writes((set) => {
    for (const name of names) set.addKey(name);
  });
const range = (options: object) =>
  reads((set) => set.addRange(convertListOptions('list', options)));
const key = (name: string) => reads((set) => set.addKey(name));
const tables = (...names: string[]) => reads((set) => set.addTables(new Set(names)));
const everything = reads((set) => set.addEverything());

describe('meets', () => {
  test.for<[string, WriteSet, ReadSet, boolean]>([
    ['the same key', keys('a', 'b'), key('b'), true],
    ['another key', keys('a', 'b'), key('c'), false],
    ['a key with the prefix', keys('a', 'user:1'), range({ prefix: 'user:' }), true],
    ['keys around the prefix', keys('user', 'user;'), range({ prefix: 'user:' }), false],
    ['a key at the start', keys('b'), range({ start: 'b', end: 'c' }), true],
    ['a key at the end', keys('c'), range({ start: 'b', end: 'c' }), false],
    ['a key after startAfter', keys('b'), range({ startAfter: 'b' }), false],
    ['a key behind all bounds', keys('z'), range({ start: 'b' }), true],
    ['a key beyond the limit', keys('z'), range({ limit: 1 }), true],
    ['an empty range', keys('b'), range({ start: 'c', end: 'b' }), false],
    ['order by UTF-8', keys('\u{1f600}'), range({ start: '\uffee' }), true],
    ['a table', writes((set) => set.addTables(new Set(['t']))), tables('u', 't'), true],
    ['another table', writes((set) => set.addTables(new Set(['v']))), tables('u', 't'), false],
    ['all tables', writes((set) => set.addTables('all')), tables('t'), true],
    ['everything', writes((set) => set.addEverything()), key('a'), true],
    ['nothing', new WriteSet(), everything, false],
    ['a read of everything', keys('a'), everything, true],
    ['the alarm', writes((set) => set.addAlarm()), reads((set) => set.addAlarm()), true],
    ['a key, but not the alarm', keys('a'), reads((set) => set.addAlarm()), false],
    ['one of many keys', keys('d', 'a', 'c', 'b'), range({ start: 'b', end: 'b\0' }), true],
    ['none of many keys', keys('d', 'a', 'c'), range({ start: 'b', end: 'b\0' }), false],
    ['not the alarm', writes((set) => set.addAlarm()), key('a'), false],
  ])('[LIVE1] %s', ([, written, read, isMet]) => {
    expect(written.meets(read)).toBe(isMet);
  });

  test('[LIVE1] beyond 10,000 keys, all count as written', () => {
    const of = (count: number) =>
      writes((set) => {
        for (let i = 0; i < count; i++) set.addKey(`a${i}`);
      });
    expect(of(10_000).meets(key('b'))).toBe(false);
    const many = of(10_001);
    expect(many.meets(key('b'))).toBe(true);
    expect(many.meets(range({ prefix: 'b' }))).toBe(true);
    expect(many.meets(tables('b'))).toBe(false);
    const other = keys('b');
    other.addAll(many);
    expect(other.meets(key('c'))).toBe(true);
  });

  test('[LIVE1] a set contains the added members of another one', () => {
    const all = keys('a');
    all.addAll(writes((set) => set.addTables(new Set(['t']))));
    expect([all.meets(tables('t')), all.meets(key('a'))]).toEqual([true, true]);
    const alarm = reads((set) => set.addAlarm());
    expect(all.meets(alarm)).toBe(false);
    all.addAll(writes((set) => set.addAlarm()));
    all.addAll(keys('b'));
    expect([all.meets(alarm), all.meets(key('b')), all.meets(key('c'))]).toEqual([
      true,
      true,
      false,
    ]);
    all.addAll(writes((set) => set.addEverything()));
    all.addAll(new WriteSet());
    expect(all.meets(key('c'))).toBe(true);
  });

  test('[LIVE17] of a table whose rows are told, only a read of these rows is met, also when sets are added', () => {
    const rowsOf = (table: string, ...ids: (number | 'all')[]) =>
      writes((set) => {
        set.addTables(new Set([table]), new Set([table]));
        for (const id of ids) set.addRow(table, id);
      });
    const lookup = (table: string, ...ids: number[]) =>
      reads((set) => set.addRows({ table, keys: ids }));
    const met = (set: WriteSet) =>
      [lookup('t', 1), lookup('t', 2), lookup('t', 9, 3), lookup('t', 4), lookup('u', 1)].map(
        (read) => set.meets(read),
      );
    const all = rowsOf('t', 1);
    expect([met(all), all.meets(tables('t'))]).toEqual([[true, false, false, false, false], true]);
    all.addAll(rowsOf('t', 2, 3));
    expect(met(all)).toEqual([true, true, true, false, false]);
    all.addAll(rowsOf('u', 'all'));
    expect(met(all)).toEqual([true, true, true, false, true]);
    all.addAll(writes((set) => set.addTables(new Set(['t']))));
    all.addAll(rowsOf('t', 1));
    expect(met(all)).toEqual([true, true, true, true, true]);
  });

  test('[LIVE1] a set that grows after it was compared is compared again', () => {
    const grown = keys('a');
    expect(grown.meets(range({ prefix: 'b' }))).toBe(false);
    grown.addKey('b1');
    expect(grown.meets(range({ prefix: 'b' }))).toBe(true);
  });
});
