// Past states and the list of commits, without SQLite: the test writes the pages.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  bytesOf,
  noise,
  overwrite,
  START_MS,
  TestEnvironment,
} from '../../../packages/testing/worker/test-log.ts';
import type { DatabaseFile, FileDirectory } from '../file/file.ts';

import { MemoryDirectory } from '../file/memory-file.ts';
import { ObjectFiles } from './object-files.ts';
import { PAGE_BYTES } from './pages.ts';
import type { PastState } from './past-state.ts';
import { PAST_STATES_MAX } from './past-states.ts';

type Options = Parameters<typeof ObjectFiles.open>[2];

const DAY_MS = 86_400_000;
/** Segments of four whole pages each, without checkpoints between. */
const SMALL: Options = { segmentBytes: 4096 + 4 * 4176, checkpointLogBytes: 1 << 30 };
const EVERYTHING = {
  fromMs: Number.NEGATIVE_INFINITY,
  toMs: Number.POSITIVE_INFINITY,
  before: null,
  limit: 1000,
};

const page = (seed: number) => noise(seed, PAGE_BYTES);

/** A page that differs from another one in a few bytes. */
function changedPage(seed: number): Uint8Array {
  const bytes = page(3);
  bytes[(seed * 37) % PAGE_BYTES]! ^= 0xff;
  return bytes;
}

function imageOf(file: Pick<DatabaseFile, 'sizeBytes' | 'read'>): Buffer {
  const image = new Uint8Array(file.sizeBytes());
  for (let offset = 0; offset < image.length; offset += PAGE_BYTES) {
    file.read(image.subarray(offset, offset + PAGE_BYTES), offset);
  }
  return Buffer.from(image);
}

interface Moment {
  readonly bookmark: string;
  readonly timeMs: number;
  readonly image: Buffer;
}

function momentOf(files: ObjectFiles, environment: TestEnvironment): Moment {
  const image = Buffer.from(files.databaseBytes());
  return { bookmark: files.currentBookmark(), timeMs: environment.nowMs, image };
}

/** A commit a second, over several segments. */
async function lived(directory: FileDirectory, environment = new TestEnvironment()) {
  const files = await ObjectFiles.open(directory, environment, SMALL);
  const moments: Moment[] = [];
  for (let i = 0; i < 24; i++) {
    environment.nowMs += 1000;
    if (i % 7 === 5) files.file.truncate(2 * PAGE_BYTES);
    files.file.write(page(i), (i % 5) * PAGE_BYTES);
    files.file.write(changedPage(i), PAGE_BYTES);
    files.file.commit();
    await files.flush();
    if (files.needsMaintenance) await files.maintain();
    moments.push(momentOf(files, environment));
  }
  return { files, moments, environment };
}

/** Two commits a day apart show that the history before is that old. */
async function passTo(timeMs: number, files: ObjectFiles, environment: TestEnvironment) {
  environment.nowMs = timeMs;
  for (const mark of [1, 2]) {
    files.file.write(page(mark), 0);
    files.file.commit();
    await files.flush();
    environment.nowMs += DAY_MS;
  }
  await files.maintain();
}

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('write'), at: fc.nat(12) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('bulk'), at: fc.nat(6) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('truncate'), at: fc.nat(8) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('flush'), at: fc.constant(0) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('checkpoint'), at: fc.constant(0) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restore'), at: fc.nat(99) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('open'), at: fc.nat(99) }) },
);

interface Opened {
  readonly state: PastState;
  readonly moment: Moment;
}

test('[HIST3] a past state equals its commit, whatever happens while it is open', {
  tags: 'long',
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const directory = new MemoryDirectory();
      const environment = new TestEnvironment();
      // Spills after three pages; rotates and checkpoints often.
      const options = { ...SMALL, spillBytes: 3 * PAGE_BYTES, checkpointLogBytes: 1 << 13 };
      let files = await ObjectFiles.open(directory, environment, options);
      const moments: Moment[] = [momentOf(files, environment)];
      let opened: Opened[] = [];
      for (const [seed, { kind, at }] of steps.entries()) {
        environment.nowMs += 1000;
        if (kind === 'open') {
          const moment = moments[at % moments.length]!;
          opened.push({ state: await files.openPast(moment.bookmark), moment });
          opened = opened.slice(-PAST_STATES_MAX);
        } else if (kind === 'flush') {
          await files.flush();
          await files.maintain();
        } else if (kind === 'checkpoint') {
          await files.flush();
          await files.checkpoint();
        } else if (kind === 'restore') {
          files.scheduleRestore(moments[at % moments.length]!.bookmark);
          await files.flush();
          await files.close();
          for (const { state } of opened)
            expect(state.ended).toMatchObject({ code: 'OBJECT_RESET' });
          opened = [];
          files = await ObjectFiles.open(directory, environment, options);
          expect(imageOf(files.file)).toEqual(moments[at % moments.length]!.image);
          moments.push(momentOf(files, environment));
        } else {
          const count = kind === 'bulk' ? 8 : 1;
          if (kind === 'truncate') files.file.truncate(at * PAGE_BYTES);
          else {
            for (let i = 0; i < count; i++) {
              files.file.write(
                seed % 2 ? page(seed + i) : changedPage(seed),
                (at + i) * PAGE_BYTES,
              );
            }
          }
          files.file.commit();
          moments.push(momentOf(files, environment));
        }
        for (const { state, moment } of opened)
          expect(imageOf(state).equals(moment.image)).toBe(true);
      }
      await files.flush();
      await files.close();
    }),
    { numRuns: 60 },
  );
});

test('[HIST3] a state that is open outlives the pruning of its history', async () => {
  const { files, moments, environment } = await lived(new MemoryDirectory());
  const state = await files.openPast(moments[1]!.bookmark);
  await passTo(moments[20]!.timeMs + 30 * DAY_MS, files, environment);
  await expect((async () => files.openPast(moments[1]!.bookmark))()).rejects.toMatchObject({
    code: 'BOOKMARK_UNAVAILABLE',
  });
  expect(imageOf(state).equals(moments[1]!.image)).toBe(true);
  await files.close();
  expect(() => imageOf(state)).toThrow(expect.objectContaining({ code: 'OBJECT_RESET' }));
});

test('[HIST1] every commit is listed once, newest first, with its bookmark, time, bytes and pages', async () => {
  const directory = new MemoryDirectory();
  const { files, moments } = await lived(directory);
  const commits = await files.listCommits(EVERYTHING);
  const expected = moments.map(({ bookmark, timeMs, image }) => ({
    bookmark,
    timeMs,
    pageCount: image.length / PAGE_BYTES,
    isRestore: false,
  }));
  expect(commits).toMatchObject(expected.reverse());
  // A whole new page makes a larger record than a few bytes in another one.
  const [few, many] = [commits[2]!, commits[3]!];
  expect(few.bytes).toBeLessThan(1000);
  expect(many.bytes).toBeGreaterThan(PAGE_BYTES);
  const segments = (await directory.names()).filter((name) => name.startsWith('log-'));
  expect(segments.length).toBeGreaterThan(3);
  await files.close();
});

test('[HIST1] a restore is listed as one; the marker that asked for it is not', async () => {
  const directory = new MemoryDirectory();
  const first = await lived(directory);
  first.files.scheduleRestore(first.moments[3]!.bookmark);
  await first.files.flush();
  await first.files.close();
  const files = await ObjectFiles.open(directory, first.environment, SMALL);
  const commits = await files.listCommits({ ...EVERYTHING, limit: 2 });
  expect(commits.map(({ isRestore }) => isRestore)).toEqual([true, false]);
  expect(commits.map(({ pageCount }) => pageCount)).toEqual([4, 5]);
  expect(await files.openPast(commits[1]!.bookmark)).toBeDefined();
  expect(await files.listCommits(EVERYTHING)).toHaveLength(25);
  await files.close();
});

test('[HIST1] a transaction in parts is one commit; parts without their end are not listed', async () => {
  const environment = new TestEnvironment();
  const options = { ...SMALL, spillBytes: 2 * PAGE_BYTES };
  const files = await ObjectFiles.open(new MemoryDirectory(), environment, options);
  for (let i = 0; i < 8; i++) files.file.write(page(i), i * PAGE_BYTES);
  files.file.commit();
  for (let i = 0; i < 8; i++) files.file.write(page(i + 50), i * PAGE_BYTES);
  files.file.commit();
  for (let i = 0; i < 8; i++) files.file.write(page(i + 100), i * PAGE_BYTES);
  const commits = await files.listCommits(EVERYTHING);
  expect(commits).toHaveLength(2);
  expect(commits[0]!.bytes).toBeGreaterThan(16 * PAGE_BYTES);
  await files.close();
});

test('[HIST2] a range of time, a limit and a bookmark to begin before choose among the commits', async () => {
  const { files, moments } = await lived(new MemoryDirectory());
  const times = async (range: object) =>
    (await files.listCommits({ ...EVERYTHING, ...range })).map(({ timeMs }) => timeMs);
  const all = moments.map(({ timeMs }) => timeMs).reverse();
  for (let from = 0; from < 24; from += 5) {
    for (let to = from; to < 24; to += 3) {
      const range = { fromMs: moments[from]!.timeMs, toMs: moments[to]!.timeMs };
      expect(await times(range)).toEqual(all.slice(23 - to, 24 - from));
      expect(await times({ ...range, limit: 2 })).toEqual(
        all.slice(23 - to, 24 - from).slice(0, 2),
      );
    }
  }
  expect(await times({ toMs: START_MS })).toEqual([]);
  expect(await times({ fromMs: moments[23]!.timeMs + 1 })).toEqual([]);
  // Page after page, until there is no more.
  const paged: number[] = [];
  let before: string | null = null;
  for (;;) {
    const part = await files.listCommits({ ...EVERYTHING, before, limit: 5 });
    if (part.length === 0) break;
    paged.push(...part.map(({ timeMs }) => timeMs));
    before = part.at(-1)!.bookmark;
  }
  expect(paged).toEqual(all);
  expect(() => files.listCommits({ ...EVERYTHING, before: 'nonsense' })).toThrow(
    expect.objectContaining({ code: 'BOOKMARK_INVALID' }),
  );
  await files.close();
});

test('[HIST2] history that was pruned is left out', async () => {
  const { files, moments, environment } = await lived(new MemoryDirectory());
  await passTo(moments[12]!.timeMs + 30 * DAY_MS, files, environment);
  const commits = await files.listCommits(EVERYTHING);
  expect(commits.length).toBeGreaterThan(10);
  expect(commits.length).toBeLessThan(24);
  expect(await files.listCommits({ ...EVERYTHING, toMs: moments[0]!.timeMs })).toEqual([]);
  await files.close();
});

test('[HIST4] a flipped bit in a segment makes its pages CORRUPT; the rest can be read', async () => {
  const directory = new MemoryDirectory();
  const { files: first, moments, environment } = await lived(directory);
  await first.close();
  const bytes = await bytesOf(directory, 'log-00000002');
  bytes[4096 + 30]! ^= 1; // in the time of its first record
  await overwrite(directory, 'log-00000002', bytes);
  const files = await ObjectFiles.open(directory, environment, SMALL);
  const isCorrupt = { code: 'CORRUPT' };
  await expect(files.listCommits(EVERYTHING)).rejects.toMatchObject(isCorrupt);
  await expect(files.openPast(moments[0]!.bookmark)).rejects.toMatchObject(isCorrupt);
  const newest = await files.listCommits({ ...EVERYTHING, limit: 2 });
  expect(newest.map(({ bookmark }) => bookmark)).toEqual([
    moments[23]!.bookmark,
    moments[22]!.bookmark,
  ]);
  const state = await files.openPast(moments[22]!.bookmark);
  expect(imageOf(state).equals(moments[22]!.image)).toBe(true);
  expect(imageOf(files.file).equals(moments[23]!.image)).toBe(true);
  await files.close();
});

test('[HIST4] a state that is being opened when commits are discarded says that the storage is closed, not CORRUPT', async () => {
  for (let turns = 0; turns < 30; turns++) {
    const files = await ObjectFiles.open(new MemoryDirectory(), new TestEnvironment(), SMALL);
    const bookmarks: string[] = [];
    for (let seed = 1; seed < 12; seed++) {
      files.file.write(page(seed), 0);
      files.file.commit();
      if (seed < 8) await files.flush();
      await files.maintain();
      bookmarks.push(files.currentBookmark());
    }
    const refused = files.openPast(bookmarks[0]!).then(
      (state) => state,
      (error) => ({ ended: error }),
    );
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    files.discardUnflushed();
    expect((await refused).ended).toMatchObject({ code: 'OBJECT_RESET' });
    await files.close();
  }
});

test('[HIST6] four states are open at once, and a fifth ends the least recently used one alone', async () => {
  const { files, moments } = await lived(new MemoryDirectory());
  const states: PastState[] = [];
  for (let i = 0; i < 4; i++) states.push(await files.openPast(moments[i]!.bookmark));
  expect(states.map(({ ended }) => ended)).toEqual([undefined, undefined, undefined, undefined]);
  files.usePast(states[0]!);
  const one = await files.openPast(moments[9]!.bookmark);
  expect(() => imageOf(states[1]!)).toThrow(expect.objectContaining({ code: 'MOMENT_CLOSED' }));
  for (const i of [0, 2, 3]) expect(imageOf(states[i]!).equals(moments[i]!.image)).toBe(true);
  files.closePast(one);
  expect(() => imageOf(one)).toThrow(expect.objectContaining({ code: 'MOMENT_CLOSED' }));
  await files.close();
});

test('[HIST6] a state alone keeps as many pages as may be, and ends with one more', async () => {
  const options = { pastBytes: 6 * PAGE_BYTES };
  const files = await ObjectFiles.open(new MemoryDirectory(), new TestEnvironment(), options);
  const rewrite = (seed: number, pages: number) => {
    for (let i = 0; i < pages; i++) files.file.write(page(seed + i), i * PAGE_BYTES);
    files.file.commit();
  };
  rewrite(0, 10);
  const image = Buffer.from(files.databaseBytes());
  const state = await files.openPast(files.currentBookmark());
  rewrite(20, 6);
  expect(imageOf(state).equals(image)).toBe(true);
  rewrite(40, 7);
  expect(state.ended).toMatchObject({ code: 'MEMORY_FULL' });
  await files.close();
});

test('[HIST6] the pages that open states keep are bounded: others make room, one alone is MEMORY_FULL', async () => {
  const environment = new TestEnvironment();
  const options = { pastBytes: 6 * PAGE_BYTES };
  const files = await ObjectFiles.open(new MemoryDirectory(), environment, options);
  const rewrite = (seed: number, pages: number) => {
    for (let i = 0; i < pages; i++) files.file.write(page(seed + i), i * PAGE_BYTES);
    files.file.commit();
    return momentOf(files, environment);
  };
  const far = rewrite(0, 10);
  rewrite(20, 4);
  const last = rewrite(40, 4);
  rewrite(60, 10);
  await expect(files.openPast(far.bookmark)).rejects.toMatchObject({ code: 'MEMORY_FULL' });
  await expect(files.openPast(last.bookmark)).rejects.toMatchObject({ code: 'MEMORY_FULL' });
  const present = momentOf(files, environment);
  const one = await files.openPast(present.bookmark);
  rewrite(80, 4);
  expect(imageOf(one).equals(present.image)).toBe(true);
  // The second one needs room, which the first one gives.
  const second = momentOf(files, environment);
  const two = await files.openPast(second.bookmark);
  rewrite(100, 4);
  expect(one.ended).toMatchObject({ code: 'MOMENT_CLOSED' });
  expect(imageOf(two).equals(second.image)).toBe(true);
  // Alone, and the commit goes on all the same.
  const wide = rewrite(120, 10);
  expect(two.ended).toMatchObject({ code: 'MEMORY_FULL' });
  expect(imageOf(files.file).equals(wide.image)).toBe(true);
  await files.close();
});
