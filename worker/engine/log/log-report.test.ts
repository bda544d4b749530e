// The report on an object's files, against the written numbers and the next opening.

import { expect, test } from 'vitest';
import {
  bytesOf,
  noise,
  START_MS,
  TestEnvironment,
} from '../../../packages/testing/worker/test-log.ts';
import type { FileDirectory } from '../file/file.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { annotationOf } from './annotation.ts';
import { reportLog } from './log-report.ts';
import { ObjectFiles } from './object-files.ts';
import { PAGE_BYTES } from './pages.ts';

/** Writes whole pages of noise, durably. */
async function commit(files: ObjectFiles, seed: number, ...pages: number[]): Promise<string> {
  for (const page of pages) files.file.write(noise(seed + page, PAGE_BYTES), page * PAGE_BYTES);
  files.file.commit();
  await files.flush();
  return files.currentBookmark();
}

async function bytesIn(directory: FileDirectory): Promise<Map<string, Uint8Array>> {
  const found = new Map<string, Uint8Array>();
  for (const name of await directory.names()) found.set(name, await bytesOf(directory, name));
  return found;
}

/** A record has these bytes, its pages, and up to seven zeros. */
const sizeOf = (pagesBytes: number, otherBytes = 0) =>
  Math.ceil((64 + pagesBytes + otherBytes) / 8) * 8;
const PAGE_HEAD_BYTES = 12 + 4;
const newPages = (count: number) => count * (PAGE_HEAD_BYTES + PAGE_BYTES);
const changedPages = (count: number) => count * (PAGE_HEAD_BYTES + 2 * PAGE_BYTES);

test('[LOG29] each record is reported with its place, kind, sequence, time, size, pages and author', async () => {
  const directory = new MemoryDirectory();
  const environment = new TestEnvironment();
  let files = await ObjectFiles.open(directory, environment);
  const author = { kind: 'call', method: 'add', connection: 'c0' } as const;
  files.annotate(annotationOf(author));
  const bookmark = await commit(files, 10, 0, 1, 2);
  environment.nowMs += 1000;
  await commit(files, 20, 1);
  environment.nowMs += 1000;
  const by = { kind: 'restore', method: 'backTo' } as const;
  files.scheduleRestore(bookmark, annotationOf(by));
  await files.flush();
  await files.close();
  environment.nowMs += 1000;
  files = await ObjectFiles.open(directory, environment);
  files.commitRestore();
  await files.close();

  const { segments, oldestMs, damage } = await reportLog(await bytesIn(directory), START_MS);
  const [authorBytes, byBytes] = [author, by].map((each) => annotationOf(each).bytes.length);
  const records = [
    {
      kind: 'commit',
      sequence: 1,
      sizeBytes: sizeOf(newPages(3), authorBytes),
      pages: 3,
      by: author,
    },
    { kind: 'commit', sequence: 2, sizeBytes: sizeOf(changedPages(1)), pages: 1 },
    { kind: 'marker', sequence: 2, sizeBytes: sizeOf(16, byBytes), pages: 0, by },
    // A restore is written in parts; the last one, without pages, is the commit.
    { kind: 'part', sequence: 3, sizeBytes: sizeOf(changedPages(1)), pages: 1 },
    { kind: 'restore', sequence: 2 ** 32, sizeBytes: sizeOf(0, byBytes), pages: 0, by },
  ];
  const seconds = [0, 1, 2, 3, 3];
  let offset = 4096;
  const expected = records.map((record, i) => {
    offset += record.sizeBytes;
    return { ...record, offset: offset - record.sizeBytes, timeMs: START_MS + seconds[i]! * 1000 };
  });
  expect(segments[0]!.records).toEqual(expected);
  expect([segments[0]!.end, oldestMs, damage]).toEqual([offset, START_MS, []]);
});

test('[LOG29] the report tells of the next opening what it redoes, its last commit and its restore', async () => {
  const directory = new MemoryDirectory();
  const environment = new TestEnvironment();
  const files = await ObjectFiles.open(directory, environment);
  const first = await commit(files, 10, 0, 1);
  await commit(files, 20, 0);
  await files.checkpoint();
  for (let seed = 30; seed < 60; seed += 10) {
    environment.nowMs += 1000;
    await commit(files, seed, 2);
  }
  files.scheduleRestore(first);
  await files.flush();
  const bookmark = files.currentBookmark();
  await files.close();
  const { checkpoint, opening } = await reportLog(await bytesIn(directory), environment.nowMs);
  expect(checkpoint).toMatchObject({ segment: 'log-00000001', sequence: 2, pageCount: 2 });
  const restore = { sequence: 1, refused: null };
  const last = { sequence: 5, timeMs: START_MS + 3000, bookmark, pageCount: 3 };
  expect(opening).toEqual({ redone: 3, ...last, restore });
});

/** A closed object with four segments. */
async function withSegments() {
  const directory = new MemoryDirectory();
  const sizes = { segmentBytes: 1 << 14, checkpointLogBytes: 1 };
  const files = await ObjectFiles.open(directory, new TestEnvironment(), sizes);
  const first = await commit(files, 0, 0);
  for (let seed = 1; !(await directory.names()).includes('log-00000005'); seed++) {
    await commit(files, seed, 0);
    await files.maintain();
  }
  files.scheduleRestore(first);
  await files.flush();
  await files.close();
  return bytesIn(directory);
}

test('[LOG29] a missing segment, damage within one, and a restore that they refuse are reported', async () => {
  const whole = await withSegments();
  const sound = await reportLog(whole, START_MS);
  expect([sound.damage, sound.opening!.restore]).toMatchObject([[], { refused: null }]);

  const missing = new Map(whole);
  missing.delete('log-00000002');
  const { damage, opening } = await reportLog(missing, START_MS);
  expect(damage).toContain('log-00000002: is missing');
  expect(opening!.restore!.refused).toBe(
    'BOOKMARK_UNAVAILABLE: The history of that moment was pruned.',
  );

  const damaged = new Map(whole);
  const bytes = whole.get('log-00000002')!.slice();
  const second = sound.segments[1]!.records[1]!.offset;
  bytes[second + 70]! ^= 1;
  damaged.set('log-00000002', bytes);
  const report = await reportLog(damaged, START_MS);
  expect(report.damage).toEqual([
    `log-00000002: damaged at byte ${second}; the next segment begins with a later commit`,
  ]);
  expect(report.opening!.restore!.refused).toBe(
    'CORRUPT: history: segment 2 of the log is damaged.',
  );
});
