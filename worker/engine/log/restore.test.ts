import type { Database } from '@sqlite.org/sqlite-wasm';
import { expect, test } from 'vitest';
import {
  allRows,
  copyOf,
  noise,
  openLog,
  overwrite,
  put,
  TestEnvironment,
  WatchedDirectory,
} from '../../../packages/testing/worker/test-log.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { ObjectFiles } from './object-files.ts';

const SMALL = { segmentBytes: 1 << 16, checkpointLogBytes: 1 << 15 };
const TINY = { segmentBytes: 1 << 14, checkpointLogBytes: 1 << 13 };

test('[LOG11] a bookmark taken after a restore was requested works, also where a segment begins', async () => {
  const directory = new WatchedDirectory();
  const opened = await openLog(directory, undefined, SMALL);
  const first = opened.files.currentBookmark();
  for (let i = 0; !directory.written.has('log-00000002'); i++) {
    put(opened.db, i, noise(i, 30_000));
    await opened.files.flush();
    await opened.files.maintain();
  }
  opened.files.scheduleRestore(first);
  await opened.files.flush();
  const marked = opened.files.currentBookmark();
  const rows = allRows(opened.db);
  put(opened.db, 1, 'later');
  await opened.files.flush();
  opened.files.scheduleRestore(marked);
  await opened.files.flush();
  await opened.close();
  const again = await openLog(directory, undefined, SMALL);
  expect(allRows(again.db)).toEqual(rows);
  await again.close();
});

/** The rows, each as one string, for a quick comparison. */
function rowsOf(db: Database): unknown {
  return db.selectValues("SELECT k || ' ' || hex(v) FROM t ORDER BY k");
}

/** An object with a pending restore to a state whose history is gone. */
async function withImpossibleRestore() {
  const directory = new WatchedDirectory();
  const environment = new TestEnvironment();
  const { files, db, close } = await openLog(directory, environment, TINY);
  const first = files.currentBookmark();
  files.scheduleRestore(first);
  for (let i = 0; (await directory.names()).includes('log-00000001'); i++) {
    put(db, i % 4, noise(i, 8000));
    await files.flush();
    await files.maintain();
    environment.nowMs += 10 * 86_400_000;
  }
  const rows = rowsOf(db);
  await close();
  return { directory, environment, rows };
}

test('[LOG11] an impossible restore is refused with its reason, whichever call fails meanwhile', {
  tags: 'long',
}, async () => {
  const { directory: original, environment, rows } = await withImpossibleRestore();
  for (let failing = 0, isOver = false; !isOver; failing++) {
    const directory = new WatchedDirectory(await copyOf(original));
    let calls = 0;
    directory.fails = () => calls++ === failing;
    const said: string[] = [];
    let files: ObjectFiles | undefined;
    while (files === undefined && said.length < 4) {
      files = await ObjectFiles.open(directory, environment, TINY).catch(({ code }) => {
        said.push(code);
        return undefined;
      });
    }
    expect(said).toContain('BOOKMARK_UNAVAILABLE');
    isOver = calls <= failing;
    await files?.close();
    directory.fails = () => false;
    const again = await openLog(directory, environment, TINY);
    expect(rowsOf(again.db)).toEqual(rows);
    await again.close();
  }
});

test('[PITR7] while a full disk takes no cancellation, changes are DISK_FULL, with the reason of the refusal', async () => {
  const { directory, environment, rows } = await withImpossibleRestore();
  directory.mostBytes = 0;
  const full = await openLog(directory, environment, TINY);
  expect(rowsOf(full.db)).toEqual(rows);
  for (const change of [() => full.files.commitRestore(), () => full.files.currentBookmark()]) {
    expect(change).toThrow(
      expect.objectContaining({ code: 'DISK_FULL', message: expect.stringMatching(/was pruned/) }),
    );
  }
  await full.close();
  directory.mostBytes = Number.POSITIVE_INFINITY;
  const refused = ObjectFiles.open(directory, environment, TINY);
  await expect(refused).rejects.toMatchObject({ code: 'BOOKMARK_UNAVAILABLE' });
  const again = await openLog(directory, environment, TINY);
  put(again.db, 1, 'later');
  await again.close();
});

test('[LOG12] a time within a large transaction names the commit before it', async () => {
  const directory = new MemoryDirectory();
  const environment = new TestEnvironment();
  const first = await openLog(directory, environment, { spillBytes: 1 << 14 });
  first.db.exec('PRAGMA cache_size = 10');
  for (let i = 0; i < 20; i++) put(first.db, i, noise(i, 8000));
  const before = first.files.currentBookmark();
  // Spilled to the log in parts during the first second, committed a minute later.
  const beganMs = environment.nowMs + 1000;
  environment.nowMs = beganMs;
  first.db.exec('BEGIN; UPDATE t SET v = zeroblob(8000)');
  environment.nowMs += 60_000;
  first.db.exec('COMMIT');
  await first.files.flush();
  environment.nowMs += 1000;
  put(first.db, 1, 'later');
  await first.files.flush();
  const found = await first.files.bookmarkForTime(beganMs + 1);
  expect(found.slice(0, 17)).toBe(before.slice(0, 17));
  first.files.scheduleRestore(found);
  await first.files.flush();
  await first.close();
  const second = await openLog(directory, environment);
  expect(second.db.selectValue('SELECT v FROM t WHERE k = 1')).toEqual(noise(1, 8000));
  await second.close();
});

test('[LOG12] the bookmark of a time whose commits a power failure took names the last one it left', async () => {
  const directory = new WatchedDirectory();
  const environment = new TestEnvironment();
  let opened = await openLog(directory, environment);
  put(opened.db, 1, 'earlier');
  await opened.files.flush();
  const earlier = opened.files.currentBookmark();
  put(opened.db, 1, 'kept');
  opened.files.scheduleRestore(earlier);
  await opened.files.flush();
  environment.nowMs += 10;
  const lostMs = environment.nowMs;
  put(opened.db, 1, 'lost');
  await opened.close();
  for (const [name, bytes] of directory.flushed) await overwrite(directory.inner, name, bytes);

  environment.nowMs += 10;
  opened = await openLog(directory, environment);
  expect(allRows(opened.db)).toEqual([[1, 'earlier']]);
  opened.files.scheduleRestore(await opened.files.bookmarkForTime(lostMs));
  await opened.files.flush();
  await opened.close();
  opened = await openLog(directory, environment);
  expect(allRows(opened.db)).toEqual([[1, 'kept']]);
  await opened.close();
});
