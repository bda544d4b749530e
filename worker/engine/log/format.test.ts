import { beforeAll, expect, test, vi } from 'vitest';
import {
  checkMain,
  readLog,
  readSlot,
  tableCount,
} from '../../../packages/testing/worker/format-reader.ts';
import {
  bytesOf,
  noise,
  openLog,
  put,
  TestEnvironment,
} from '../../../packages/testing/worker/test-log.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { annotationOf } from './annotation.ts';

beforeAll(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});

async function readDirectory(directory: MemoryDirectory) {
  const names = (await directory.names()).sort();
  const checkpoint = await bytesOf(directory, 'checkpoint');
  const main = await bytesOf(directory, 'main');
  const segments: Uint8Array[] = [];
  for (const name of names.filter((candidate) => candidate.startsWith('log-'))) {
    const bytes = await bytesOf(directory, name);
    // A segment that was only opened ahead has no header yet.
    if (bytes.length > 0) segments.push(bytes);
  }
  return { checkpoint, main, segments };
}

test('[LOG17] a reader built from the document alone finds every commit', {
  tags: 'long',
}, async () => {
  const directory = new MemoryDirectory();
  const environment = new TestEnvironment();
  // Every transaction that spills is logged as a whole: none of its pages is beyond the main file.
  const options = { segmentBytes: 1 << 18, checkpointLogBytes: 1 << 17, spillBytes: 1 << 16 };
  const { files, db, close } = await openLog(directory, environment, options);
  const step = async () => {
    environment.nowMs += 1000;
    await files.flush();
    if (files.needsMaintenance) await files.maintain();
  };
  for (let i = 0; i < 200; i++) {
    put(db, i % 40, noise(i, 100 + 37 * (i % 90)));
    await step();
  }
  let text = Array.from({ length: 3000 }, (_, i) => (i * i).toString(36)).join(' ');
  for (let i = 0; i < 40; i++) {
    put(db, 500, text);
    await step();
    text = `${text.slice(0, i * 100)} typed ${text.slice(i * 100 + (i % 3))}`;
  }
  const bookmark = files.currentBookmark();
  db.exec('PRAGMA cache_size=10');
  // A transaction that spills, whose last part has the annotation, and the marker of a restore.
  const author = { kind: 'storage', connection: 'c0', method: 'add', label: 'Überall' } as const;
  files.annotate(annotationOf(author));
  db.exec('UPDATE t SET v = randomblob(length(v))');
  await step();
  db.exec('DELETE FROM t WHERE k > 3');
  db.exec('VACUUM');
  put(db, 1000, 'the pages that are gone');
  await step();
  files.scheduleRestore(bookmark, annotationOf({ kind: 'restore', method: 'undo' }));
  await step();
  const image = files.databaseBytes();
  const sequence = files.committedSequence;
  await close();

  const { checkpoint, main, segments } = await readDirectory(directory);
  const { salt } = readSlot(checkpoint);
  const read = readLog(segments, salt!);
  expect(tableCount).toBe(11);
  expect(new Set(read.authors)).toEqual(new Set(['1 c0 add Überall', '10  undo ']));
  expect(segments.length).toBeGreaterThan(2);
  expect(read.sequence).toBe(sequence);
  expect(Buffer.from(read.image).equals(image)).toBe(true);
  expect(read.restoreTarget).toBe(Number.parseInt(bookmark.slice(9, 17), 16));
  for (const [what, count] of Object.entries(read.seen)) {
    expect(count, what).toBeGreaterThan(0);
  }
  checkMain(main, checkpoint);
  const { segment, offset, timeMs, recordSum, ...slot } = readSlot(checkpoint);
  const place = { segment, offset, sequence: slot.sequence, timeMs, recordSum };
  expect(read.places).toContainEqual(place);
  expect([slot.restoreTarget, slot.restoreSum]).toEqual([-1, 0]);
});
