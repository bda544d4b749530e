// Thinning: which states are kept, that each of them is exactly the one that it was, and whatever happens meanwhile.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CrashDisk } from '../../../packages/testing/simulate/world/crash-disk.ts';
import { Random } from '../../../packages/testing/simulate/world/random.ts';
import {
  bytesOf,
  copyOf,
  imageOf,
  noise,
  overwrite,
} from '../../../packages/testing/worker/test-log.ts';
import {
  DAY_MS,
  HOUR_MS,
  lastOfEach,
  MINUTE_MS,
  saved,
  ThinnedObject,
} from '../../../packages/testing/worker/thinned-object.ts';
import type { MemoryDirectory } from '../file/memory-file.ts';
import type { BookmarkedCommit } from './object-files.ts';
import type { Span } from './sealed-segments.ts';

const ALL = {
  fromMs: Number.NEGATIVE_INFINITY,
  toMs: Number.POSITIVE_INFINITY,
  before: null,
  limit: 100_000,
};

test.each([
  ['a day', 'minute', 10_000, DAY_MS, MINUTE_MS],
  ['a week', 'hour', 10 * MINUTE_MS, 7 * DAY_MS, HOUR_MS],
])(
  '[HIST13] after %s the last state of each %s is kept, and every one before',
  { tags: 'long' },
  async (_age, _time, everyMs, afterMs, spacingMs) => {
    const object = await saved(150, everyMs, afterMs - 150 * everyMs - 1000);
    expect((await object.compare()).size).toBe(object.states.length);
    const old = object.states.slice(0, 150);
    await object.rest(150 * everyMs + 1000);
    await object.thin();
    const kept = await object.compare();
    const expected = lastOfEach(old, spacingMs).map(({ bookmark }) => bookmark);
    for (const bookmark of expected) expect(kept).toContain(bookmark);
    const keptOld = old.filter(({ bookmark }) => kept.has(bookmark));
    // Beyond them, the last one of each folded segment.
    expect(keptOld.length).toBeLessThanOrEqual(expected.length + 8);
    await object.files.close();
  },
);

test('[HIST14] a bookmark that was given up names the nearest state before it', async () => {
  const object = await saved(150, 10_000, DAY_MS);
  const kept = await object.compare();
  const named: (string | undefined)[] = [];
  for (const [i, { bookmark }] of object.states.entries()) {
    if (kept.has(bookmark)) continue;
    const before = object.states.slice(0, i).findLast((state) => kept.has(state.bookmark));
    const refused = object.files.openPast(bookmark);
    await expect(refused).rejects.toThrow(before?.bookmark ?? /0{8}-0{8}-/);
    await expect(refused).rejects.toMatchObject({ code: 'BOOKMARK_UNAVAILABLE' });
    named.push(before?.bookmark);
  }
  expect(new Set(named).size).toBeGreaterThan(10);
  await object.files.close();
});

test('[HIST14] history lists the kept commits, and a time names the last of them at or before it', async () => {
  const object = await saved(150, 10_000, DAY_MS);
  const kept = await object.compare();
  const commits = await object.files.listCommits(ALL);
  expect(commits.map(({ bookmark }) => bookmark).reverse()).toEqual(
    object.states.map(({ bookmark }) => bookmark).filter((bookmark) => kept.has(bookmark)),
  );
  for (const { timeMs } of object.states.slice(0, 150)) {
    const named = object.states.findLast(
      (state) => state.timeMs <= timeMs && kept.has(state.bookmark),
    );
    if (named === undefined) continue;
    const found = await object.files.bookmarkForTime(timeMs + 1);
    expect(found.slice(0, 17)).toBe(named.bookmark.slice(0, 17));
  }
  await object.files.close();
});

test('[HIST15] thinning begins earlier where the bytes would not suffice, and keeps to them', {
  tags: 'long',
}, async () => {
  const object = new ThinnedObject();
  object.environment.history.bytes = 1 << 20;
  await object.open();
  for (let i = 0; i < 800; i++) {
    object.environment.nowMs += 10_000;
    await object.commit([0, 1 + (i % 5)]);
  }
  await object.thin();
  const kept = await object.compare();
  const oldest = object.states.find(({ bookmark }) => kept.has(bookmark))!;
  // 1,200 bytes, old and new, of two pages: without thinning, a megabyte holds a hundred.
  expect(object.environment.nowMs - oldest.timeMs).toBeGreaterThan(HOUR_MS);
  let bytes = 0;
  for (const [name, size] of (object.directory as MemoryDirectory).sizes()) {
    if (/^(log|fold)-/.test(name)) bytes += size;
  }
  expect(bytes).toBeLessThan((1 << 20) + 2 * 69_632);
  await object.files.close();
});

const operation = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.record({
      kind: fc.constant('commit' as const),
      pages: fc.uniqueArray(fc.integer({ min: 1, max: 9 }), { maxLength: 4 }),
      pageCount: fc.constantFrom(0, 0, 0, 3, 6),
      afterMs: fc.constantFrom(1, 5000, 40_000, 10 * MINUTE_MS),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('open' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('restore' as const), back: fc.nat(30) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('clock' as const),
      byMs: fc.constantFrom(-2 * HOUR_MS, DAY_MS, 3 * DAY_MS),
    }),
  },
);

test('[HIST16] thinning never changes what a kept bookmark gives, whatever happens', {
  tags: 'long',
}, async () => {
  let [thinned, compared, listed] = [0, 0, 0];
  const property = fc.asyncProperty(
    fc.array(operation, { minLength: 40, maxLength: 100 }),
    async (operations) => {
      const object = await new ThinnedObject().open();
      const before: string[] = [];
      for (const one of operations) {
        if (one.kind === 'commit') {
          object.environment.nowMs += one.afterMs;
          await object.commit([0, ...one.pages], one.pageCount);
        } else if (one.kind === 'clock') {
          object.environment.nowMs += one.byMs;
        } else if (one.kind === 'cancel') {
          object.files.scheduleRestore(object.files.currentBookmark());
          await object.files.flush();
          object.note();
          object.files.cancelRestore();
          await object.files.flush();
        } else if (one.kind === 'open') {
          await object.reopen();
        } else {
          const wanted = object.states.at(-1 - one.back);
          if (wanted === undefined || (await object.at(wanted.bookmark)) === null) continue;
          const undo = object.files.scheduleRestore(wanted.bookmark);
          const image = imageOf(object.files.file);
          object.states.push({ bookmark: undo, image, timeMs: object.environment.nowMs });
          before.push(undo);
          await object.reopen();
          expect(imageOf(object.files.file).equals(wanted.image)).toBe(true);
          object.note();
        }
      }
      await object.rest(DAY_MS);
      await object.thin();
      const kept = await object.compare();
      await object.reopen();
      expect(await object.compare()).toEqual(kept);
      // The undo of a restore is never given up.
      for (const undo of before) expect(kept).toContain(undo);
      const commits: BookmarkedCommit[] = await object.files.listCommits(ALL);
      for (const { bookmark } of commits) expect(await object.at(bookmark)).not.toBeNull();
      listed += commits.length;
      compared += kept.size;
      thinned += object.states.length - kept.size;
      await object.files.close();
    },
  );
  await fc.assert(property, { numRuns: 8 });
  expect(Math.min(compared, thinned, listed)).toBeGreaterThan(100);
});

test.each([
  ['a day', 'minute', 20_000, DAY_MS, MINUTE_MS],
  ['a week', 'hour', 20 * MINUTE_MS, 7 * DAY_MS, HOUR_MS],
])(
  '[HIST16] a power failure at any step of a fold after %s leaves the last state of each %s',
  { tags: 'long' },
  async (_age, _time, everyMs, thenMs, spacingMs) => {
    const disk = new CrashDisk(new Random(7));
    const aged = await ThinnedObject.aged({ count: 20, everyMs, thenMs, directory: disk });
    const required = lastOfEach(aged.states, spacingMs).map(({ bookmark }) => bookmark);
    expect(required.length).toBeGreaterThan(5);
    const open = (directory: CrashDisk) => {
      const object = new ThinnedObject(directory);
      object.environment.nowMs = aged.environment.nowMs;
      object.states.push(...aged.states);
      return object.open();
    };
    let [isWhole, folded] = [false, 0];
    for (let calls = 0; !isWhole; calls++) {
      const failing = disk.afterLoss();
      const object = await open(failing);
      failing.powerOffAfter(calls);
      await object.thin().catch((error) => expect(error).toMatchObject({ code: 'IO' }));
      isWhole = !failing.isOff;
      failing.powerOff();
      await object.files.close().catch(() => {});
      const after = await open(failing.afterLoss());
      expect([...(await after.compare())]).toEqual(expect.arrayContaining(required));
      await after.thin();
      expect([...(await after.compare())]).toEqual(expect.arrayContaining(required));
      folded += (await after.folded()).length;
      await after.files.close();
    }
    expect(folded).toBeGreaterThan(20);
  },
);

test('[HIST16] segments that reappear beside the folded one are removed, intact or damaged; so is a folded one without a header', async () => {
  const object = await ThinnedObject.aged({ count: 150, thenMs: DAY_MS });
  const whole = await copyOf(object.directory);
  await object.open();
  await object.thin();
  const kept = await object.compare();
  const [{ first, last }] = (await object.spans()) as [Span];
  await object.files.close();
  const intact = `log-${first.toString(16).padStart(8, '0')}`;
  const damaged = `log-${last.toString(16).padStart(8, '0')}`;
  const unfinished = 'fold-00000001-00000fff-1';
  expect(await whole.names()).toEqual(expect.arrayContaining([intact, damaged]));
  await overwrite(object.directory, intact, await bytesOf(whole, intact));
  for (const name of [damaged, unfinished]) {
    await overwrite(object.directory, name, noise(1, 9000));
  }
  await object.open();
  const names = await object.directory.names();
  for (const name of [intact, damaged, unfinished]) expect(names).not.toContain(name);
  expect(await object.compare()).toEqual(kept);
  await object.files.close();
});

test('[HIST16] a full disk ends a fold without a trace, and it is made later', async () => {
  const object = new ThinnedObject();
  await object.open();
  for (let i = 0; i < 150; i++) {
    object.environment.nowMs += 1000;
    await object.commit([0, 1 + (i % 5)]);
  }
  const directory = object.directory as MemoryDirectory;
  object.environment.nowMs += 2 * DAY_MS;
  await object.commit([0]);
  directory.capacityBytes = directory.usedBytes();
  await object.reopen();
  for (let i = 0; i < 50 && object.files.needsMaintenance; i++) await object.files.maintain();
  expect(await object.folded()).toEqual([]);
  directory.capacityBytes = Number.POSITIVE_INFINITY;
  await object.reopen();
  await object.thin();
  expect((await object.folded()).length).toBeGreaterThan(0);
  await object.compare();
  await object.files.close();
});
