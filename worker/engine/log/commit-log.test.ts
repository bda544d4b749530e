// The end of the log on its own: the remains of a failed write, the zeros ahead, and the durable
// position.

import { beforeEach, expect, test, vi } from 'vitest';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { runFlushing, type SyncFile } from '../file/file.ts';

import { MemoryDirectory } from '../file/memory-file.ts';
import { Checksum } from './checksum.ts';
import { CommitLog } from './commit-log.ts';
import { CONTINUES, parseHeader, RecordWriter } from './record.ts';
import { Spans } from './sealed-segments.ts';
import { SEGMENT_HEADER_BYTES, Segment, segmentName } from './segment.ts';

const CHECKSUM = new Checksum(5);
const KEEP_ALL = { from: async () => 0, bytes: Number.POSITIVE_INFINITY };
const START_MS = 1000;
const KB = 1024;

let directory: MemoryDirectory;
let file: SyncFile;
let active: Segment;
let nowMs: number;
/** Answers of the disk to the next writes: the error, and whether pruning makes room. */
let failures: { readonly code: 'DISK_FULL' | 'IO'; readonly hasRoom: boolean }[];
/** Ends the flushes that are under way, in order of their calls; null: they end at once. */
let flushes: (() => void)[] | null;
let end: CommitLog;

async function firstSegment() {
  const inner = await directory.open(segmentName(1));
  const watched: SyncFile = {
    read: (target, offset) => inner.read(target, offset),
    write: (bytes, offset) => {
      const failure = failures[0];
      if (failure === undefined) return inner.write(bytes, offset);
      // A part of it was written.
      inner.write(bytes.subarray(0, bytes.length / 2), offset);
      throw storageError(failure.code, 'write: fails');
    },
    truncate: (sizeBytes) => inner.truncate(sizeBytes),
    sizeBytes: () => inner.sizeBytes(),
    flush: () => (flushes === null ? undefined : new Promise((resolve) => flushes!.push(resolve))),
    close: () => inner.close(),
  };
  return Segment.create(1, watched, { sequence: 10, timeMs: START_MS, sum: 42 }, CHECKSUM);
}

beforeEach(async () => {
  directory = new MemoryDirectory();
  nowMs = START_MS;
  failures = [];
  flushes = null;
  active = await firstSegment();
  file = active.file;
  begin(KB);
});

function begin(segmentBytes: number): void {
  const environment = { now: () => nowMs, randomUint32: () => 7 };
  end = new CommitLog({
    directory,
    environment,
    checksum: CHECKSUM,
    segmentBytes,
    active,
    position: active.base,
    spare: null,
    opened: [],
    oldest: 1,
    firstNeeded: () => 1,
    pinnedSequence: () => Number.POSITIVE_INFINITY,
    spans: new Spans(),
  });
  vi.spyOn(end.sealed, 'pruneOldest').mockImplementation(() => failures.shift()!.hasRoom);
}

/** Appends a record of `sizeBytes`; returns its offset. */
function append(flags = 0, sizeBytes = 80): number {
  const writer = new RecordWriter();
  writer.begin();
  for (let size = 80; size <= sizeBytes; size += 16) writer.addMarker(-1, 0);
  const sequence = end.position.sequence + 1;
  return end.append(writer, { flags, sequence, pageCountBefore: 0, pageCount: 0 });
}

/** The sequences of the records that the next opening finds. */
function found(): number[] {
  return [...active.records(active.base)].map(({ record }) => record.sequence);
}

function bytesFrom(offset: number): Uint8Array {
  const bytes = new Uint8Array(Math.max(0, file.sizeBytes() - offset));
  file.read(bytes, offset);
  return bytes;
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test('[LOG4] records follow one another; a commit moves the position, a part does not', () => {
  expect(append()).toBe(SEGMENT_HEADER_BYTES);
  const after = end.position;
  expect(after).toMatchObject({ offset: SEGMENT_HEADER_BYTES + 80, sequence: 11 });
  expect(append(CONTINUES)).toBe(after.offset);
  expect([end.position, end.hasOpenParts]).toEqual([after, true]);
  expect(append()).toBe(after.offset + 80);
  expect([end.position.offset, end.hasOpenParts]).toEqual([after.offset + 160, false]);
  expect(found()).toEqual([11, 12, 12]);
});

test('[LOG4] parts that were dropped are overwritten', () => {
  append();
  append(CONTINUES);
  append(CONTINUES);
  end.dropOpenParts();
  expect(end.hasOpenParts).toBe(false);
  append();
  expect(found()).toEqual([11, 12]);
});

test('[LOG17] a record names the time of its commit, which never goes back', () => {
  const times: number[] = [];
  for (const ms of [START_MS + 5.9, START_MS - 100, START_MS + 7]) {
    nowMs = ms;
    append();
    times.push(end.position.timeMs);
  }
  expect(times).toEqual([START_MS + 5, START_MS + 5, START_MS + 7]);
  expect([...active.records(active.base)].map(({ record }) => record.timeMs)).toEqual(times);
});

test('[LOG17] a record names the epoch of its opening, and the last durable commit', () => {
  append();
  runFlushing(end.flush());
  append();
  append();
  const durable = [...active.records(active.base)].map(({ bytes }) => parseHeader(bytes)!);
  expect(durable.map(({ durableSequence }) => durableSequence)).toEqual([10, 11, 11]);
  const epochs = [...active.records(active.base)].map(({ bytes }) =>
    new DataView(bytes.buffer, bytes.byteOffset).getUint32(52, true),
  );
  expect(epochs).toEqual([7, 7, 7]);
});

test('[LOG3] a write that fails leaves nothing, and the next one takes its place', () => {
  append();
  const { position } = end;
  failures = [{ code: 'IO', hasRoom: true }];
  expect(() => append()).toThrow(expect.objectContaining({ code: 'IO' }));
  expect(end.position).toBe(position);
  expect(file.sizeBytes()).toBe(position.offset);
  failures = [];
  expect(append()).toBe(position.offset);
  expect(found()).toEqual([11, 12]);
});

test('[LOG13] a full disk is DISK_FULL once nothing more can be pruned', () => {
  failures = [
    { code: 'DISK_FULL', hasRoom: true },
    { code: 'DISK_FULL', hasRoom: true },
  ];
  append();
  expect(failures).toEqual([]);
  expect(found()).toEqual([11]);
  failures = [
    { code: 'DISK_FULL', hasRoom: true },
    { code: 'DISK_FULL', hasRoom: false },
    { code: 'DISK_FULL', hasRoom: true },
  ];
  expect(() => append()).toThrow(expect.objectContaining({ code: 'DISK_FULL' }));
  expect(failures).toHaveLength(1);
  expect(file.sizeBytes()).toBe(end.position.offset);
});

test('[LOG3] a failed write that cannot be cut off is not found, and the error is that of the write', () => {
  append();
  const { truncate } = file;
  file.truncate = () => {
    throw storageError('IO', 'truncate: fails');
  };
  failures = [{ code: 'DISK_FULL', hasRoom: false }];
  expect(() => append()).toThrow(expect.objectContaining({ code: 'DISK_FULL' }));
  file.truncate = truncate;
  expect(found()).toEqual([11]);
});

test('[LOG17] zeros are written ahead of the end, again when less than 16 KB of them are left', () => {
  begin(8 * KB * KB);
  append();
  end.growAhead();
  const size = file.sizeBytes();
  expect(size - end.position.offset).toBe(64 * KB);
  expect(bytesFrom(end.position.offset).every((byte) => byte === 0)).toBe(true);
  end.growAhead();
  expect(file.sizeBytes()).toBe(size);
  append(0, size - end.position.offset - 16 * KB);
  expect(size - end.position.offset).toBe(16 * KB);
  end.growAhead();
  expect(file.sizeBytes()).toBe(size);
  append();
  end.growAhead();
  expect(file.sizeBytes()).toBeGreaterThan(size);
  expect(bytesFrom(end.position.offset).every((byte) => byte === 0)).toBe(true);
  expect(found()).toEqual([11, 12, 13]);
});

test('[LOG17] the zeros ahead grow with the log, up to 1 MB', () => {
  begin(8 * KB * KB);
  for (let i = 0; i < 3; i++) append(0, 60 * KB);
  end.growAhead();
  expect(file.sizeBytes()).toBe(2 * end.position.offset);
  for (let i = 0; i < 40; i++) append(0, 60 * KB);
  end.growAhead();
  expect(file.sizeBytes()).toBe(end.position.offset + KB * KB);
});

test('[LOG13] the zeros ahead end where the segment does, which the disk counts as a power of two', () => {
  begin(128 * KB);
  for (let i = 0; i < 2; i++) append(0, 60 * KB);
  end.growAhead();
  expect(file.sizeBytes()).toBe(128 * KB);
  append();
  end.growAhead();
  expect(file.sizeBytes()).toBe(128 * KB);
});

test('[LOG17] no zeros are written ahead after a record as large as they are, and again after a smaller one', () => {
  begin(8 * KB * KB);
  append();
  end.growAhead();
  append(0, 64 * KB);
  end.growAhead();
  expect(file.sizeBytes()).toBe(end.position.offset);
  append();
  end.growAhead();
  expect(file.sizeBytes()).toBeGreaterThan(end.position.offset + 64 * KB);
  expect(bytesFrom(end.position.offset).every((byte) => byte === 0)).toBe(true);
  expect(found()).toEqual([11, 12, 13]);
});

test('[LOG13] zeros for which the disk has no room are left out, and nothing of them stays', () => {
  begin(8 * KB * KB);
  append();
  failures = [{ code: 'DISK_FULL', hasRoom: true }];
  end.growAhead();
  expect(file.sizeBytes()).toBe(end.position.offset);
  failures = [{ code: 'IO', hasRoom: true }];
  expect(() => end.growAhead()).toThrow(expect.objectContaining({ code: 'IO' }));
  failures = [];
  end.growAhead();
  expect(file.sizeBytes()).toBe(end.position.offset + 64 * KB);
});

test('[LOG13] zeros are written ahead again after a failed write cut them off', () => {
  begin(8 * KB * KB);
  append();
  end.growAhead();
  failures = [{ code: 'IO', hasRoom: true }];
  expect(() => append()).toThrow();
  failures = [];
  append();
  end.growAhead();
  expect(file.sizeBytes()).toBe(end.position.offset + 64 * KB);
});

test('[LOG4] a flush makes the commits before its beginning durable', async () => {
  flushes = [];
  append();
  const first = end.position;
  const running = runFlushing(end.flush());
  append();
  expect([end.durable.sequence, end.isDurable]).toEqual([10, false]);
  flushes[0]!();
  await running;
  expect([end.durable, end.isDurable]).toEqual([first, false]);
});

test('[LOG4] a flush that ends after a later one takes nothing back', async () => {
  flushes = [];
  append();
  const early = runFlushing(end.flush());
  append();
  const late = runFlushing(end.flush());
  flushes[1]!();
  await late;
  expect(end.isDurable).toBe(true);
  flushes[0]!();
  await early;
  expect(end.isDurable).toBe(true);
});

test('[LOG16] commits that were discarded during a flush are not durable when it ends', async () => {
  append();
  runFlushing(end.flush());
  const kept = end.position;
  flushes = [];
  append();
  const running = runFlushing(end.flush());
  const cut = end.cutToDurable();
  for (const resolve of flushes) resolve();
  await Promise.all([running, cut]);
  await settle();
  expect([end.position, end.durable]).toEqual([kept, kept]);
  expect(file.sizeBytes()).toBe(kept.offset);
  append();
  expect(found()).toEqual([11, 12]);
});

test('[LOG16] discarding drops the open parts too, and is flushed', () => {
  append();
  runFlushing(end.flush());
  append(CONTINUES);
  flushes = [];
  void end.cutToDurable();
  expect([end.hasOpenParts, flushes.length]).toEqual([false, 1]);
  expect(found()).toEqual([11]);
});

test('[LOG14] a flush of the previous segment proves nothing about the next one', async () => {
  begin(128 * KB);
  append();
  runFlushing(end.flush());
  await end.maintain(KEEP_ALL);
  flushes = [];
  const running = runFlushing(end.flush());
  end.rotate();
  const next = end.active;
  expect([next.number, end.position, end.isDurable]).toEqual([2, next.base, true]);
  expect(append()).toBe(SEGMENT_HEADER_BYTES);
  append();
  flushes[0]!();
  await running;
  expect(end.durable).toBe(next.base);
  end.growAhead();
  expect(next.file.sizeBytes()).toBe(end.position.offset + 64 * KB);
});
