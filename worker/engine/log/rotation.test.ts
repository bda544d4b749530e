// The end of a segment and the beginning of the next one; the bytes behind the last record.

import { expect, test } from 'vitest';
import { bytesOf, WatchedDirectory } from '../../../packages/testing/worker/test-log.ts';
import {
  commitPages,
  expectPages,
  ONE_PAGE_RECORD_BYTES,
  openFiles,
  pageOf,
} from '../../../packages/testing/worker/written-pages.ts';

test('[LOG14] a segment ends when it is full, and the log of the next one counts from its beginning', async () => {
  const directory = new WatchedDirectory();
  const files = await openFiles(directory, {
    segmentBytes: 4096 + 4 * ONE_PAGE_RECORD_BYTES,
    checkpointLogBytes: 3 * ONE_PAGE_RECORD_BYTES,
  });
  const made: number[] = [];
  const segments: number[] = [];
  for (let i = 1; i <= 9; i++) {
    directory.written.clear();
    commitPages(files, { [i - 1]: pageOf(i) });
    await files.flush();
    if (files.needsMaintenance) await files.maintain();
    if (directory.written.has('main')) made.push(i);
    if ([...directory.written].filter((name) => name.startsWith('log-')).length > 1)
      segments.push(i);
  }
  // Full after four commits, and checkpointed then.
  expect({ made, segments }).toEqual({ made: [3, 4, 7, 8], segments: [4, 8] });
  await files.close();
});

test('[LOG13] if the next segment cannot be written, the one before continues, and ends later', async () => {
  const directory = new WatchedDirectory();
  const options = { segmentBytes: 4096 + 2 * ONE_PAGE_RECORD_BYTES };
  const files = await openFiles(directory, options);
  directory.full.add('log-00000002');
  for (let i = 0; i < 4; i++) {
    commitPages(files, { [i]: pageOf(i) });
    await files.flush();
    await files.maintain();
  }
  expect(directory.written.has('log-00000002')).toBe(false);
  directory.full.clear();
  commitPages(files, { 4: pageOf(4) });
  await files.flush();
  expect(directory.written.has('log-00000002')).toBe(true);
  await expectPages(directory, files, [0, 1, 2, 3, 4].map(pageOf));
});

test('[LOG14] a checkpoint writes the index of the segment', async () => {
  const directory = new WatchedDirectory();
  const files = await openFiles(directory);
  for (let i = 0; i < 20; i++) commitPages(files, { [i]: pageOf(i) });
  await files.flush();
  const indexCount = async () =>
    new DataView((await bytesOf(directory.inner, 'log-00000001')).buffer).getUint32(72, true);
  await files.checkpoint();
  await files.close();
  // 20 records of 4,176 bytes: one entry after 64 KB.
  expect(await indexCount()).toBe(1);
});

test('[LOG14] the next segment is opened once a part of one is full, and only once', async () => {
  const directory = new WatchedDirectory();
  const files = await openFiles(directory, { segmentBytes: 32 * (4096 + ONE_PAGE_RECORD_BYTES) });
  const names = async () => (await directory.names()).filter((name) => name.startsWith('log-'));
  expect(files.needsMaintenance).toBe(false);
  await files.maintain();
  expect(await names()).toEqual(['log-00000001']);
  commitPages(files, { 0: pageOf(0) });
  expect(files.needsMaintenance).toBe(true);
  await files.maintain();
  expect((await names()).sort()).toEqual(['log-00000001', 'log-00000002']);
  expect(files.needsMaintenance).toBe(false);
  await files.maintain();
  await files.close();
});

test('[LOG13] a disk that fails as a segment begins is reported', async () => {
  const directory = new WatchedDirectory();
  const files = await openFiles(directory, { segmentBytes: 4096 + ONE_PAGE_RECORD_BYTES });
  await files.maintain();
  commitPages(files, { 0: pageOf(0) });
  await files.maintain();
  directory.fails = (call, name) => call === 'write' && name === 'log-00000002';
  expect(() => files.flush()).toThrow(expect.objectContaining({ code: 'IO' }));
  directory.fails = () => false;
  await files.close();
});

test('[LOG4] behind the end of the log are zeros, so that a flush stores no new size', async () => {
  const directory = new WatchedDirectory();
  const files = await openFiles(directory);
  const sizes = new Set<number>();
  for (let i = 1; i <= 6; i++) {
    commitPages(files, { 0: pageOf(i) });
    await files.flush();
    if (i > 1) sizes.add(directory.flushed.get('log-00000001')!.length);
  }
  expect(sizes.size).toBe(1);
  const log = directory.flushed.get('log-00000001')!;
  expect(log.subarray(-16_384).some((byte) => byte !== 0)).toBe(false);
  await files.close();
});
