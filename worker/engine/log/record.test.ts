import { expect, test } from 'vitest';
import { Checksum, wordsOf } from './checksum.ts';
import { PAGE_BYTES } from './pages.ts';

import {
  entriesOf,
  isIntact,
  MARKER,
  markerBody,
  PART_BYTES,
  type PageEntry,
  parseHeader,
  RECORD_HEADER_BYTES,
  RESTORE,
  RecordWriter,
} from './record.ts';

const pageEntriesOf = (...read: Parameters<typeof entriesOf>) => entriesOf(...read) as PageEntry[];

const CHECKSUM = new Checksum(77);
const HEADER = {
  sequence: 5,
  timeMs: 1_900_000_000_000,
  durableSequence: 4,
  previousSum: 123,
  flags: RESTORE,
  epoch: 9,
  pageCountBefore: 3,
  pageCount: 7,
};

function page(fill: (i: number) => number): Uint8Array {
  const bytes = new Uint8Array(PAGE_BYTES);
  for (let i = 0; i < PAGE_BYTES; i++) bytes[i] = fill(i);
  return bytes;
}

function recordOf(before: Uint8Array | null, after: Uint8Array | null): Uint8Array {
  const writer = new RecordWriter();
  writer.begin();
  writer.addChange({ pageIndex: 2, before, after }, CHECKSUM);
  return writer.finish(HEADER, CHECKSUM).bytes.slice();
}

const isSame = (some: Uint8Array, others: Uint8Array) => Buffer.from(some).equals(others);

const OLD = page((i) => i % 251);
const NEW = page((i) => (i > 1000 && i < 1040 ? 255 - (i % 7) : i % 251));

test('[LOG2] a record contains the changes, and redo and undo convert one page into the other', () => {
  const bytes = recordOf(OLD, NEW);
  expect(bytes.length).toBeLessThan(RECORD_HEADER_BYTES + 150);
  const [entry] = pageEntriesOf(bytes, parseHeader(bytes)!);
  const work = OLD.slice();
  entry!.redo(wordsOf(work));
  expect(isSame(work, NEW)).toBe(true);
  entry!.undo(wordsOf(work));
  expect(isSame(work, OLD)).toBe(true);
});

test('[LOG2] redo repairs a page that is half old, half new', () => {
  const torn = page((i) => (i < 1020 ? NEW : OLD)[i]!);
  const bytes = recordOf(OLD, NEW);
  pageEntriesOf(bytes, parseHeader(bytes)!)[0]!.redo(wordsOf(torn));
  expect(isSame(torn, NEW)).toBe(true);
});

test('[LOG2] a page that appears or vanishes is one range over a page of zeros', () => {
  const fresh = recordOf(null, NEW);
  const gone = recordOf(OLD, null);
  const oneRange = RECORD_HEADER_BYTES + 12 + 4 + PAGE_BYTES;
  expect([fresh.length, gone.length]).toEqual([oneRange, oneRange]);
  const [appears] = pageEntriesOf(fresh, parseHeader(fresh)!);
  const [vanishes] = pageEntriesOf(gone, parseHeader(gone)!);
  const work = new Uint8Array(PAGE_BYTES);
  appears!.redo(wordsOf(work));
  expect(isSame(work, NEW)).toBe(true);
  work.fill(0);
  vanishes!.undo(wordsOf(work));
  expect(isSame(work, OLD)).toBe(true);
  expect([appears!.isFresh, vanishes!.isGone]).toEqual([true, true]);
});

test('[LOG2] a page that did not change leaves no entry', () => {
  const bytes = recordOf(OLD, OLD.slice());
  expect(pageEntriesOf(bytes, parseHeader(bytes)!)).toEqual([]);
});

test('[LOG3] the header reads back as it was written', () => {
  const record = parseHeader(recordOf(OLD, NEW));
  expect(record).toMatchObject(HEADER);
});

test('[LOG3] a record with any bit changed, or read with another salt, is not intact', () => {
  const bytes = recordOf(OLD, NEW);
  const record = parseHeader(bytes)!;
  expect(isIntact(bytes, record, CHECKSUM)).toBe(true);
  expect(isIntact(bytes, record, new Checksum(CHECKSUM.salt + 1))).toBe(false);
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const damaged = bytes.slice();
    damaged[bit >> 3]! ^= 1 << (bit & 7);
    const found = parseHeader(damaged);
    const isAccepted =
      found !== null && found.length === record.length && isIntact(damaged, found, CHECKSUM);
    expect(isAccepted).toBe(false);
  }
});

test('[LOG2] each stretch of words that differ is a range of its own', () => {
  const after = OLD.slice();
  for (const at of [0, 9, 4 * 20, 4 * 22, 4092]) after[at]! ^= 0xff;
  const bytes = recordOf(OLD, after);
  const view = new DataView(bytes.buffer);
  let at = RECORD_HEADER_BYTES;
  expect(view.getUint32(at, true)).toBe(2);
  expect(view.getUint32(at + 4, true)).toBe(CHECKSUM.ofPage(wordsOf(after), 2));
  expect(view.getUint32(at + 8, true)).toBe(5);
  at += 12;
  for (const word of [0, 2, 20, 22, 1023]) {
    expect([view.getUint16(at, true), view.getUint16(at + 2, true)]).toEqual([word, 1]);
    expect(isSame(bytes.subarray(at + 4, at + 8), OLD.subarray(word * 4, word * 4 + 4))).toBe(true);
    expect(isSame(bytes.subarray(at + 8, at + 12), after.subarray(word * 4, word * 4 + 4))).toBe(
      true,
    );
    at += 12;
  }
  expect(bytes.length).toBe(Math.ceil(at / 8) * 8);
});

test('[LOG2] a page of zeros that appears or vanishes is an entry without ranges', () => {
  const zeros = new Uint8Array(PAGE_BYTES);
  for (const [before, after, info] of [
    [null, zeros, 1 << 16],
    [zeros, null, 1 << 17],
  ] as const) {
    const bytes = recordOf(before, after);
    const [entry, ...others] = pageEntriesOf(bytes, parseHeader(bytes)!);
    expect(new DataView(bytes.buffer).getUint32(RECORD_HEADER_BYTES + 8, true)).toBe(info);
    expect(others).toEqual([]);
    expect([entry!.isFresh, entry!.isGone]).toEqual([before === null, after === null]);
    expect(entry!.newSum).toBe(after === null ? 0 : CHECKSUM.ofPage(wordsOf(zeros), 2));
    expect(entry!.imageWord).toBe(-1);
  }
});

test('[LOG2] the length is a multiple of eight, filled with zeros, whatever the buffer held before', () => {
  const writer = new RecordWriter();
  writer.begin();
  writer.addChange({ pageIndex: 0, before: null, after: page(() => 0xff) }, CHECKSUM);
  writer.finish(HEADER, CHECKSUM);
  const after = OLD.slice();
  for (const at of [0, 80]) after[at]! ^= 0xff;
  writer.begin();
  writer.addChange({ pageIndex: 2, before: OLD, after }, CHECKSUM);
  const { bytes, sum } = writer.finish(HEADER, CHECKSUM);
  expect(bytes.length).toBe(RECORD_HEADER_BYTES + 12 + 2 * 12 + 4);
  expect([...bytes.subarray(-4)]).toEqual([0, 0, 0, 0]);
  expect(parseHeader(bytes)).toMatchObject({ length: bytes.length, sum });
});

test('[LOG2] a record of many pages has all of them, as changes or as whole images', () => {
  const writer = new RecordWriter();
  writer.begin();
  expect([writer.isEmpty, writer.isFull]).toEqual([true, false]);
  const images: number[] = [];
  const count = 200;
  for (let i = 0; i < count; i++) {
    const after = page((at) => (at * (i + 3)) % 249);
    if (i % 4 < 2) writer.addChange({ pageIndex: i, before: OLD, after }, CHECKSUM);
    else images[i] = writer.addImage(i, i % 4 === 2 ? OLD : null, after, CHECKSUM);
    expect(writer.isEmpty).toBe(false);
  }
  const { bytes } = writer.finish(HEADER, CHECKSUM);
  expect(writer.isFull).toBe(bytes.length >= PART_BYTES);
  expect(bytes.length).toBeGreaterThan(PART_BYTES);
  const record = parseHeader(bytes)!;
  expect(isIntact(bytes, record, CHECKSUM)).toBe(true);
  const entries = pageEntriesOf(bytes, record);
  expect(entries.map(({ pageIndex }) => pageIndex)).toEqual(
    Array.from({ length: count }, (_, i) => i),
  );
  for (const [i, entry] of entries.entries()) {
    const after = page((at) => (at * (i + 3)) % 249);
    const isFresh = i % 4 === 3;
    const work = isFresh ? new Uint8Array(PAGE_BYTES) : OLD.slice();
    entry.redo(wordsOf(work));
    expect(isSame(work, after)).toBe(true);
    expect([entry.isFresh, entry.isGone]).toEqual([isFresh, false]);
    expect(entry.newSum).toBe(CHECKSUM.ofPage(wordsOf(after), i));
    if (images[i] !== undefined) {
      expect(isSame(bytes.subarray(images[i], images[i] + PAGE_BYTES), after)).toBe(true);
      expect(entry.imageWord).toBe(images[i] / 4);
    }
    if (isFresh) continue;
    entry.undo(wordsOf(work));
    expect(isSame(work, OLD)).toBe(true);
  }
});

test('[LOG2] a page that fills the buffer of the writer to its last byte is whole', () => {
  const other = page((i) => (i % 251) ^ 0xff);
  const part = OLD.slice();
  // Six whole pages and this much of another leave room for all but eight bytes of the last one.
  part.set(other.subarray(0, 1001 * 4));
  for (const add of ['addChange', 'addImage'] as const) {
    const writer = new RecordWriter();
    writer.begin();
    for (const after of [...Array<Uint8Array>(6).fill(other), part]) {
      writer.addChange({ pageIndex: 1, before: OLD, after }, CHECKSUM);
    }
    if (add === 'addImage') writer.addImage(2, OLD, other, CHECKSUM);
    else writer.addChange({ pageIndex: 2, before: OLD, after: other }, CHECKSUM);
    const { bytes } = writer.finish(HEADER, CHECKSUM);
    expect(bytes.length).toBe((1 << 16) + 8);
    const entries = pageEntriesOf(bytes, parseHeader(bytes)!);
    expect(entries).toHaveLength(8);
    const work = OLD.slice();
    entries.at(-1)!.redo(wordsOf(work));
    expect(isSame(work, other)).toBe(true);
  }
});

test('[LOG2] entries follow one another without gaps, whatever they are', () => {
  const zeros = new Uint8Array(PAGE_BYTES);
  const changes = [
    [OLD, null],
    [null, NEW],
    [null, zeros],
    [OLD, NEW],
    [zeros, null],
    [null, zeros],
  ] as const;
  for (let count = 1; count <= changes.length; count++) {
    const writer = new RecordWriter();
    writer.begin();
    for (const [pageIndex, [before, after]] of changes.slice(-count).entries()) {
      writer.addChange({ pageIndex, before, after }, CHECKSUM);
    }
    const { bytes } = writer.finish(HEADER, CHECKSUM);
    const entries = pageEntriesOf(bytes, parseHeader(bytes)!);
    expect(entries.map(({ pageIndex, isFresh, isGone }) => [pageIndex, isFresh, isGone])).toEqual(
      changes.slice(-count).map(([before, after], i) => [i, before === null, after === null]),
    );
  }
});

test('[LOG6] only an entry with the whole new page has an image', () => {
  const entryOf = (before: Uint8Array | null, after: Uint8Array | null) => {
    const bytes = recordOf(before, after);
    const [entry] = pageEntriesOf(bytes, parseHeader(bytes)!);
    return { bytes, word: entry!.imageWord };
  };
  const other = page((i) => (i % 251) ^ 0xff);
  const [changed, fresh] = [entryOf(OLD, other), entryOf(null, other)];
  for (const { bytes, word } of [changed, fresh]) {
    expect(isSame(bytes.subarray(word * 4, word * 4 + PAGE_BYTES), other)).toBe(true);
  }
  const tail = other.slice();
  tail.set(OLD.subarray(PAGE_BYTES - 4), PAGE_BYTES - 4);
  const hole = other.slice();
  hole.set(OLD.subarray(2048, 2052), 2048);
  for (const after of [NEW, tail, hole, null]) expect(entryOf(OLD, after).word).toBe(-1);
});

test('[LOG3] bytes that are too short, or whose length is impossible, are no record', () => {
  const bytes = recordOf(OLD, NEW);
  const view = new DataView(bytes.buffer);
  expect(parseHeader(bytes.subarray(0, RECORD_HEADER_BYTES))).not.toBeNull();
  expect(parseHeader(bytes.subarray(0, RECORD_HEADER_BYTES - 1))).toBeNull();
  for (let at = 8; at < 12; at++) {
    const damaged = bytes.slice();
    damaged[at]! ^= 1;
    expect(parseHeader(damaged)).toBeNull();
  }
  for (const [length, isPossible] of [
    [56, false],
    [64, true],
    [65, false],
    [68, false],
    [72, true],
  ] as const) {
    view.setUint32(12, length, true);
    expect(parseHeader(bytes) !== null).toBe(isPossible);
  }
});

test('[LOG11] a marker has two numbers and no pages', () => {
  const writer = new RecordWriter();
  writer.begin();
  writer.addMarker(2 ** 33 + 1, 2 ** 52 + 3);
  const { bytes } = writer.finish({ ...HEADER, flags: MARKER }, CHECKSUM);
  expect(bytes.length).toBe(RECORD_HEADER_BYTES + 16);
  // Not at the beginning of its buffer, as in a file that is read.
  const window = new Uint8Array(bytes.length + 64);
  window.set(bytes, 64);
  const read = window.subarray(64);
  expect(markerBody(read, parseHeader(read)!)).toEqual({ sequence: 2 ** 33 + 1, sum: 2 ** 52 + 3 });
  expect(pageEntriesOf(read, parseHeader(read)!)).toEqual([]);
});

test('[LOG22] a page that is replaced is one range, and redo and undo are exact where words are the same', () => {
  const other = page((i) => (i % 251) ^ 0xff);
  other.set(OLD.subarray(2000, 2040), 2000);
  for (const [before, after] of [
    [OLD, other],
    [null, other],
    [other, null],
  ] as const) {
    const bytes = recordOf(before, after);
    const copies = before === null || after === null ? 1 : 2;
    expect(bytes.length).toBe(RECORD_HEADER_BYTES + 16 + copies * PAGE_BYTES);
    const [entry] = pageEntriesOf(bytes, parseHeader(bytes)!);
    const work = before?.slice() ?? new Uint8Array(PAGE_BYTES);
    if (after !== null) {
      entry!.redo(wordsOf(work));
      expect(isSame(work, after)).toBe(true);
    } else work.fill(0);
    entry!.undo(wordsOf(work));
    if (before !== null) expect(isSame(work, before)).toBe(true);
  }
});

test('[LOG22] a page that is replaced but for its first word is one range: an overflow page at its place', () => {
  const other = page((i) => (i % 251) ^ 0xff);
  other.set(OLD.subarray(0, 4));
  expect(recordOf(OLD, other).length).toBe(RECORD_HEADER_BYTES + 16 + 2 * PAGE_BYTES);
});

test('[LOG22] a page of which a part is new stays in ranges', () => {
  const half = page((i) => (i < 2048 ? (i % 251) ^ 0xff : OLD[i]!));
  expect(recordOf(OLD, half).length).toBeLessThan(RECORD_HEADER_BYTES + 2 * 2048 + 64);
  const value = page((i) => (i < 1000 ? 1 + (i % 200) : 0));
  expect(recordOf(null, value).length).toBeLessThan(RECORD_HEADER_BYTES + 1000 + 64);
});
