// Assertions of the log: what a defect in its callers would do ends the object, and does not reach a file.

import { expect, test } from 'vitest';
import {
  noise,
  openLog,
  put,
  TestEnvironment,
  WatchedDirectory,
} from '../../../packages/testing/worker/test-log.ts';
import { assert, isDefect } from '../../../src/shared/contract/invariant.ts';
import { runFlushing } from '../file/file.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { Checksum } from './checksum.ts';
import { CommitLog } from './commit-log.ts';
import { DEFAULT_SIZES, ObjectFiles } from './object-files.ts';
import { CONTINUES, MARKER, RecordWriter } from './record.ts';
import { recover } from './recovery.ts';
import { Restore } from './restore.ts';
import { Spans } from './sealed-segments.ts';
import { Segment, segmentName } from './segment.ts';

const CHECKSUM = new Checksum(5);
const KEEP_ALL = { from: async () => 0, bytes: Number.POSITIVE_INFINITY };

/** `spareNumber`: of the segment that was opened ahead. */
async function newLog(spareNumber: number | null = null) {
  const directory = new MemoryDirectory();
  const file = await directory.open(segmentName(1));
  const active = Segment.create(1, file, { sequence: 10, timeMs: 1, sum: 42 }, CHECKSUM);
  const spare =
    spareNumber === null
      ? null
      : { number: spareNumber, file: await directory.open(segmentName(spareNumber)) };
  const log = new CommitLog({
    directory,
    environment: { now: () => 1000, randomUint32: () => 7 },
    checksum: CHECKSUM,
    segmentBytes: 1,
    active,
    position: active.base,
    spare,
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
  return { log, append, file, active };
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

test('[LOG28] a record leaves no gap in the log', async () => {
  const { append, file, active } = await newLog();
  append(0, 11);
  const size = file.sizeBytes();
  expect(violation(() => active.append(new Uint8Array(8), size + 8, () => false))).toMatch(/gap/);
  expect(file.sizeBytes()).toBe(size);
});

test('[LOG28] no segment is missing between one that ends and the next', async () => {
  const { log, append } = await newLog(3);
  append(0, 11);
  runFlushing(log.flush());
  expect(violation(() => log.rotate())).toMatch(/missing/);
  expect(log.active.number).toBe(1);
});

test('[LOG28] the history of a restore is there until its commit', async () => {
  const directory = new MemoryDirectory();
  const environment = new TestEnvironment();
  const sizes = { ...DEFAULT_SIZES, segmentBytes: 1 << 14, checkpointLogBytes: 1 };
  const files = await ObjectFiles.open(directory, environment, sizes);
  for (let seed = 0; seed < 12; seed++) {
    files.file.write(noise(seed, 4096), 0);
    files.file.commit();
    if (seed === 0) files.scheduleRestore(files.currentBookmark());
    await files.flush();
    await files.maintain();
  }
  await files.close();
  const { log, pages, main, pendingRestore } = await recover(directory, environment, sizes);
  const restore = new Restore(log, pages, pendingRestore);
  await restore.show();
  restore.checkHistory();
  log.keepFrom(null); // breaks the rule of callers: a pending restore keeps its history
  while (log.pruneOldest());
  expect(violation(() => restore.commit())).toMatch(/history of a restore/);
  expect(restore.isShown).toBe(true);
  log.close();
  main.close();
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
