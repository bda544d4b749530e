import { expect, test } from 'vitest';
import type { SyncFile } from '../file/file.ts';
import { WINDOW_BYTES, WindowReader } from '../file/file.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { Checksum } from './checksum.ts';
import { CONTINUES, MARKER, RecordWriter } from './record.ts';
import {
  damagedSegment,
  isEmptied,
  isZeroFrom,
  positionAfter,
  provesFlushed,
  SEGMENT_HEADER_BYTES,
  Segment,
  segmentName,
  segmentNumber,
} from './segment.ts';

const CHECKSUM = new Checksum(5);
const BASE = { sequence: 10, timeMs: 1000, sum: 42 };

function newFile(): Promise<SyncFile> {
  return new MemoryDirectory().open('log');
}

/** Writes records after the header; returns the offset of each, and the end. */
function append(file: SyncFile, count: number, durableSequence: number): number[] {
  const writer = new RecordWriter();
  const places = [SEGMENT_HEADER_BYTES];
  let previousSum = BASE.sum;
  for (let i = 1; i <= count; i++) {
    writer.begin();
    writer.addMarker(-1, 0);
    const { bytes, sum } = writer.finish(
      {
        sequence: BASE.sequence + i,
        timeMs: BASE.timeMs + i,
        durableSequence,
        previousSum,
        flags: MARKER,
        epoch: 1,
        pageCountBefore: 0,
        pageCount: 0,
      },
      CHECKSUM,
    );
    file.write(bytes, places.at(-1)!);
    places.push(places.at(-1)! + bytes.length);
    previousSum = sum;
  }
  return places;
}

function sequences(segment: Segment): number[] {
  return [...segment.records(segment.base)].map(({ record }) => record.sequence);
}

test('[LOG14] the number of a segment is in its name', () => {
  expect(segmentName(0x2f)).toBe('log-0000002f');
  expect(segmentNumber('log-0000002f')).toBe(0x2f);
  expect(segmentNumber('log-ffffffff')).toBe(0xffff_ffff);
  for (const name of ['main', 'log-2f', 'xlog-0000002f', 'log-0000002f.bak', 'log-0000002g'])
    expect(segmentNumber(name)).toBeNull();
});

test('[LOG14] a full index is thinned out, and reads back from the header', async () => {
  const file = await newFile();
  const segment = Segment.create(1, file, BASE, CHECKSUM);
  for (let i = 1; i <= 1000; i++) {
    segment.note({ offset: SEGMENT_HEADER_BYTES + i * 70_000, sequence: i, timeMs: i, sum: i });
  }
  segment.writeIndex();
  const read = Segment.read(1, file, CHECKSUM)!;
  expect(read.positions()).toEqual(segment.positions());
  const count = read.positions().length - 1;
  expect(count).toBeLessThanOrEqual(125);
  expect(count).toBeGreaterThan(60);
  expect(read.lastPosition(({ sequence }) => sequence < 500).sequence).toBeGreaterThan(400);
});

test('[LOG14] a torn index costs its entries, not the segment', async () => {
  const file = await newFile();
  const segment = Segment.create(1, file, BASE, CHECKSUM);
  segment.note({ offset: 100_000, sequence: 11, timeMs: 1, sum: 1 });
  segment.writeIndex();
  file.write(new Uint8Array([1]), 90);
  expect(Segment.read(1, file, CHECKSUM)!.positions()).toEqual([segment.base]);
});

test('[LOG3] a segment of another object, or with another number, is not read', async () => {
  const file = await newFile();
  Segment.create(1, file, BASE, CHECKSUM);
  expect(Segment.read(1, file, CHECKSUM)?.base.sequence).toBe(BASE.sequence);
  expect(Segment.read(1, file, new Checksum(CHECKSUM.salt + 1))).toBeNull();
  expect(Segment.read(2, file, CHECKSUM)).toBeNull();
});

test('[LOG3] records end at the first damaged one, and a leftover record cannot join', async () => {
  const file = await newFile();
  const segment = Segment.create(1, file, BASE, CHECKSUM);
  const places = append(file, 4, 0);
  expect(sequences(segment)).toEqual([11, 12, 13, 14]);
  file.write(new Uint8Array([0xff]), places[2]! + 20);
  expect(sequences(segment)).toEqual([11, 12]);
});

test('[LOG7] a record after the damage tells whether the missing one was durable', async () => {
  for (const [durableSequence, expected] of [
    [13, true],
    [11, false],
  ] as const) {
    const file = await newFile();
    Segment.create(1, file, BASE, CHECKSUM);
    const places = append(file, 4, durableSequence);
    file.write(new Uint8Array([0xff]), places[1]! + 20);
    expect(provesFlushed(file, places[1]!, 11, CHECKSUM)).toBe(expected);
  }
});

function bytesOf(file: SyncFile): Uint8Array {
  const bytes = new Uint8Array(file.sizeBytes());
  file.read(bytes, 0);
  return bytes;
}

test('[LOG17] a new segment holds its header and nothing else, whatever the file held', async () => {
  const file = await newFile();
  file.write(new Uint8Array(9000).fill(7), 0);
  Segment.create(0x21, file, { sequence: 2 ** 33, timeMs: 1234.5, sum: 2 ** 52 + 1 }, CHECKSUM);
  const bytes = bytesOf(file);
  expect(bytes.length).toBe(4096);
  const view = new DataView(bytes.buffer);
  const words = [8, 12, 16, 20].map((at) => view.getUint32(at, true));
  expect(words).toEqual([0x434c5347, 3, 0x21, 4096]);
  expect([24, 32, 40].map((at) => view.getFloat64(at, true))).toEqual([
    2 ** 33,
    1234.5,
    2 ** 52 + 1,
  ]);
  expect(bytes.subarray(48).every((byte) => byte === 0)).toBe(true);
  expect(Segment.read(0x21, file, CHECKSUM)!.base).toEqual({
    offset: 4096,
    sequence: 2 ** 33,
    timeMs: 1234.5,
    sum: 2 ** 52 + 1,
  });
});

test('[LOG3] a header of which any byte differs, or that is cut off, is not read', async () => {
  const file = await newFile();
  Segment.create(1, file, BASE, CHECKSUM);
  const header = bytesOf(file);
  for (let at = 0; at < 64; at++) {
    const damaged = header.slice();
    damaged[at]! ^= 0x40;
    file.write(damaged, 0);
    expect(Segment.read(1, file, CHECKSUM)).toBeNull();
  }
  file.write(header, 0);
  expect(Segment.read(1, file, CHECKSUM)).not.toBeNull();
  file.truncate(4095);
  expect(Segment.read(1, file, CHECKSUM)).toBeNull();
});

test('[LOG21] a header of another version is not read, even if its checksum is right', async () => {
  const file = await newFile();
  Segment.create(1, file, BASE, CHECKSUM);
  const header = bytesOf(file);
  for (const version of [2, 4]) {
    header[12] = version;
    const sum = CHECKSUM.ofRecord(new Uint32Array(header.buffer), 2, 16);
    new DataView(header.buffer).setFloat64(0, sum, true);
    file.write(header, 0);
    expect(Segment.read(1, file, CHECKSUM)).toBeNull();
  }
});

const at = (offset: number, sequence = offset) => ({ offset, sequence, timeMs: 1, sum: 1 });

test('[LOG17] a header with another magic number is not read, even if its checksum is right', async () => {
  const file = await newFile();
  Segment.create(1, file, BASE, CHECKSUM);
  const header = bytesOf(file);
  header[8]! ^= 1;
  const sum = CHECKSUM.ofRecord(new Uint32Array(header.buffer), 2, 16);
  new DataView(header.buffer).setFloat64(0, sum, true);
  file.write(header, 0);
  expect(Segment.read(1, file, CHECKSUM)).toBeNull();
});

test('[LOG14] an index without entries is read as one', async () => {
  const file = await newFile();
  const segment = Segment.create(1, file, BASE, CHECKSUM);
  segment.writeIndex();
  expect(Segment.read(1, file, CHECKSUM)!.positions()).toEqual([segment.base]);
});

test('[LOG14] entries of the index are 64 KB apart, counted from the first record', async () => {
  const file = await newFile();
  const segment = Segment.create(1, file, BASE, CHECKSUM);
  const first = 4096 + 65_536;
  for (const offset of [first - 8, first, first + 8, first + 65_528, first + 65_536]) {
    segment.note(at(offset));
  }
  expect(segment.positions().map(({ offset }) => offset)).toEqual([4096, first, first + 65_536]);
  segment.cutIndex(first);
  expect(segment.positions().map(({ offset }) => offset)).toEqual([4096, first]);
  segment.cutIndex(first - 1);
  expect(segment.positions()).toEqual([segment.base]);
});

test('[LOG14] a full index keeps every second entry, at twice the distance, also when it is read back', async () => {
  const file = await newFile();
  let segment = Segment.create(1, file, BASE, CHECKSUM);
  for (let i = 1; i <= 125; i++) segment.note(at(4096 + i * 65_536, i));
  const sequences = () =>
    segment
      .positions()
      .map(({ sequence }) => sequence)
      .slice(1);
  expect(sequences()).toHaveLength(125);
  segment.note(at(4096 + 126 * 65_536, 126));
  // 1 to 125, without the odd ones, and the new one.
  const kept = [...Array.from({ length: 62 }, (_, i) => 2 * i + 2), 126];
  expect(sequences()).toEqual(kept);
  segment.writeIndex();
  const before = segment.positions();
  for (const read of [false, true]) {
    if (read) segment = Segment.read(1, file, CHECKSUM)!;
    expect(segment.positions()).toEqual(before);
    segment.note(at(4096 + 127 * 65_536, 127));
    expect(sequences()).toEqual(kept);
  }
  segment.note(at(4096 + 128 * 65_536, 128));
  expect(sequences()).toEqual([...kept, 128]);
});

test('[LOG17] the index lies behind the header, with its checksum, and leaves the records alone', async () => {
  const file = await newFile();
  const segment = Segment.create(1, file, BASE, CHECKSUM);
  append(file, 1, 0);
  const before = bytesOf(file);
  segment.note({ offset: 100_000, sequence: 2 ** 33, timeMs: 5.5, sum: 2 ** 52 });
  segment.writeIndex();
  const bytes = bytesOf(file);
  expect(bytes.subarray(0, 64)).toEqual(before.subarray(0, 64));
  expect(bytes.subarray(4096)).toEqual(before.subarray(4096));
  const view = new DataView(bytes.buffer);
  expect(view.getFloat64(64, true)).toBe(
    CHECKSUM.ofRecord(new Uint32Array(bytes.buffer, 0, 1024), 18, 1024),
  );
  expect(view.getUint32(72, true)).toBe(1);
  expect([80, 88, 96, 104].map((offset) => view.getFloat64(offset, true))).toEqual([
    100_000,
    2 ** 33,
    5.5,
    2 ** 52,
  ]);
  expect(Segment.read(1, file, CHECKSUM)!.positions().slice(1)).toEqual([
    { offset: 100_000, sequence: 2 ** 33, timeMs: 5.5, sum: 2 ** 52 },
  ]);
});

test('[LOG14] an index finds the last position that is accepted, up to the first that is not', async () => {
  const segment = Segment.create(1, await newFile(), BASE, CHECKSUM);
  for (let i = 1; i <= 4; i++) segment.note(at(4096 + i * 70_000, i));
  expect(segment.lastPosition(() => false)).toBe(segment.base);
  expect(segment.lastPosition(({ sequence }) => sequence < 3).sequence).toBe(2);
  expect(segment.lastPosition(({ sequence }) => sequence !== 2).sequence).toBe(1);
  expect(segment.lastPosition(() => true).sequence).toBe(4);
});

test('[LOG14] records are read from a position, and up to one', async () => {
  const file = await newFile();
  const segment = Segment.create(1, file, BASE, CHECKSUM);
  const places = append(file, 4, 0);
  const found = [...segment.records(segment.base)];
  expect(found.map(({ offset }) => offset)).toEqual(places.slice(0, 4));
  const second = positionAfter(found[1]!)!;
  expect(second).toEqual({
    offset: places[2],
    sequence: 12,
    timeMs: BASE.timeMs + 2,
    sum: found[1]!.record.sum,
  });
  const from = (end?: number) =>
    [...segment.records(second, end)].map(({ record }) => record.sequence);
  expect(from()).toEqual([13, 14]);
  expect(from(places[3]! + 1)).toEqual([13, 14]);
  expect(from(places[3]!)).toEqual([13]);
  expect(from(places[2]!)).toEqual([]);
  const part = { ...found[0]!, record: { ...found[0]!.record, flags: CONTINUES | MARKER } };
  expect(positionAfter(part)).toBeNull();
  expect(segment.read(places[1]!, 8)).toEqual(bytesOf(file).subarray(places[1]!, places[1]! + 8));
});

test('[LOG3] an intact record of another chain is not read', async () => {
  const file = await newFile();
  const segment = Segment.create(1, file, BASE, CHECKSUM);
  const places = append(file, 3, 0);
  const third = bytesOf(file).subarray(places[2]!, places[3]!);
  file.write(third, places[1]!);
  expect(sequences(segment)).toEqual([11]);
});

test('[LOG3] a record that the end of the file cuts off is not read', async () => {
  const file = await newFile();
  const segment = Segment.create(1, file, BASE, CHECKSUM);
  const places = append(file, 2, 0);
  for (const size of [places[2]! - 1, places[1]! + 64, places[1]! + 63, places[1]!]) {
    file.truncate(size);
    expect(sequences(segment)).toEqual([11]);
  }
});

test('[LOG3] bytes after the end of the log are cut off, but zeros written ahead are kept', async () => {
  const file = await newFile();
  const segment = Segment.create(1, file, BASE, CHECKSUM);
  const end = append(file, 1, 0).at(-1)!;
  file.write(new Uint8Array(1000), end);
  segment.cutBehind(end);
  expect(file.sizeBytes()).toBe(end + 1000);
  file.write(new Uint8Array([1]), end + 999);
  segment.cutBehind(end);
  expect(file.sizeBytes()).toBe(end);
  segment.cutBehind(end);
  expect(sequences(segment)).toEqual([11]);
});

test('[LOG13] a file of zeros counts as empty, however long it is', async () => {
  const file = await newFile();
  expect(isEmptied(file, 0)).toBe(true);
  file.write(new Uint8Array(2 * WINDOW_BYTES + 10), 0);
  expect(isEmptied(file, 0)).toBe(true);
  for (const place of [0, WINDOW_BYTES - 1, WINDOW_BYTES, 2 * WINDOW_BYTES + 9]) {
    file.write(new Uint8Array([5]), place);
    expect(isEmptied(file, 0)).toBe(false);
    expect(isZeroFrom(file, place)).toBe(false);
    expect(isZeroFrom(file, place + 1)).toBe(true);
    file.write(new Uint8Array([0]), place);
  }
});

test('[LOG7] a later record proves that one before it was durable only if it is whole, and says so', async () => {
  const file = await newFile();
  Segment.create(1, file, BASE, CHECKSUM);
  const places = append(file, 3, 13);
  // The last record: at any place, up to the very end of the file.
  expect(provesFlushed(file, places[2]!, 12, CHECKSUM)).toBe(true);
  expect(provesFlushed(file, places[2]! + 8, 12, CHECKSUM)).toBe(false);
  expect(provesFlushed(file, places[2]!, 13, CHECKSUM)).toBe(false);
  expect(provesFlushed(file, 0, 12, CHECKSUM)).toBe(true);
  expect(provesFlushed(file, places[2]!, 12, new Checksum(CHECKSUM.salt + 1))).toBe(false);
  // Something that only begins like a record lies before it.
  file.write(bytesOf(file).subarray(places[1]! + 8, places[1]! + 12), places[1]! + 24);
  expect(provesFlushed(file, places[1]! + 8, 12, CHECKSUM)).toBe(true);
  file.truncate(places[3]! - 1);
  expect(provesFlushed(file, places[2]!, 12, CHECKSUM)).toBe(false);
  file.truncate(places[2]! + 64);
  expect(provesFlushed(file, places[2]!, 12, CHECKSUM)).toBe(false);
});

test('[LOG7] a record without pages proves it as well, at the very end of the file', async () => {
  const file = await newFile();
  const writer = new RecordWriter();
  writer.begin();
  const counts = { flags: 0, epoch: 1, pageCountBefore: 0, pageCount: 0 };
  const header = { sequence: 14, timeMs: 1, durableSequence: 13, previousSum: 0, ...counts };
  const { bytes } = writer.finish(header, CHECKSUM);
  expect(bytes.length).toBe(64);
  file.write(bytes, 8);
  expect(provesFlushed(file, 0, 12, CHECKSUM)).toBe(true);
});

test('[LOG7] it proves it behind zeros too, however many were written ahead', async () => {
  const writer = new RecordWriter();
  writer.begin();
  const counts = { flags: 0, epoch: 1, pageCountBefore: 0, pageCount: 0 };
  const header = { sequence: 14, timeMs: 1, durableSequence: 13, previousSum: 0, ...counts };
  const { bytes } = writer.finish(header, CHECKSUM);
  for (const about of [4096, 2 * 4096, WINDOW_BYTES, WINDOW_BYTES + 4096]) {
    for (let place = about - 32; place <= about + 16; place += 8) {
      for (const zerosBehind of [0, 1, 100, WINDOW_BYTES]) {
        const file = await newFile();
        file.write(bytes, place);
        file.write(new Uint8Array(zerosBehind), place + bytes.length);
        expect(provesFlushed(file, 0, 12, CHECKSUM)).toBe(true);
        expect(provesFlushed(file, 0, 13, CHECKSUM)).toBe(false);
        expect(provesFlushed(file, place + 8, 12, CHECKSUM)).toBe(false);
      }
    }
  }
});

test('[LOG7] looking for it reads each byte once, however many records prove nothing', async () => {
  const file = await newFile();
  Segment.create(1, file, BASE, CHECKSUM);
  const end = append(file, 9000, 0).at(-1)!;
  let readBytes = 0;
  const counted = {
    ...file,
    sizeBytes: () => file.sizeBytes(),
    read: (target: Uint8Array, offset: number) => {
      const count = file.read(target, offset);
      readBytes += count;
      return count;
    },
  } as SyncFile;
  expect(end).toBeGreaterThan(2 * WINDOW_BYTES);
  expect(provesFlushed(counted, SEGMENT_HEADER_BYTES, 12, CHECKSUM)).toBe(false);
  expect(readBytes).toBeLessThan(1.1 * end);
});

test('[LOG14] readers that take turns read the bytes each asked for, of any length', async () => {
  const [one, other] = [await newFile(), await newFile()];
  const size = 3 * WINDOW_BYTES;
  const content = new Uint8Array(size);
  for (let i = 0; i < size; i++) content[i] = (i * 7) % 251;
  const reversed = content.slice().reverse();
  one.write(content, 0);
  other.write(reversed, 0);
  const [first, second] = [new WindowReader(one), new WindowReader(other)];
  const same = (view: Uint8Array | null, offset: number, length: number, of = content) =>
    Buffer.from(view!).equals(of.subarray(offset, offset + length));
  for (const [offset, length] of [
    [0, 10],
    [5, WINDOW_BYTES],
    [WINDOW_BYTES, 2 * WINDOW_BYTES],
    [WINDOW_BYTES + 1, 8],
    [3, 8],
    [size - 8, 8],
  ] as const) {
    expect(same(first.view(offset, length), offset, length)).toBe(true);
    expect(same(second.view(offset, length), offset, length, reversed)).toBe(true);
    expect(same(first.view(offset, length), offset, length)).toBe(true);
  }
  expect(first.view(size - 8, 9)).toBeNull();
  expect(first.view(1, size)).toBeNull();
  for (const length of [size + 100_000, 2 ** 31, 2 ** 32]) {
    expect(first.view(0, length)).toBeNull();
  }
  expect(same(first.view(0, size), 0, size)).toBe(true);
});

test('[LOG7] the error of a damaged segment names it', () => {
  expect(damagedSegment(7)).toMatchObject({
    code: 'CORRUPT',
    message: 'history: segment 7 of the log is damaged.',
  });
});
