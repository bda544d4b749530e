// A wall clock that is set forward and back while an object commits: the commits that its times name, and the
// times given up.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { noise, TestEnvironment } from '../../../packages/testing/worker/test-log.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { ObjectFiles } from './object-files.ts';
import { PAGE_BYTES } from './pages.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const YEAR_MS = 365 * DAY_MS;
const TOLERANCE_MS = 10_000;
const SMALL = { segmentBytes: 1 << 15, checkpointLogBytes: 1 << 13 };
const EVERYTHING = {
  fromMs: 0,
  toMs: Number.POSITIVE_INFINITY,
  before: null,
  limit: Number.POSITIVE_INFINITY,
};

async function open() {
  const directory = new MemoryDirectory();
  const environment = new TestEnvironment();
  const startMs = environment.nowMs;
  const files = await ObjectFiles.open(directory, environment, SMALL);
  let count = 0;
  /** Commits a page of new bytes; returns its bookmark. */
  const commit = async () => {
    const page = noise(count + 1, PAGE_BYTES);
    page[0] = count++;
    files.file.write(page, (count % 4) * PAGE_BYTES);
    files.file.commit();
    await files.flush();
    if (files.needsMaintenance) await files.maintain();
    return files.currentBookmark();
  };
  const at = async (timeMs: number) => nameOf(await files.bookmarkForTime(timeMs));
  return { directory, environment, files, startMs, commit, at };
}

/** The part of a bookmark that names its commit. */
const nameOf = (bookmark: string) => bookmark.slice(0, 17);
const unavailable = expect.objectContaining({ code: 'BOOKMARK_UNAVAILABLE' });

test('[LOG26] a clock that was a year ahead for one commit: times before and after name their states', async () => {
  const { environment, files, startMs, commit, at } = await open();
  const before: string[] = [];
  for (let hour = 0; hour < 5; hour++) {
    before.push(nameOf(await commit()));
    environment.nowMs += HOUR_MS;
  }
  environment.nowMs += YEAR_MS;
  await commit();
  environment.nowMs -= YEAR_MS;
  const after: string[] = [];
  for (let hour = 5; hour < 15; hour++) {
    environment.nowMs = startMs + hour * HOUR_MS + 60_000;
    after.push(nameOf(await commit()));
  }
  for (const [hour, name] of before.slice(0, 4).entries()) {
    expect(await at(startMs + hour * HOUR_MS + 1)).toBe(name);
  }
  for (const [i, name] of after.entries()) {
    if (i < 9) expect(await at(startMs + (5 + i) * HOUR_MS + 60_001)).toBe(name);
  }
  expect(await at(environment.nowMs)).toBe(after.at(-1));
  // Between the last commit before and the first one after, the wrong one came at an unknown time.
  await expect(at(startMs + 4.5 * HOUR_MS)).rejects.toEqual(unavailable);
  await files.close();
});

test('[LOG26] a clock that was set back and right again: a time that both have shown names nothing', async () => {
  const { environment, files, startMs, commit, at } = await open();
  await commit();
  environment.nowMs = startMs + 5 * HOUR_MS;
  await commit();
  environment.nowMs = startMs + 2 * HOUR_MS;
  await commit();
  environment.nowMs = startMs + 6 * HOUR_MS;
  const last = nameOf(await commit());
  environment.nowMs = startMs + 10 * HOUR_MS;
  expect(await at(startMs + 7 * HOUR_MS)).toBe(last);
  for (const hour of [1, 3, 5.5]) {
    await expect(at(startMs + hour * HOUR_MS)).rejects.toMatchObject({
      code: 'BOOKMARK_UNAVAILABLE',
      message: expect.stringContaining('was set back around that time'),
    });
  }
  await files.close();
});

test('[LOG26] a clock that is set back by 10 seconds is waited for, by a millisecond more it is not', async () => {
  for (const [backMs, timeline] of [
    [10_000, '00000000-'],
    [10_001, '00000001-'],
  ] as const) {
    const { environment, files, commit, at } = await open();
    await commit();
    const readMs = environment.nowMs;
    environment.nowMs -= backMs;
    const second = nameOf(await commit());
    expect(second.slice(0, 9)).toBe(timeline);
    environment.nowMs = readMs + 1;
    if (backMs === 10_000) expect(await at(environment.nowMs)).toBe(second);
    await files.close();
  }
});

test('[LOG26] the bookmark that undoes a restore has all commits until then, whatever the clock does', async () => {
  const { directory, environment, files, commit } = await open();
  const first = await commit();
  environment.nowMs += DAY_MS;
  await commit();
  const undo = files.scheduleRestore(first);
  environment.nowMs -= DAY_MS;
  await commit();
  const image = files.databaseBytes();
  await files.close();
  const restored = await ObjectFiles.open(directory, environment, SMALL);
  expect(restored.databaseBytes()).not.toEqual(image);
  restored.scheduleRestore(undo);
  await restored.flush();
  await restored.close();
  const undone = await ObjectFiles.open(directory, environment, SMALL);
  expect(undone.databaseBytes()).toEqual(image);
  await undone.close();
});

test('[LOG27] a clock that was a year ahead keeps no history until that year has come', async () => {
  const { directory, environment, files, startMs, commit } = await open();
  for (let i = 0; i < 20; i++) await commit();
  environment.nowMs += YEAR_MS;
  await commit();
  for (let day = 1; day <= 120; day++) {
    environment.nowMs = startMs + day * DAY_MS;
    await commit();
  }
  await files.maintain();
  const segments = (await directory.names()).filter((name) => name.startsWith('log-'));
  expect(segments).not.toContain('log-00000001');
  const { timeMs } = (await files.listCommits(EVERYTHING)).at(-1)!;
  expect(timeMs).toBeLessThan(environment.nowMs);
  expect(timeMs).toBeGreaterThan(environment.nowMs - 45 * DAY_MS);
  await files.close();
});

test('[LOG27] a clock that is a year ahead for some hours gives up no history', async () => {
  const { directory, environment, files, startMs, commit } = await open();
  const first = nameOf(await commit());
  for (let hour = 1; hour < 60; hour++) {
    environment.nowMs = startMs + hour * HOUR_MS;
    await commit();
  }
  for (let hour = 60; hour < 80; hour++) {
    environment.nowMs = startMs + YEAR_MS + hour * HOUR_MS;
    await commit();
    await files.maintain();
  }
  environment.nowMs = startMs + 80 * HOUR_MS;
  await commit();
  await files.maintain();
  expect((await directory.names()).length).toBeGreaterThan(5);
  expect((await files.listCommits(EVERYTHING)).length).toBe(81);
  expect(nameOf(await files.bookmarkForTime(startMs + 1))).toBe(first);
  await files.close();
});

test('[LOG27] a clock that was set back for some days gives up nothing of the window', async () => {
  const { environment, files, startMs, commit } = await open();
  const kept = [];
  for (let day = 0; day < 90; day++) {
    const isWrong = day >= 20 && day < 30;
    environment.nowMs = startMs + day * DAY_MS - (isWrong ? YEAR_MS : 0);
    kept.push({ day, name: nameOf(await commit()) });
    for (let i = 0; i < 3; i++) await commit();
    await files.maintain();
    const listed = (await files.listCommits(EVERYTHING)).map(({ bookmark }) => nameOf(bookmark));
    const young = kept.filter((commit) => day - commit.day < 30);
    expect(listed).toEqual(expect.arrayContaining(young.map(({ name }) => name)));
  }
  expect(kept.length).toBe(90);
  await files.close();
});

const moves = fc.array(
  fc.record({
    passMs: fc.constantFrom(1, 1000, 20_000, HOUR_MS, DAY_MS),
    stepMs: fc.constantFrom(0, 0, 0, 0, HOUR_MS, -HOUR_MS, 3 * DAY_MS, -3 * DAY_MS, -5000),
  }),
  { minLength: 1, maxLength: 25 },
);

test('[LOG26] a time names the moment that the commits in order of their times prove, whatever the clock did', async () => {
  await fc.assert(
    fc.asyncProperty(moves, fc.integer({ min: 0, max: 100 }), async (steps, share) => {
      const { environment, files, startMs, commit } = await open();
      for (const { passMs, stepMs } of steps) {
        environment.nowMs += passMs + stepMs;
        await commit();
      }
      environment.nowMs += 1000;
      const { nowMs } = environment;
      const commits = (await files.listCommits(EVERYTHING)).reverse();
      expect(commits).toHaveLength(steps.length);
      const isValid = ({ timeMs }: { timeMs: number }) => timeMs <= nowMs + TOLERANCE_MS;
      const isCertain = (i: number) =>
        isValid(commits[i]!) &&
        commits.every((other, j) => {
          if (!isValid(other) || i === j) return true;
          const [earlier, later] = j < i ? [other, commits[i]!] : [commits[i]!, other];
          return earlier.timeMs <= later.timeMs;
        });
      const times = commits.flatMap(({ timeMs }) => [timeMs - 1, timeMs, timeMs + 1]);
      times.push(startMs + Math.floor(((nowMs - startMs) * share) / 100));
      for (const timeMs of times) {
        if (timeMs > nowMs || timeMs < nowMs - 30 * DAY_MS) continue;
        const last = commits.findLastIndex((known) => known.timeMs <= timeMs);
        const isProven =
          (last < 0 || isCertain(last)) && (last + 1 === commits.length || isCertain(last + 1));
        const expected = !isProven
          ? null
          : last < 0
            ? '00000000-00000000'
            : nameOf(commits[last]!.bookmark);
        const found = await Promise.resolve()
          .then(() => files.bookmarkForTime(timeMs))
          .then(nameOf, ({ code }) => {
            expect(code).toBe('BOOKMARK_UNAVAILABLE');
            return null;
          });
        expect([timeMs, found]).toEqual([timeMs, expected]);
      }
      await files.close();
    }),
    { numRuns: 100 },
  );
});

test('[HIST2] a range of times lists the newest commits whose times are in it, whatever the clock did', async () => {
  const share = fc.integer({ min: 0, max: 100 });
  const ranges = fc.array(fc.tuple(share, share, fc.integer({ min: 1, max: 12 }), share), {
    minLength: 1,
    maxLength: 6,
  });
  await fc.assert(
    fc.asyncProperty(moves, ranges, async (steps, chosen) => {
      const { environment, files, commit } = await open();
      for (const { passMs, stepMs } of steps) {
        environment.nowMs += passMs + stepMs;
        await commit();
      }
      const commits = await files.listCommits(EVERYTHING);
      const times = commits.map(({ timeMs }) => timeMs).toSorted((one, other) => one - other);
      const timeAt = (part: number) => times[Math.floor((part / 101) * times.length)]!;
      for (const [from, to, limit, part] of chosen) {
        const [fromMs, toMs] = [timeAt(from), timeAt(to)];
        const first = Math.floor((part / 101) * commits.length);
        const before = first === 0 ? null : commits[first - 1]!.bookmark;
        const isIn = ({ timeMs }: { timeMs: number }) => timeMs >= fromMs && timeMs <= toMs;
        const expected = commits.slice(first).filter(isIn).slice(0, limit);
        expect(await files.listCommits({ fromMs, toMs, before, limit })).toEqual(expected);
      }
      await files.close();
    }),
    { numRuns: 40 },
  );
});
