import type { Database } from '@sqlite.org/sqlite-wasm';
import { beforeAll, expect, test, vi } from 'vitest';
import {
  bytesOf,
  noise,
  openLog,
  overwrite,
  put,
  TestEnvironment,
  vfs,
  WatchedDirectory,
} from '../../../packages/testing/worker/test-log.ts';
import { ObjectFiles } from './object-files.ts';
import { PAGE_BYTES } from './pages.ts';

beforeAll(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});

const LOG = 'log-00000001';

const SMALL = {
  segmentBytes: 1 << 16,
  checkpointOverlayBytes: 1 << 16,
  checkpointLogBytes: 1 << 15,
};

function rowsOf(db: Database): unknown {
  return db.selectArrays('SELECT k, hex(v) FROM t ORDER BY k');
}

/** An object with several segments. The newest has no record, and the newest slot was lost. */
async function behindARoll() {
  const directory = new WatchedDirectory();
  const opened = await openLog(directory, new TestEnvironment(), SMALL);
  for (let i = 0; ; i++) {
    put(opened.db, i % 4, noise(i, 30_000));
    await opened.files.flush();
    const segments = [...directory.written].filter((name) => name.startsWith('log-')).sort();
    if (segments.length > 4 && !directory.flushed.has(segments.at(-1)!)) break;
    if (opened.files.needsMaintenance) await opened.files.maintain();
  }
  const rows = rowsOf(opened.db);
  const slots = directory.flushed.get('checkpoint')!;
  await opened.close();
  expect(slots).not.toEqual(
    (await bytesOf(directory.inner, 'checkpoint')).subarray(0, slots.length),
  );
  await overwrite(directory.inner, 'checkpoint', slots);
  return { directory: directory.inner, rows };
}

test.each(['with room', 'full'])(
  '[LOG1] power that goes behind the begin of a segment loses the newest slot and nothing else, the disk %s',
  async (disk) => {
    const { directory, rows } = await behindARoll();
    if (disk === 'full') directory.capacityBytes = directory.usedBytes();
    for (let opening = 0; opening < 3; opening++) {
      const again = await openLog(new WatchedDirectory(directory), undefined, SMALL);
      expect(again.db.selectValue('PRAGMA integrity_check')).toBe('ok');
      expect(rowsOf(again.db)).toEqual(rows);
      await again.close();
    }
  },
);

/** Ends late flushes, one after another, until the work has ended; `meanwhile` runs before each ends. */
async function ended(
  directory: WatchedDirectory,
  work: void | Promise<void>,
  meanwhile: () => void,
): Promise<void> {
  let isOver = false;
  const over = Promise.resolve(work).then(() => void (isOver = true));
  for (let turns = 0; !isOver && turns < 1000; turns++) {
    if (directory.lateCount > 0) meanwhile();
    directory.release();
    await undefined;
  }
  await over;
}

test.each(['at once', 'late'])(
  '[LOG14] a segment is flushed whole before the next one begins, with flushes that end %s',
  async (flushes) => {
    const directory = new WatchedDirectory();
    const opened = await openLog(directory, undefined, {
      ...SMALL,
      segmentBytes: 1 << 17,
      spillBytes: 1 << 14,
    });
    const { files, db } = opened;
    db.exec('PRAGMA cache_size = 10');
    for (let i = 0; i < 10; i++) put(db, i, noise(i, 8000));
    await files.flush();
    directory.isLate = flushes === 'late';
    const flushCalls: string[] = [];
    directory.fails = (call, name) => {
      if (call === 'flush') flushCalls.push(name);
      return false;
    };
    let seals = 0;
    // A transaction that writes to the log and is undone, while every second segment is flushed at its end.
    const undo = () => {
      const [before, last] = flushCalls.slice(-2);
      if (before !== 'main' || !last?.startsWith('log-') || ++seals % 2 === 0) return;
      db.exec('BEGIN; UPDATE t SET v = zeroblob(8000); ROLLBACK');
    };
    for (let i = 0; i < 60; i++) {
      put(db, i % 10, noise(100 + i, 8000));
      await ended(directory, files.flush(), undo);
      if (files.needsMaintenance) await files.maintain();
    }
    directory.isLate = false;
    await opened.close();
    expect(seals > 3).toBe(flushes === 'late');
    const begun = [...directory.written].filter((name) => name.startsWith('log-')).sort();
    expect(begun.length).toBeGreaterThan(3);
    for (const name of begun.slice(0, -1)) {
      const flushed = Buffer.from(directory.flushed.get(name)!);
      const isWhole = flushed.equals(await bytesOf(directory.inner, name));
      expect({ name, isWhole }).toEqual({ name, isWhole: true });
    }
  },
);

test('[LOG13] if the main file cannot grow, pages stay in the segment, which continues', async () => {
  const directory = new WatchedDirectory();
  const options = { segmentBytes: 1 << 16, checkpointLogBytes: 1 << 15 };
  const opened = await openLog(directory, undefined, options);
  directory.full.add('main');
  for (let i = 0; i < 20; i++) {
    put(opened.db, i, noise(i, 30_000));
    await opened.files.flush();
    await opened.files.maintain();
  }
  const rows = rowsOf(opened.db);
  expect([...directory.written].filter((name) => name.startsWith('log-'))).toHaveLength(1);
  await opened.close();
  const again = await openLog(directory, undefined, options);
  expect(rowsOf(again.db)).toEqual(rows);
  directory.full.clear();
  put(again.db, 0, 'room again');
  await again.files.flush();
  expect(again.db.selectValue('PRAGMA integrity_check')).toBe('ok');
  expect([...directory.written].filter((name) => name.startsWith('log-'))).toHaveLength(2);
  await again.close();
});

/** The names of the existing segments. */
async function segments(directory: WatchedDirectory): Promise<string[]> {
  return (await directory.names()).filter((name) => name.startsWith('log-')).sort();
}

test('[LOG1] a first segment that was never flushed may be missing although the next one exists', async () => {
  const directory = new WatchedDirectory();
  const opened = await openLog(directory, undefined, SMALL);
  put(opened.db, 1, noise(1, 40_000));
  await opened.files.maintain();
  await opened.close();
  expect(await segments(directory)).toEqual(['log-00000001', 'log-00000002']);
  await directory.remove('log-00000001');
  const again = await openLog(directory, undefined, SMALL);
  expect(rowsOf(again.db)).toEqual([]);
  await again.close();
});

test('[LOG7] a missing first segment is damage if the next one has begun', async () => {
  const directory = new WatchedDirectory();
  const options = { segmentBytes: 1 << 16, checkpointLogBytes: 1 << 20 };
  const opened = await openLog(directory, undefined, options);
  for (let i = 0; !directory.written.has('log-00000002'); i++) {
    put(opened.db, i, noise(i, 30_000));
    await opened.files.flush();
    await opened.files.maintain();
  }
  await opened.close();
  await overwrite(directory, 'checkpoint', directory.flushed.get('checkpoint')!);
  await directory.remove('log-00000001');
  await expect(openLog(directory, undefined, options)).rejects.toMatchObject({ code: 'CORRUPT' });
});

test('[LOG16] opening makes the state that it shows durable', async () => {
  const directory = new WatchedDirectory();
  const opened = await openLog(directory);
  put(opened.db, 1, 'kept');
  await opened.files.flush();
  await opened.files.checkpoint();
  put(opened.db, 1, 'taken back');
  opened.files.discardUnflushed();
  await opened.close();
  // As if the flush of the cut had failed, and power had left a part of a record.
  directory.flushed.clear();
  const cut = await bytesOf(directory.inner, LOG);
  await overwrite(directory.inner, LOG, Buffer.concat([cut, noise(1, 50)]));
  const again = await openLog(directory);
  expect(again.db.selectValue('SELECT v FROM t')).toBe('kept');
  expect(Buffer.from(directory.flushed.get(LOG)!).equals(cut)).toBe(true);
  await again.close();
});

test('[LOG3] a record that a loss of power tore stays torn, whatever is written behind it later', async () => {
  const directory = new WatchedDirectory();
  let opened = await openLog(directory);
  put(opened.db, 1, 'earlier');
  await opened.files.flush();
  const earlier = opened.files.currentBookmark();
  put(opened.db, 1, 'later');
  const undo = opened.files.scheduleRestore(earlier);
  await opened.files.flush();
  await opened.close();
  // The marker of this restore ends with zeros, because the bookmark names no sum.
  opened = await openLog(directory);
  opened.files.scheduleRestore(undo);
  await opened.files.flush();
  await opened.close();
  const log = await bytesOf(directory.inner, LOG);
  const torn = log.subarray(0, log.findLastIndex((byte) => byte !== 0) + 1);
  await overwrite(directory.inner, LOG, torn);
  opened = await openLog(directory);
  expect(opened.db.selectValue('SELECT v FROM t')).toBe('earlier');
  await opened.close();
  // Of the next writes, only the length of the file reaches the disk.
  const shown = await bytesOf(directory.inner, LOG);
  const longer = new Uint8Array(shown.length + PAGE_BYTES);
  longer.set(shown);
  await overwrite(directory.inner, LOG, longer);
  opened = await openLog(directory);
  expect(opened.db.selectValue('SELECT v FROM t')).toBe('earlier');
  await opened.close();
});

test('[LOG3] a record that an earlier opening left is not redone, even behind the same commit made once more', async () => {
  const { inner: directory } = new WatchedDirectory();
  const environment = new TestEnvironment(); // whose time stands still
  const open = () => ObjectFiles.open(directory, environment);
  const commit = ({ file }: ObjectFiles, seed: number) => {
    file.write(noise(seed, PAGE_BYTES), 0);
    file.commit();
  };
  const first = await open();
  for (const seed of [1, 2]) commit(first, seed);
  await first.close();
  const left = await bytesOf(directory, LOG);
  await overwrite(directory, LOG, left.slice().fill(0, 4096)); // the loss of power took both commits
  const second = await open();
  commit(second, 1);
  await second.close();
  const made = await bytesOf(directory, LOG);
  const end = 4096 + new DataView(made.buffer).getUint32(4096 + 12, true);
  await overwrite(directory, LOG, Buffer.concat([made.subarray(0, end), left.subarray(end)]));
  const third = await open();
  expect(Buffer.from(third.databaseBytes()).equals(noise(1, PAGE_BYTES))).toBe(true);
  await third.close();
});

test('[LOG7] a damaged end of the log is CORRUPT when the main file holds commits behind the damage', async () => {
  const directory = new WatchedDirectory();
  let opened = await openLog(directory);
  put(opened.db, 1, noise(1, 30_000));
  await opened.files.flush();
  await opened.files.checkpoint();
  put(opened.db, 1, noise(2, 30_000));
  await opened.files.flush();
  await opened.files.checkpoint();
  await opened.close();
  // Power goes: the newest slot was not flushed.
  await overwrite(directory.inner, 'checkpoint', directory.flushed.get('checkpoint')!);
  opened = await openLog(directory);
  expect(opened.db.selectValue('SELECT v FROM t')).toEqual(noise(2, 30_000));
  await opened.close();
  const log = await bytesOf(directory.inner, LOG);
  log[log.findLastIndex((byte) => byte !== 0) - 100]! ^= 1;
  await overwrite(directory.inner, LOG, log);
  await expect(openLog(directory)).rejects.toMatchObject({ code: 'CORRUPT' });
});

test('[LOG7] a slot that could not be written is written again in its place, so that the newest intact one stays', async () => {
  const directory = new WatchedDirectory();
  const slots = async () => {
    const bytes = await bytesOf(directory.inner, 'checkpoint');
    return [bytes.slice(0, 88), bytes.slice(512, 600)];
  };
  const generationOf = (slot: Uint8Array) => new DataView(slot.buffer).getFloat64(24, true);
  let opened = await openLog(directory);
  for (const value of ['a', 'b']) {
    put(opened.db, 1, value);
    await opened.files.flush();
    await opened.files.checkpoint();
  }
  await opened.close();
  const before = await slots();
  const newest = generationOf(before[0]!) > generationOf(before[1]!) ? 0 : 1;

  opened = await openLog(directory);
  put(opened.db, 1, 'c');
  await opened.files.flush();
  let writes = 0; // the slot of a checkpoint is its last write
  directory.fails = (call, name) => call === 'write' && name === 'checkpoint' && ++writes === 3;
  expect(() => opened.files.checkpoint()).toThrow(expect.objectContaining({ code: 'IO' }));
  put(opened.db, 1, 'd');
  await opened.files.flush();
  await opened.files.checkpoint();
  expect(writes).toBeGreaterThan(3);
  await opened.close();
  const after = await slots();
  expect(after[newest]).toEqual(before[newest]);
  expect(after[1 - newest]).not.toEqual(before[1 - newest]);
});

/** An object with flushed commits, of which a checkpoint lost power in the flush of its slot. */
async function inACheckpoint() {
  const directory = new WatchedDirectory();
  const opened = await openLog(directory);
  const update = (...values: Uint8Array[]) => {
    opened.db.transaction((db) => values.forEach((value, k) => void put(db, k, value)));
    return opened.files.flush();
  };
  // Each row fills a page of its own.
  await update(noise(1, 3900), noise(2, 3900));
  await opened.files.checkpoint();
  await update(noise(6, 3900));
  await opened.files.checkpoint(); // flushes the slot of the first one
  await update(noise(3, 3900));
  const beforeLast = rowsOf(opened.db);
  await update(noise(4, 3900), noise(5, 3900));
  const last = rowsOf(opened.db);
  directory.fails = (call, name) => call === 'flush' && name === 'checkpoint';
  expect(() => opened.files.checkpoint()).toThrow(expect.objectContaining({ code: 'IO' }));
  directory.fails = () => false;
  await opened.close();
  return { directory, beforeLast, last };
}

async function damageLastRecord(directory: WatchedDirectory): Promise<void> {
  const log = await bytesOf(directory.inner, LOG);
  log[log.findLastIndex((byte) => byte !== 0) - 100]! ^= 1;
  await overwrite(directory.inner, LOG, log);
}

test('[LOG7] the main file is no newer than the flushed slot of a checkpoint that began', async () => {
  const { directory, beforeLast } = await inACheckpoint();
  await overwrite(directory.inner, 'checkpoint', directory.flushed.get('checkpoint')!);
  await damageLastRecord(directory);
  const opened = await openLog(directory);
  expect(rowsOf(opened.db)).toEqual(beforeLast);
  await opened.close();
});

test('[LOG7] checksums that were stored without the slot of their checkpoint give no wrong data', async () => {
  const { directory } = await inACheckpoint();
  const stored = await bytesOf(directory.inner, 'checkpoint');
  stored.set(directory.flushed.get('checkpoint')!.subarray(0, PAGE_BYTES));
  await overwrite(directory.inner, 'checkpoint', stored);
  await damageLastRecord(directory);
  const opened = await openLog(directory);
  expect(() => rowsOf(opened.db)).toThrow();
  expect(vfs.takeError(opened.name)).toMatchObject({ code: 'CORRUPT' });
  await opened.close();
});

test('[LOG7] a torn slot of a checkpoint that began leaves the proof of the one before', async () => {
  const { directory } = await inACheckpoint();
  const torn = await bytesOf(directory.inner, 'checkpoint');
  const flushed = directory.flushed.get('checkpoint')!;
  // Of each sector, the first bytes were written.
  for (let i = 0; i < PAGE_BYTES; i++) if (i % 512 > 60) torn[i] = flushed[i]!;
  await overwrite(directory.inner, 'checkpoint', torn);
  const newest = new DataView(flushed.buffer); // of the first checkpoint
  const cutAt = newest.getFloat64(48, true);
  await overwrite(directory.inner, LOG, (await bytesOf(directory.inner, LOG)).subarray(0, cutAt));
  await expect(openLog(directory)).rejects.toMatchObject({ code: 'CORRUPT' });
});

test.each(['all', 'none', 'half'])(
  '[LOG1] checksums stored before their pages are no damage: the log has the pages; of the pages, %s are stored',
  async (fate) => {
    const { directory, last } = await inACheckpoint();
    const slots = await bytesOf(directory.inner, 'checkpoint');
    const before = await bytesOf(directory.inner, 'main');
    let opened = await openLog(directory);
    await opened.files.checkpoint();
    await opened.close();
    const after = await bytesOf(directory.inner, 'main');
    const main = fate === 'none' ? before : after;
    if (fate === 'half') main.set(before.subarray(0, before.length / 2));
    await overwrite(directory.inner, 'main', main);
    await overwrite(directory.inner, 'checkpoint', slots);
    opened = await openLog(directory);
    expect(opened.db.selectValue('PRAGMA integrity_check')).toBe('ok');
    expect(rowsOf(opened.db)).toEqual(last);
    await opened.close();
  },
);

test('[LOG1] commits that arrive while a checkpoint flushes its slot do not reach the main file with it', async () => {
  const directory = new WatchedDirectory();
  let opened = await openLog(directory);
  put(opened.db, 1, noise(1, 3900));
  await opened.files.flush();
  const flushed = rowsOf(opened.db);
  directory.isLate = true;
  const running = opened.files.checkpoint();
  put(opened.db, 1, noise(2, 3900));
  const unflushed = rowsOf(opened.db);
  directory.release(); // the slot
  await vi.waitUntil(() => directory.lateCount > 0);
  directory.release(); // the main file
  expect(await running).toBe(true);
  expect(rowsOf(opened.db)).toEqual(unflushed);
  directory.isLate = false;
  await opened.close();
  await overwrite(directory.inner, LOG, directory.flushed.get(LOG)!);
  opened = await openLog(directory);
  expect(opened.db.selectValue('PRAGMA integrity_check')).toBe('ok');
  expect(rowsOf(opened.db)).toEqual(flushed);
  await opened.close();
});
