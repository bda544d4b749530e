// Refusals of opening, in words, and its writes: a missing or damaged part is never taken for a new object or a
// shorter history.

import { expect, test, vi } from 'vitest';
import { turns } from '../../../packages/testing/page/turns.ts';
import {
  bytesOf,
  noise,
  overwrite,
  TestEnvironment,
  WatchedDirectory,
} from '../../../packages/testing/worker/test-log.ts';
import { CheckpointFile } from './checkpoint-file.ts';
import { ObjectFiles } from './object-files.ts';
import { PAGE_BYTES } from './pages.ts';
import { SEGMENT_HEADER_BYTES } from './segment.ts';

const SMALL = { segmentBytes: 8 * PAGE_BYTES, checkpointLogBytes: 4 * PAGE_BYTES };

const open = (directory: WatchedDirectory) =>
  ObjectFiles.open(directory, new TestEnvironment(), SMALL);

async function commit(files: ObjectFiles, seed: number): Promise<void> {
  files.file.write(noise(seed, PAGE_BYTES), 0);
  files.file.commit();
  await files.flush();
}

async function checkpointOf(directory: WatchedDirectory) {
  const file = await directory.inner.open('checkpoint');
  const { last } = CheckpointFile.read(file)!;
  file.close();
  return last;
}

/** An object whose newest checkpoint lies in the second segment, behind its beginning or at it. */
async function withHistory(where: 'behind' | 'at' = 'behind'): Promise<WatchedDirectory> {
  const directory = new WatchedDirectory();
  const files = await open(directory);
  for (let seed = 1; !directory.written.has('log-00000002'); seed++) {
    await commit(files, seed);
    await files.maintain();
  }
  if (where === 'behind') {
    await commit(files, 1000);
    await files.checkpoint();
  }
  await files.close();
  // An opening that finds the checkpoint in an older segment makes one where it ends.
  if (where === 'at') await (await open(directory)).close();
  const { segment, position } = await checkpointOf(directory);
  expect(segment).toBe(2);
  expect(position.offset === SEGMENT_HEADER_BYTES).toBe(where === 'at');
  return directory;
}

async function refusal(directory: WatchedDirectory): Promise<unknown> {
  return await open(directory).then(
    async (files) => {
      await files.close();
      return 'opened';
    },
    ({ code, message }) => `${code}: ${message}`,
  );
}

test('[LOG7] files without a slot of a checkpoint are damage, whether it is the log or the main file that is there', async () => {
  for (const kept of ['main', 'log']) {
    const directory = await withHistory();
    await overwrite(directory.inner, 'checkpoint', new Uint8Array(0));
    for (const name of await directory.names()) {
      const isKept = name === 'main' ? kept === 'main' : kept === 'log';
      if (name !== 'checkpoint' && !isKept) await directory.remove(name);
    }
    expect((await bytesOf(directory.inner, 'main')).length > 0).toBe(kept === 'main');
    expect(await refusal(directory)).toMatch(
      /^CORRUPT: open: the checkpoint file has no intact slot/,
    );
  }
});

test.each(['behind', 'at'] as const)(
  '[LOG7] a missing segment is damage, and no new one takes its place, if the checkpoint lies %s its beginning',
  async (where) => {
    const directory = await withHistory(where);
    const { segment, position } = await checkpointOf(directory);
    expect(position.sequence).toBeGreaterThan(0);
    const name = `log-${String(segment).padStart(8, '0')}`;
    await directory.remove(name);
    const message = new RegExp(`^CORRUPT: open: segment ${segment} of the log is missing`);
    expect(await refusal(directory)).toMatch(message);
    expect(await directory.names()).not.toContain(name);
  },
);

test('[LOG7] a segment whose header is damaged is named, and stays as it is', async () => {
  const directory = await withHistory();
  const { segment } = await checkpointOf(directory);
  const name = `log-${String(segment).padStart(8, '0')}`;
  const bytes = await bytesOf(directory.inner, name);
  bytes[8]! ^= 1;
  await overwrite(directory.inner, name, bytes);
  const message = new RegExp(
    `^CORRUPT: open: the header of segment ${segment} of the log is damaged`,
  );
  expect(await refusal(directory)).toMatch(message);
  expect(await bytesOf(directory.inner, name)).toEqual(bytes);
});

test('[LOG7] opening writes a new slot when the newest one was lost with the segment that it names', async () => {
  const directory = await withHistory();
  const bytes = await bytesOf(directory.inner, 'checkpoint');
  for (const offset of [0, 512]) {
    const torn = bytes.slice();
    torn.fill(0, offset, offset + 88);
    await overwrite(directory.inner, 'checkpoint', torn);
    if ((await checkpointOf(directory)).segment === 1) break;
  }
  expect(await checkpointOf(directory)).toMatchObject({ segment: 1 });
  const files = await open(directory);
  await files.close();
  expect(await checkpointOf(directory)).toMatchObject({ segment: 2 });
});

test('[LOG1] a state is durable before an opening shows it', async () => {
  const directory = await withHistory();
  directory.isLate = true;
  let shown: ObjectFiles | undefined;
  const opening = open(directory).then((files) => {
    shown = files;
  });
  await vi.waitUntil(() => directory.lateCount > 0 || shown !== undefined);
  await turns(10);
  expect(shown).toBeUndefined();
  directory.isLate = false;
  directory.release();
  await opening;
  const active = [...directory.flushed.keys()].filter((name) => name.startsWith('log-'));
  expect(active).not.toEqual([]);
  await shown!.close();
});
