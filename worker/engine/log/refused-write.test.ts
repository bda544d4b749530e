import { beforeAll, expect, test, vi } from 'vitest';
import {
  allRows,
  openLog,
  overwrite,
  put,
  WatchedDirectory,
} from '../../../packages/testing/worker/test-log.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type { SyncFile } from '../file/file.ts';

beforeAll(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});

const LOG = 'log-00000001';

/** A directory whose log, when full, takes all bytes of a write and then refuses it. */
class FullDirectory extends WatchedDirectory {
  isFull = false;
  /** The log after the refused write, and the bytes stored by the last flush before it. */
  refused: Uint8Array | null = null;
  #flushedBefore: Uint8Array | undefined;

  override async open(name: string): Promise<SyncFile> {
    const file = await super.open(name);
    const write = (bytes: Uint8Array, offset: number) => {
      file.write(bytes, offset);
      if (!this.isFull || name !== LOG) return;
      this.refused = new Uint8Array(file.sizeBytes());
      file.read(this.refused, 0);
      this.#flushedBefore = this.flushed.get(name);
      throw storageError('DISK_FULL', 'The disk is full.');
    };
    return { ...file, write };
  }

  /** Power fails: the refused write survives unless the log was flushed after it. */
  async losePower(): Promise<void> {
    const isFlushed = this.flushed.get(LOG) !== this.#flushedBefore;
    await overwrite(this.inner, LOG, isFlushed ? this.flushed.get(LOG)! : this.refused!);
  }
}

test.each(['at once', 'only when it is tried again'])(
  '[LOG13] a commit that a full disk refused stays refused after a power failure; it is cut off %s',
  async (cut) => {
    const directory = new FullDirectory();
    const { files, db, close } = await openLog(directory);
    put(db, 1, 'kept');
    await files.flush();
    const expected = allRows(db);
    directory.isFull = true;
    if (cut !== 'at once') directory.fails = (call, name) => call === 'truncate' && name === LOG;
    expect(() => put(db, 2, 'refused')).toThrow(/FULL/);
    directory.isFull = false;
    if (cut !== 'at once') expect(() => files.flush()).toThrow('truncate');
    directory.fails = () => false;
    expect(allRows(db)).toEqual(expected);
    await files.flush();
    await close();
    await directory.losePower();
    const again = await openLog(directory.inner);
    expect(allRows(again.db)).toEqual(expected);
    await again.close();
  },
);

test('[LOG13] a commit that follows a refused one takes its place', async () => {
  const directory = new FullDirectory();
  const { files, db, close } = await openLog(directory);
  put(db, 1, 'kept');
  await files.flush();
  directory.isFull = true;
  directory.fails = (call, name) => call === 'truncate' && name === LOG;
  expect(() => put(db, 2, 'refused')).toThrow(/FULL/);
  directory.isFull = false;
  put(db, 3, 'next');
  await files.flush();
  const expected = allRows(db);
  await close();
  await directory.losePower();
  const again = await openLog(directory.inner);
  expect(allRows(again.db)).toEqual(expected);
  await again.close();
});
