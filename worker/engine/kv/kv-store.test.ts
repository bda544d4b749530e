// The table of keys and values against a plain map, and the life of a walk over it.

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openInMemory } from '../../../packages/testing/worker/test-database.ts';
import type { KeyRange } from '../../../src/shared/contract/key-range.ts';
import type { Database } from '../sql/database.ts';
import { type EntryCursor, KvStore } from './kv-store.ts';

const ALL: KeyRange = { start: new Uint8Array(), end: null, reverse: false, limit: null };
const text = new TextEncoder();

let database: Database;
let store: KvStore;

beforeEach(async () => {
  database = await openInMemory();
  store = new KvStore(database);
});
afterEach(() => database.close());

const bytesOf = (size: number, fill: number) => new Uint8Array(size).fill(fill);

function stored(key: string): Uint8Array | undefined {
  return store.get(key, (value) => value.slice());
}

function next(cursor: EntryCursor): string | undefined {
  return cursor.next()?.key;
}

function keys(range: KeyRange = ALL): string[] {
  const found: string[] = [];
  const cursor = store.list(range);
  for (let entry = cursor.next(); entry !== undefined; entry = cursor.next()) found.push(entry.key);
  return found;
}

describe('entries', () => {
  test('[KV1] nothing is found, and nothing deleted, before the first write', () => {
    expect(stored('a')).toBeUndefined();
    expect(keys()).toEqual([]);
    store.clear();
    expect(store.delete('a')).toBe(false);
  });

  test('[MOVE1] the first write creates the table, even one without entries, and no read does', () => {
    const hasTable = () => {
      const found = database.statement("SELECT 1 FROM sqlite_schema WHERE name = '_cf_KV'");
      const isThere = found.step();
      found.reset();
      return isThere;
    };
    const writes = [
      () => store.put([['a', bytesOf(1, 1)]]),
      () => store.put([]),
      () => store.delete('a'),
      () => store.createTable(),
    ];
    for (const write of writes) {
      stored('a');
      keys();
      store.clear();
      expect(hasTable()).toBe(false);
      database.control.begin();
      write();
      expect(hasTable()).toBe(true);
      database.control.rollback();
      store.invalidate({ closeWalk: false });
    }
  });

  test('[MOVE1] a table that a rollback has removed is missing, and the next write creates it again', () => {
    const putAndUndo = () => {
      database.control.begin();
      store.put([['a', bytesOf(3, 1)]]);
      expect(stored('a')).toEqual(bytesOf(3, 1));
      database.control.rollback();
      store.invalidate({ closeWalk: false });
    };
    putAndUndo();
    expect(stored('a')).toBeUndefined();
    putAndUndo();
    store.put([['a', bytesOf(3, 2)]]);
    expect(stored('a')).toEqual(bytesOf(3, 2));
  });

  test('[KV7] a deleted key is gone, and was there once; others stay', () => {
    store.put(['a', 'aa', 'b'].map((key) => [key, bytesOf(3, 1)]));
    expect([store.delete('a'), store.delete('a')]).toEqual([true, false]);
    expect(stored('a')).toBeUndefined();
    expect(keys()).toEqual(['aa', 'b']);
  });

  test('[KV9] clear removes every entry', () => {
    store.put([
      ['a', bytesOf(3, 1)],
      ['b', bytesOf(3, 1)],
    ]);
    store.clear();
    expect(keys()).toEqual([]);
    store.put([['c', bytesOf(1, 1)]]);
    expect(keys()).toEqual(['c']);
  });

  test('[KV6] entries of any number and size are stored, the later of two equal keys counts', {
    tags: 'long',
  }, () => {
    const entry = fc.tuple(
      fc.integer({ min: 0, max: 60 }).map((n) => `k${n}`),
      fc.tuple(fc.constantFrom(0, 1, 1023, 1024, 1025, 4000), fc.nat(255)),
    );
    fc.assert(
      fc.property(fc.array(fc.array(entry, { maxLength: 70 }), { maxLength: 3 }), (puts) => {
        store.clear();
        const model = new Map<string, Uint8Array>();
        for (const put of puts) {
          const entries = put.map(([key, [size, fill]]) => [key, bytesOf(size, fill)] as const);
          store.put(entries);
          for (const [key, value] of entries) model.set(key, value);
        }
        expect(keys()).toEqual([...model.keys()].sort());
        for (const [key, value] of model) expect(stored(key)).toEqual(value);
      }),
      { numRuns: 30 },
    );
  });

  test('[KV8] a range is half open, in the order of UTF-8, limited from its own end', () => {
    const key = fc.string({ unit: 'binary', minLength: 0, maxLength: 3 });
    const bound = key.map((bound) => text.encode(bound));
    const range = fc.record({
      start: bound,
      end: fc.option(bound),
      reverse: fc.boolean(),
      limit: fc.option(fc.integer({ min: 1, max: 5 })),
    });
    fc.assert(
      fc.property(fc.uniqueArray(key, { maxLength: 12 }), range, (names, range) => {
        store.clear();
        store.put(names.map((name) => [name, bytesOf(1, 1)]));
        const sorted = names
          .map((name) => Buffer.from(name))
          .sort(Buffer.compare)
          .filter((name) => Buffer.compare(name, range.start) >= 0)
          .filter((name) => range.end === null || Buffer.compare(name, range.end) < 0);
        if (range.reverse) sorted.reverse();
        const expected = sorted.slice(0, range.limit ?? sorted.length).map(String);
        expect(keys(range)).toEqual(expected);
      }),
      { numRuns: 100 },
    );
  });
});

describe('a walk', () => {
  beforeEach(() => {
    store.put(['a', 'b', 'c'].map((key) => [key, bytesOf(1, 7)]));
  });

  test('[KV14] the empty range ends no walk', () => {
    const walk = store.list(ALL);
    expect(keys({ ...ALL, end: new Uint8Array() })).toEqual([]);
    expect(next(walk)).toBe('a');
  });

  test('[KV14] the first entry is fetched at the call, each later one when it is asked for', () => {
    const walk = store.list(ALL);
    store.delete('a');
    store.delete('b');
    store.put(['bb', 'c'].map((key) => [key, bytesOf(1, 1)]));
    const found: [string, number | undefined][] = [];
    for (let entry = walk.next(); entry !== undefined; entry = walk.next()) {
      found.push([entry.key, entry.value[0]]);
    }
    expect(found).toEqual([
      ['a', 7],
      ['bb', 1],
      ['c', 1],
    ]);
  });

  test('[KV14] another walk ends a walk that has begun, and a walk that has not', () => {
    for (const taken of [0, 1, 3]) {
      const walk = store.list(ALL);
      for (let i = 0; i < taken; i++) next(walk);
      const other = store.list(ALL);
      expect(() => walk.next()).toThrow(
        expect.objectContaining({
          code: 'CURSOR_CLOSED',
          message:
            'kv.list() iterator was invalidated because a new call to kv.list() was started. ' +
            'Only one kv.list() iterator can exist at a time.',
        }),
      );
      expect(() => walk.next()).toThrow(/invalidated/);
      expect([next(other), next(other)]).toEqual(['a', 'b']);
    }
  });

  test('[KV14] a walk that has said that it is done stays done', () => {
    const walk = store.list(ALL);
    expect([next(walk), next(walk), next(walk), next(walk)]).toEqual(['a', 'b', 'c', undefined]);
    store.list(ALL);
    expect(next(walk)).toBeUndefined();
    store.invalidate({ closeWalk: true });
    expect(next(walk)).toBeUndefined();
  });

  test('[KV14] when everything goes a walk with entries ends with an error, an empty one does not', () => {
    const walk = store.list(ALL);
    store.invalidate({ closeWalk: true });
    expect(() => walk.next()).toThrow(
      expect.objectContaining({
        code: 'CURSOR_CLOSED',
        message: 'kv.list() iterator was invalidated by deleteAll(). Call kv.list() again.',
      }),
    );

    const empty = store.list({ ...ALL, start: text.encode('z') });
    store.invalidate({ closeWalk: true });
    expect(next(empty)).toBeUndefined();
  });

  test('[KV14] a rollback ends no walk', () => {
    const walk = store.list(ALL);
    expect(next(walk)).toBe('a');
    database.control.begin();
    store.put([['bb', bytesOf(1, 1)]]);
    database.control.rollback();
    store.invalidate({ closeWalk: false });
    expect([next(walk), next(walk), next(walk)]).toEqual(['b', 'c', undefined]);
  });

  test('[KV14] a walk that was ended does not disturb its successor', () => {
    // The same range is walked by the same statement, another one by another.
    for (const reverse of [false, true]) {
      const ended = store.list(ALL);
      expect(next(ended)).toBe('a');
      const successor = store.list({ ...ALL, reverse });
      const [first, ...rest] = reverse ? ['c', 'b', 'a'] : ['a', 'b', 'c'];
      expect(next(successor)).toBe(first);
      expect(() => ended.next()).toThrow(expect.objectContaining({ code: 'CURSOR_CLOSED' }));
      expect([next(successor), next(successor), next(successor)]).toEqual([...rest, undefined]);
    }
  });
});
