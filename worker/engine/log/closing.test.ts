import { beforeAll, expect, test, vi } from 'vitest';
import {
  allRows,
  noise,
  type OpenedLog,
  openLog,
  put,
  WatchedDirectory,
} from '../../../packages/testing/worker/test-log.ts';

beforeAll(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});

const SMALL = { segmentBytes: 1 << 14, checkpointLogBytes: 1 << 12, spillBytes: 1 << 16 };

/** Enough turns of the event loop for everything that does not wait for anything else. */
async function turns(count = 10): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}

const AT_ONCE = 'a transaction too large for memory';

interface Late {
  readonly directory: WatchedDirectory;
}

/** An object whose next flush ends on command of the directory, with a checkpoint due after it. */
async function withLateFlush() {
  const directory = new WatchedDirectory();
  const opened = await openLog(directory, undefined, SMALL);
  for (let i = 0; i < 8; i++) {
    put(opened.db, i, noise(i, 3000));
    await opened.files.flush();
  }
  await opened.files.maintain();
  const flushed = allRows(opened.db) as unknown[];
  directory.isLate = true;
  put(opened.db, 100, noise(100, 20_000));
  return { directory, flushed, ...opened };
}

/** When a log is closed. All but the last begin a write or flush that the disk has not finished yet. */
const MOMENTS: Readonly<Record<string, (opened: OpenedLog & Late) => unknown>> = {
  'a flush': ({ files }) => void files.flush(),
  'two flushes': ({ files, db }) => {
    void files.flush();
    put(db, 101, 'more');
    void files.flush();
  },
  'discarding commits': ({ files }) => files.discardUnflushed(),
  'a flush of commits that are discarded': ({ files }) => {
    void files.flush();
    files.discardUnflushed();
  },
  upkeep: ({ files }) => {
    void files.flush();
    void files.maintain();
  },
  'a search for a time': ({ files }) => {
    void files.flush();
    void Promise.resolve(files.bookmarkForTime(0 + Date.UTC(2030, 0, 1) - 1)).catch(() => {});
  },
  'a checkpoint': async ({ directory, db, files }) => {
    directory.isLate = false;
    await files.flush();
    put(db, 101, 'not enough for a checkpoint by itself');
    await files.flush();
    directory.isLate = true;
    void files.checkpoint();
  },
  [AT_ONCE]: ({ db }) => {
    db.exec('PRAGMA cache_size=10; BEGIN');
    for (let i = 200; i < 220; i++) put(db, i, noise(i, 20_000));
  },
};

test.each(Object.keys(MOMENTS))(
  '[LOG20] closing during %s waits for it, and then nothing touches a file',
  async (moment) => {
    const opened = await withLateFlush();
    const { directory, db, files, flushed } = opened;
    await MOMENTS[moment]!(opened);
    expect(directory.lateCount > 0).toBe(moment !== AT_ONCE);
    const closed = files.close().finally(() => {
      directory.isOver = true;
    });
    // SQLite is closed last: it cannot be closed while it is on the stack.
    await turns();
    expect(directory.isOver).toBe(directory.lateCount === 0);
    while (!directory.isOver) {
      directory.release();
      await turns();
    }
    await closed;
    db.close();
    directory.release();
    await turns();
    expect(directory.afterClose).toEqual([]);
    expect(directory.lateCount).toBe(0);
    directory.isLate = false;
    const again = await openLog(new WatchedDirectory(directory.inner), undefined, SMALL);
    expect(again.db.selectValue('PRAGMA integrity_check')).toBe('ok');
    expect(allRows(again.db)).toEqual(expect.arrayContaining(flushed));
    await again.close();
  },
);

test('[LOG20] of a closed object, reads, commits, flushes and checkpoints report that it is closed, and other calls do nothing', async () => {
  const { directory, files, db, close } = await withLateFlush();
  directory.isLate = false;
  const bytes = new Uint8Array(4096);
  await close();
  const isClosed = expect.objectContaining({
    code: 'IO',
    message: expect.stringContaining('the storage of the object is closed'),
  });
  expect(() => files.flush()).toThrow(isClosed);
  expect(() => files.checkpoint()).toThrow(isClosed);
  expect(() => files.file.read(bytes, 0)).toThrow(isClosed);
  files.file.write(bytes, 0);
  expect(() => files.file.commit()).toThrow(isClosed);
  files.file.endRollback();
  await files.maintain();
  await files.close();
  expect(db.isOpen()).toBe(false);
  expect(directory.afterClose).toEqual([]);
});

test('[LOG20] whichever call fails as a segment begins, closing releases every file', async () => {
  for (let failing = 0, isOver = false; !isOver; failing++) {
    const { directory, files, close } = await withLateFlush();
    directory.isLate = false;
    let calls = 0;
    directory.fails = () => calls++ === failing;
    const segments = [...directory.written].filter((name) => name.startsWith('log-')).length;
    try {
      await files.flush();
      isOver = calls <= failing;
    } catch (error) {
      expect(error).toMatchObject({ code: 'IO' });
    }
    directory.fails = () => false;
    await close();
    for (const name of await directory.names()) (await directory.inner.open(name)).close();
    if (!isOver) continue;
    const after = [...directory.written].filter((name) => name.startsWith('log-')).length;
    expect(after).toBe(segments + 1); // a segment did begin
  }
});
