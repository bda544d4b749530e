// Assertions of the log: what a defect in its callers would do ends the object, and does not reach a file.

import { expect, test } from 'vitest';
import { noise, openLog, put, TestEnvironment, WatchedDirectory } from '../../testing/test-log.ts';
import { runFlushing } from '../file/file.ts';
import { assert, isDefect } from '../file/invariant.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { Checksum } from './checksum.ts';
import { CommitLog } from './commit-log.ts';
import { CONTINUES, MARKER, RecordWriter } from './record.ts';
import { Spans } from './sealed-segments.ts';
import { Segment, segmentName } from './segment.ts';

const CHECKSUM = new Checksum(5);
const KEEP_ALL = { from: async () => 0, bytes: Number.POSITIVE_INFINITY };

async function newLog() {
  const directory = new MemoryDirectory();
  const file = await directory.open(segmentName(1));
  const active = Segment.create(1, file, { sequence: 10, timeMs: 1, sum: 42 }, CHECKSUM);
  const log = new CommitLog({
    directory,
    environment: { now: () => 1000, randomUint32: () => 7 },
    checksum: CHECKSUM,
    segmentBytes: 1,
    active,
    position: active.base,
    spare: null,
    opened: [],
    oldest: 1,
    firstNeeded: () => 1,
    pinnedSequence: () => Number.POSITIVE_INFINITY,
    spans: new Spans(),
  });
  const append = (flags: number, sequence: number) => {
    const writer = new RecordWriter();
    writer.begin();
    writer.addMarker(-1, 0);
    log.append(writer, { flags, sequence, pageCountBefore: 0, pageCount: 0 });
  };
  return { log, append, file };
}

function violation(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return isDefect(error) && (error as Error).message;
  }
  return undefined;
}

test('[LOG28] a violated assertion is INTERNAL, and says what it found', () => {
  assert(1 < 2, 'never');
  expect(() => assert(1 > 2, 'one is more than two')).toThrow(
    expect.objectContaining({
      code: 'INTERNAL',
      message: expect.stringContaining('one is more than two'),
    }),
  );
});

test('[LOG28] a commit whose sequence is not after the last one is not written', async () => {
  const { log, append, file } = await newLog();
  append(0, 11);
  const size = file.sizeBytes();
  expect(violation(() => append(0, 11))).toMatch(/sequence/);
  expect(violation(() => append(CONTINUES, 3))).toMatch(/sequence/);
  expect([log.position.sequence, file.sizeBytes()]).toEqual([11, size]);
  append(MARKER, 11);
});

test('[LOG28] a marker between the parts of a transaction is not written', async () => {
  const { append, file } = await newLog();
  append(CONTINUES, 11);
  const size = file.sizeBytes();
  expect(violation(() => append(MARKER, 10))).toMatch(/marker/);
  expect(file.sizeBytes()).toBe(size);
});

test('[LOG28] a segment does not end before it is durable', async () => {
  const { log, append } = await newLog();
  append(0, 11);
  await log.maintain(KEEP_ALL);
  expect(violation(() => log.rotate())).toMatch(/durable/);
  runFlushing(log.flush());
  log.rotate();
  expect(log.active.number).toBe(2);
});

test('[LOG28] a checkpoint does not begin before the log is durable: neither its slot nor a page is written', async () => {
  const directory = new WatchedDirectory();
  const { files, db, close } = await openLog(directory, new TestEnvironment());
  put(db, 1, noise(1, 1000));
  directory.written.clear();
  const pages = files.file as unknown as { checkpoint(restore: null): never };
  expect(violation(() => runFlushing(pages.checkpoint(null)))).toMatch(/checkpoint/);
  expect([...directory.written]).toEqual([]);
  await close();
});
