import { expect, test } from 'vitest';
import type { SyncFile } from '../file/file.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { Checksum } from './checksum.ts';
import { MARKER, RecordWriter } from './record.ts';
import { Segment, segmentName, segmentNumber } from './segment.ts';
import { SEGMENT_HEADER_BYTES } from './segment-header.ts';
import { INDEX_ENTRIES_MAX } from './segment-index.ts';
import { provesFlushed } from './segment-remains.ts';

const CHECKSUM = new Checksum(2, 5);
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
  expect([segmentNumber('main'), segmentNumber('log-2f')]).toEqual([null, null]);
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
  expect(count).toBeLessThanOrEqual(INDEX_ENTRIES_MAX);
  expect(count).toBeGreaterThan(INDEX_ENTRIES_MAX / 3);
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
  expect(Segment.read(1, file, new Checksum(2, CHECKSUM.salt + 1))).toBeNull();
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
