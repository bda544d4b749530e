// When thinning begins, and what stops it: the clock, a branch, a failing file, pruning, and code that cannot be loaded.

import { expect, test } from 'vitest';
import { bytesOf, overwrite, WatchedDirectory } from '../../../packages/testing/worker/test-log.ts';
import { DAY_MS, HOUR_MS, ThinnedObject } from '../../../packages/testing/worker/thinned-object.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { sequenceIn } from './bookmark.ts';
import { foldedSpan } from './sealed-segments.ts';

test('[HIST13] a state is old when a day, or a week, has passed, not a millisecond before', async () => {
  for (const [ageMs, minutes] of [
    [DAY_MS - 1, []],
    [DAY_MS, [1]],
    [7 * DAY_MS - 1, [1]],
    [7 * DAY_MS, [60]],
  ] as const) {
    // All commits were made in one moment.
    const object = await (await ThinnedObject.aged({ thenMs: ageMs, everyMs: 0 })).open();
    await object.thin();
    const found = (await object.spans()).map((span) => span.minutes);
    expect([ageMs, [...new Set(found)]]).toEqual([ageMs, minutes]);
    await object.compare();
    await object.files.close();
  }
});

test('[HIST13] all segments are thinned once they are old, but for the newest that has ended and the active one', async () => {
  const object = await ThinnedObject.aged({ thenMs: 2 * DAY_MS, count: 20 });
  object.environment.nowMs += 2 * DAY_MS;
  object.environment.history.thin = false;
  await object.open();
  await object.commit([0]);
  await object.files.close();
  const names = (await object.directory.names()).filter((name) => name.startsWith('log-'));
  // The last segment is opened ahead: nothing is written into it yet.
  const sizes = await Promise.all(names.map((name) => bytesOf(object.directory, name)));
  const active = sizes.filter(({ length }) => length > 0).length;
  object.environment.history.thin = true;
  await object.open();
  await object.thin();
  const spans = await object.spans();
  expect([spans[0]?.first, spans.at(-1)?.last]).toEqual([1, active - 2]);
  await object.compare();
  await object.files.close();
});

test('[HIST13] a clock that is ahead thins nothing that is not a day older than the last commit', async () => {
  const object = await (await ThinnedObject.aged({ thenMs: HOUR_MS })).open();
  object.environment.nowMs += 30 * DAY_MS;
  await object.thin();
  expect(await object.folded()).toEqual([]);
  await object.files.close();
});

test('[BRANCH6] what is before the moment of an open branch is thinned, up to the segment that ends with it', async () => {
  const object = await ThinnedObject.aged({ thenMs: 2 * DAY_MS });
  const pin = { sequence: Number.POSITIVE_INFINITY };
  Object.assign(object.environment, { pinnedSequence: () => pin.sequence });
  // The base of the sixth segment is the last commit of the fifth.
  const header = await bytesOf(object.directory, 'log-00000006');
  pin.sequence = new DataView(header.buffer).getFloat64(24, true);
  await object.open();
  await object.thin();
  expect(await object.spans()).toEqual([{ first: 1, last: 5, minutes: 1 }]);
  const kept = await object.compare();
  for (const { bookmark } of object.states)
    if (sequenceIn(bookmark) >= pin.sequence) expect(kept).toContain(bookmark);
  await object.files.close();
});

test('[HIST16] a damaged folded segment is not made a part of the next one, and what follows it is thinned', async () => {
  const object = await (await ThinnedObject.aged({ thenMs: 2 * DAY_MS })).open();
  await object.thin();
  const [name] = await object.folded();
  const { last } = foldedSpan(name!)!;
  await object.files.close();
  object.environment.history.thin = false;
  await object.open();
  for (let i = 0; i < 60; i++) {
    object.environment.nowMs += 10_000;
    await object.commit([0, 1 + (i % 5)]);
  }
  await object.rest(2 * DAY_MS);
  await object.files.close();
  const bytes = await bytesOf(object.directory, name!);
  bytes[5000]! ^= 1;
  await overwrite(object.directory, name!, bytes);
  object.environment.history.thin = true;
  await object.open();
  await object.thin();
  const spans = await object.spans();
  expect(spans[0]).toEqual(foldedSpan(name!));
  expect(spans[1]?.first).toBe(last + 1);
  expect(spans[1]!.last).toBeGreaterThan(last + 2);
  await object.files.close();
});

test.for(['open', 'read', 'write', 'flush'] as const)(
  '[HIST16] a call of %s that fails ends a fold without a trace, with its error, and the next one folds',
  async (failing) => {
    const watched = new WatchedDirectory();
    const object = await ThinnedObject.aged({ thenMs: 2 * DAY_MS, directory: watched });
    await object.open();
    const concerns = (name: string) =>
      failing === 'read' ? /^log-0000000[67]$/.test(name) : name.startsWith('fold-');
    let failures = 0;
    if (failing === 'open') {
      const open = watched.open.bind(watched);
      watched.open = async (name) => {
        if (!concerns(name) || failures++ > 0) return open(name);
        throw storageError('IO', `open "${name}": fails.`);
      };
    } else {
      watched.fails = (call, name) => call === failing && concerns(name) && failures++ === 0;
    }
    await expect(object.thin()).rejects.toMatchObject({ code: 'IO' });
    expect(await object.folded()).toEqual([]);
    await object.thin();
    expect(await object.folded()).toHaveLength(1);
    expect(watched.afterClose).toEqual([]);
    await object.compare();
    await object.files.close();
  },
);

test('[HIST16] an object that is closed during a fold leaves no file open, and the next opening removes the begun one', async () => {
  const object = await ThinnedObject.aged({ thenMs: 2 * DAY_MS });
  await object.open();
  while ((await object.folded()).length === 0) await object.files.maintain();
  const [begun] = await object.folded();
  await object.files.close();
  await bytesOf(object.directory, begun!); // it would be locked
  object.environment.history.thin = false;
  await object.open();
  expect(await object.folded()).toEqual([]);
  expect((await object.compare()).size).toBe(object.states.length);
  await object.files.close();
});

test('[HIST16] a fold whose segments are pruned while its file is opened is not made', async () => {
  const directory = new MemoryDirectory();
  const object = await ThinnedObject.aged({ thenMs: 2 * DAY_MS, directory });
  const open = directory.open.bind(directory);
  let isPruned = false;
  directory.open = async (name) => {
    const file = await open(name);
    if (!name.startsWith('fold-') || isPruned) return file;
    isPruned = true;
    // A full disk: a commit takes the room of the oldest segment.
    directory.capacityBytes = directory.usedBytes();
    object.files.file.write(new Uint8Array(4096).fill(1), 0);
    object.files.file.write(new Uint8Array(4096).fill(2), 4096);
    object.files.file.commit();
    directory.capacityBytes = Number.POSITIVE_INFINITY;
    return file;
  };
  await object.open();
  await object.thin();
  expect(isPruned).toBe(true);
  const kept = await object.compare();
  expect(kept).not.toContain(object.states[0]!.bookmark);
  expect(kept).toContain(object.states.at(-1)!.bookmark);
  await object.reopen();
  expect(await object.compare()).toEqual(kept);
  await object.files.close();
});

test('[HIST13] the code that thins is loaded once there are two segments to fold', async () => {
  const object = new ThinnedObject();
  let loads = 0;
  const { loadFolding } = object.environment;
  object.environment.loadFolding = () => {
    loads++;
    return loadFolding();
  };
  await object.open();
  const count = async () =>
    (await object.directory.names()).filter((name) => name.startsWith('log-')).length;
  // An ended segment, the active one, and the next, which is opened ahead.
  while ((await count()) < 3) {
    object.environment.nowMs += 1000;
    await object.commit([0, 1, 2, 3]);
  }
  await object.thin();
  expect(loads).toBe(0);
  for (let i = 0; i < 20; i++) await object.commit([0, 1, 2, 3]);
  await object.thin();
  expect(loads).toBe(1);
  await object.files.close();
});

test('[HIST16] without the code that thins, the object works, and is thinned once a segment has ended and it can be loaded', async () => {
  const object = await ThinnedObject.aged({ thenMs: 2 * DAY_MS });
  const { loadFolding } = object.environment;
  let [tries, isThere] = [0, false];
  object.environment.loadFolding = async () => {
    tries++;
    if (isThere) return loadFolding();
    throw storageError('WORKER_FAILED', 'late.js: not loaded.');
  };
  await object.open();
  await object.thin();
  isThere = true;
  await object.files.maintain();
  expect([tries, await object.folded()]).toEqual([1, []]);
  await object.rest(0);
  await object.thin();
  expect(tries).toBe(2);
  expect(await object.folded()).toHaveLength(1);
  await object.compare();
  await object.files.close();
});

test('[HIST16] another failure of the code that thins is not taken for that', async () => {
  const object = await ThinnedObject.aged({ thenMs: 2 * DAY_MS });
  object.environment.loadFolding = async () => {
    throw new TypeError('a defect');
  };
  await object.open();
  await expect(object.thin()).rejects.toThrow('a defect');
  await object.files.close();
});
