import { beforeEach, expect, test } from 'vitest';
import type { ChangeSource, Changes, CopyPlace } from '../changes/changes.ts';
import type { Position } from '../protocol/messages.ts';
import { SnapshotParts } from './snapshot-parts.ts';

const NOTHING: Changes = {
  ...{ isWiped: false, schema: null, tables: [], sequences: null, kv: [], kvGone: [] },
};
const at = (id: number, life = 7): Position => ({ id, life });
const place = (key: string, sentBytes = 1): CopyPlace => ({ table: 't', after: [key], sentBytes });

let reads: (CopyPlace | null)[];
let life: number;
let isSchemaOld: boolean;
let valueBytes: number;
let parts: SnapshotParts;
beforeEach(() => {
  [reads, life, isSchemaOld, valueBytes] = [[], 7, false, 1];
  parts = new SnapshotParts({
    copyPart(from: CopyPlace | null) {
      reads.push(from);
      const kv: Changes['kv'] = [[`read ${reads.length}`, new Uint8Array(valueBytes)]];
      return { changes: { ...NOTHING, kv }, next: place('next') };
    },
    lifeAt: () => life,
    canContinueCopy: () => !isSchemaOld,
  } as Partial<ChangeSource> as ChangeSource);
});

test('[FOLS28] followers that come together get the same first part, of the position at which it was read', () => {
  const first = parts.read(null, null, at(10));
  expect(first).toMatchObject({ at: at(10), next: place('next') });
  const second = parts.read(null, null, at(12));
  expect([second, reads]).toEqual([first, [null]]);
  expect(second.at).toEqual(at(10));
});

test('[FOLS28] each place has a part of its own, also a forged one', () => {
  const places = [null, place('a'), place('b'), place('a', 2), { ...place('a'), table: 'u' }];
  const read = places.map((from) => parts.read(from, at(1), at(10)));
  expect(reads).toEqual(places);
  expect(places.map((from) => parts.read(from, at(1), at(10)))).toEqual(read);
  expect(reads).toHaveLength(places.length);
});

test('[FOLS28] a text that looks like a number, and bytes that look like a text, are other places', () => {
  const keys = [1, '1', 1n, new Uint8Array([49]), null];
  for (const key of keys) parts.read({ table: 't', after: [key], sentBytes: 0 }, at(1), at(10));
  expect(reads).toHaveLength(keys.length);
});

test('[FOLS28] a part that was read before a snapshot began is not one of it', () => {
  parts.read(place('a'), at(5), at(10));
  parts.read(place('a'), at(10), at(12));
  expect(reads).toHaveLength(1);
  expect(parts.read(place('a'), at(11), at(12)).at).toEqual(at(12));
  expect(reads).toHaveLength(2);
});

test.each<[string, () => void, Position]>([
  ['2,001 later notes', () => {}, at(2011)],
  ['a change of the tables', () => (isSchemaOld = true), at(11)],
  ['a restore', () => (life = 8), at(11, 8)],
  ['a restore to before it', () => {}, at(9)],
])('[FOLS28] after %s, a part is read again', (_, change, head) => {
  parts.read(null, null, at(10));
  change();
  const part = parts.read(null, null, head);
  expect([part.at, reads.length]).toEqual([head, 2]);
});

test('[FOLS28] after 2,000 later notes, a part is not read again', () => {
  parts.read(null, null, at(10));
  parts.read(null, null, at(2010));
  expect(reads).toHaveLength(1);
});

test('[FOLS28] 4 MiB of parts are kept: the oldest are forgotten first', () => {
  valueBytes = 2 ** 20;
  const keys = ['a', 'b', 'c', 'd'];
  for (const key of keys) parts.read(place(key), at(1), at(10));
  reads = [];
  for (const key of ['d', 'c', 'b']) parts.read(place(key), at(1), at(10));
  expect(reads).toEqual([]);
  parts.read(place('a'), at(1), at(10));
  expect(reads).toEqual([place('a')]);
});
