import { expect, test } from 'vitest';
import { Checksum } from './checksum.ts';
import { PAGE_BYTES, wordsOf } from './pages.ts';
import { entriesOf, isIntact, parseHeader, RECORD_HEADER_BYTES, RecordWriter } from './record.ts';

const CHECKSUM = new Checksum(2, 77);
const HEADER = {
  sequence: 5,
  timeMs: 1_900_000_000_000,
  durableSequence: 4,
  previousSum: 123,
  flags: 0,
  epoch: 9,
  pageCountBefore: 3,
  pageCount: 3,
};

function page(fill: (i: number) => number): Uint8Array {
  return Uint8Array.from({ length: PAGE_BYTES }, (_, i) => fill(i));
}

function recordOf(before: Uint8Array | null, after: Uint8Array | null): Uint8Array {
  const writer = new RecordWriter();
  writer.begin();
  writer.addChange({ pageIndex: 2, before, after }, CHECKSUM);
  return writer.finish(HEADER, CHECKSUM).bytes.slice();
}

const OLD = page((i) => i % 251);
const NEW = page((i) => (i > 1000 && i < 1040 ? 255 - (i % 7) : i % 251));

test('[LOG2] a record contains what changed, and redo and undo convert one page into the other', () => {
  const bytes = recordOf(OLD, NEW);
  expect(bytes.length).toBeLessThan(RECORD_HEADER_BYTES + 150);
  const [entry] = entriesOf(bytes, parseHeader(bytes)!);
  const work = OLD.slice();
  entry!.redo(wordsOf(work));
  expect(work).toEqual(NEW);
  entry!.undo(wordsOf(work));
  expect(work).toEqual(OLD);
});

test('[LOG2] redo repairs a page that is half old, half new', () => {
  const torn = page((i) => (i < 1020 ? NEW : OLD)[i]!);
  const bytes = recordOf(OLD, NEW);
  entriesOf(bytes, parseHeader(bytes)!)[0]!.redo(wordsOf(torn));
  expect(torn).toEqual(NEW);
});

test('[LOG2] a page that appears or vanishes is one range over a page of zeros', () => {
  const fresh = recordOf(null, NEW);
  const gone = recordOf(OLD, null);
  const [appears] = entriesOf(fresh, parseHeader(fresh)!);
  const [vanishes] = entriesOf(gone, parseHeader(gone)!);
  const work = new Uint8Array(PAGE_BYTES);
  appears!.redo(wordsOf(work));
  expect(work).toEqual(NEW);
  work.fill(0);
  vanishes!.undo(wordsOf(work));
  expect(work).toEqual(OLD);
  expect([appears!.isFresh, vanishes!.isGone]).toEqual([true, true]);
});

test('[LOG2] a page that did not change leaves no entry', () => {
  const bytes = recordOf(OLD, OLD.slice());
  expect(entriesOf(bytes, parseHeader(bytes)!)).toEqual([]);
});

test('[LOG3] the header reads back as it was written', () => {
  const record = parseHeader(recordOf(OLD, NEW));
  expect(record).toMatchObject(HEADER);
});

test('[LOG3] a record with any bit changed, or read with another salt, is not intact', () => {
  const bytes = recordOf(OLD, NEW);
  const record = parseHeader(bytes)!;
  expect(isIntact(bytes, record, CHECKSUM)).toBe(true);
  expect(isIntact(bytes, record, new Checksum(2, CHECKSUM.salt + 1))).toBe(false);
  for (let at = 8; at < bytes.length; at++) {
    const damaged = bytes.slice();
    damaged[at]! ^= 1 << (at % 8);
    const found = parseHeader(damaged);
    const isAccepted =
      found !== null && found.length === record.length && isIntact(damaged, found, CHECKSUM);
    expect(isAccepted).toBe(false);
  }
});
