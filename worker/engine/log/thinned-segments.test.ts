// Which segments thinning makes one of, and what it does with those that cannot be read.

import { expect, test } from 'vitest';
import {
  bytesOf,
  imageOf,
  overwrite,
  START_MS,
} from '../../../packages/testing/worker/test-log.ts';
import {
  DAY_MS,
  MINUTE_MS,
  ThinnedObject,
} from '../../../packages/testing/worker/thinned-object.ts';
import type { MemoryDirectory } from '../file/memory-file.ts';
import { reportLog } from './log-report.ts';
import { foldedSpan, type Span } from './sealed-segments.ts';
import { segmentName } from './segment.ts';

const ALL = {
  fromMs: Number.NEGATIVE_INFINITY,
  toMs: Number.POSITIVE_INFINITY,
  before: null,
  limit: 1000,
};

test('[HIST13] eight segments at most are made one at a time, or become a part of the small one before them', async () => {
  const object = await (await ThinnedObject.aged({ count: 200, thenMs: 2 * DAY_MS })).open();
  const made = new Map<number, Span>();
  while (object.files.needsMaintenance) {
    await object.files.maintain();
    for (const span of await object.spans()) made.set(span.last, span);
  }
  const spans = [...made.values()];
  expect(spans.length).toBeGreaterThan(3);
  for (const [i, { first, last, minutes }] of spans.entries()) {
    expect([first, minutes]).toEqual([1, 1]);
    expect(last - (spans[i - 1]?.last ?? 0)).toBeLessThanOrEqual(8);
  }
  expect(await object.spans()).toEqual([spans.at(-1)]);
  await object.files.close();
});

test('[HIST13] a large folded segment stays as it is, beside the next one', async () => {
  const object = await ThinnedObject.aged({
    count: 140,
    everyMs: MINUTE_MS / 2,
    thenMs: 2 * DAY_MS,
  });
  // A sixteenth of it is less than eight segments have after thinning.
  object.environment.history.bytes = 1 << 20;
  await object.open();
  const made = new Set<string>();
  while (object.files.needsMaintenance) {
    await object.files.maintain();
    for (const name of await object.folded()) made.add(name);
  }
  const names = await object.folded();
  expect(names.length).toBeGreaterThan(1);
  expect([...made].toSorted()).toEqual(names);
  await object.files.close();
});

test.for(['records', 'header'])(
  '[HIST16] [HIST4] damage of the %s of a segment ends no object and no thinning: all other states are as they were',
  async (place) => {
    const object = await ThinnedObject.aged({ count: 120, thenMs: 2 * DAY_MS });
    const name = segmentName(4);
    const bytes = await bytesOf(object.directory, name);
    bytes[place === 'header' ? 20 : 9000]! ^= 1;
    await overwrite(object.directory, name, bytes);
    await object.open();
    await object.thin();
    expect(await object.directory.names()).toContain(name);
    const isDamaged = async (bookmark: string) => {
      try {
        object.files.closePast(await object.files.openPast(bookmark));
        return false;
      } catch (error) {
        expect(error).toMatchObject({ code: 'CORRUPT' });
        return true;
      }
    };
    // The states after the damaged record do not need it, so they can be read.
    const after = object.states.slice(120);
    const kept = object.states.slice(0, 120).filter((_, i) => i > 100 && i % 6 === 5);
    for (const { bookmark } of [...after, ...kept]) expect(await isDamaged(bookmark)).toBe(false);
    // The oldest state that is kept needs the damaged page.
    expect(await isDamaged(object.states[5]!.bookmark)).toBe(true);
    await object.commit([0, 1]);
    await object.reopen();
    await object.thin();
    expect(await isDamaged(object.states.at(-1)!.bookmark)).toBe(false);
    await object.files.close();
  },
);

/** How the moments of all states are read: as they were, or the code of the error. */
async function outcomes(object: ThinnedObject): Promise<string[]> {
  const found: string[] = [];
  for (const { bookmark, image } of object.states) {
    try {
      const state = await object.files.openPast(bookmark);
      found.push(imageOf(state).equals(image) ? 'as it was' : 'another state');
      object.files.closePast(state);
    } catch (error) {
      found.push((error as { readonly code: string }).code);
    }
  }
  return found;
}

/**
 * An object of which two folded segments are there again after they were removed, as after a power failure: a whole
 * one, and the one after it, which was never finished. What they stand for was pruned.
 */
async function withUnfinished(): Promise<{ object: ThinnedObject; whole: string; begun: string }> {
  const object = await ThinnedObject.aged({
    count: 140,
    everyMs: MINUTE_MS / 2,
    thenMs: 2 * DAY_MS,
  });
  const { history } = object.environment;
  history.bytes = 1 << 20; // small enough that the second one does not contain the first
  await object.open();
  while ((await object.folded()).length < 2) await object.files.maintain();
  const [whole, begun] = await object.folded();
  const { first, last } = foldedSpan(begun!)!;
  expect(first).toBe(foldedSpan(whole!)!.last + 1);
  await object.files.close();
  const images = await Promise.all(
    [whole!, begun!].map(async (name) => [name, await bytesOf(object.directory, name)] as const),
  );
  history.thin = false;
  await object.open();
  for (let i = 0; i < 9; i++) await object.commit([0, 1, 2, 3, 4]); // so that something ends
  const names = () => object.directory.names();
  while ((await names()).includes(segmentName(last))) {
    history.bytes -= 1 << 12;
    await object.commit([0, 1, 2, 3, 4]);
    await object.thin();
  }
  expect(await names()).toContain(segmentName(last + 1));
  await object.files.close();
  for (const [name, bytes] of images) await overwrite(object.directory, name, bytes);
  return { object, whole: whole!, begun: begun! };
}

test.for([true, false])(
  '[HIST9] [HIST16] a folded segment that was never finished stands for nothing once its segments are pruned, and is removed; after an older one: %s',
  async (isAfter) => {
    const { object, whole, begun } = await withUnfinished();
    if (!isAfter) await object.directory.remove(whole);
    const bytes = new Map<string, Uint8Array>();
    for (const name of await object.directory.names()) {
      bytes.set(name, await bytesOf(object.directory, name));
    }
    expect((await reportLog(bytes, object.environment.nowMs)).damage).toEqual([]);
    await object.open();
    const found = await outcomes(object);
    const oldest = found.indexOf('as it was');
    expect(oldest).toBeGreaterThan(20);
    expect(new Set(found.slice(0, oldest))).toEqual(new Set(['BOOKMARK_UNAVAILABLE']));
    expect(new Set(found.slice(oldest))).toEqual(new Set(['as it was']));
    const listed = await object.files.listCommits(ALL);
    expect(listed.map(({ bookmark }) => bookmark).reverse()).toEqual(
      object.states.slice(oldest + 1).map(({ bookmark }) => bookmark),
    );
    await object.rest(0);
    await object.thin();
    await object.reopen();
    expect(await object.directory.names()).not.toContain(begun);
    await object.files.close();
  },
);

test('[HIST4] damage of the header of a folded segment ends no object', async () => {
  const object = await (
    await ThinnedObject.aged({ count: 140, everyMs: MINUTE_MS / 2, thenMs: 2 * DAY_MS })
  ).open();
  await object.thin();
  const [name] = await object.folded();
  await object.files.close();
  const bytes = await bytesOf(object.directory, name!);
  bytes[20]! ^= 1;
  await overwrite(object.directory, name!, bytes);
  await object.open();
  await object.rest(0);
  await object.thin();
  const found = await outcomes(object);
  expect(found[0]).toBe('CORRUPT');
  expect(found.slice(-9)).toEqual(Array(9).fill('as it was'));
  expect(await object.directory.names()).toContain(name);
  await object.files.close();
});

test('[HIST15] a history that takes more than half of its bytes is thinned before it is old: by minutes, then by hours', {
  tags: 'long',
}, async () => {
  for (const [ofHistory, minutes] of [
    [Number.POSITIVE_INFINITY, []],
    [(bytes: number) => 2 * bytes, []],
    [(bytes: number) => 2 * bytes - 2, [1]],
    [(bytes: number) => bytes / 6, [60]],
  ] as const) {
    const object = await ThinnedObject.aged({ count: 120, thenMs: MINUTE_MS });
    // The bytes of the ended segments: without the current segment and the empty one after it.
    const segments = [...(object.directory as MemoryDirectory).sizes()]
      .filter(([name, size]) => name.startsWith('log-') && size > 0)
      .sort(([one], [other]) => (one < other ? -1 : 1));
    const ended = segments.slice(0, -1).reduce((sum, [, size]) => sum + size, 0);
    const bytes = typeof ofHistory === 'number' ? ofHistory : ofHistory(ended);
    object.environment.history.bytes = bytes;
    await object.open();
    await object.thin();
    const found = new Set((await object.spans()).map((span) => span.minutes));
    expect([bytes, [...found]]).toEqual([bytes, minutes]);
    await object.compare();
    await object.files.close();
  }
});

test('[HIST16] what is pruned while it is thinned is not there, and the rest is as it was', {
  tags: 'long',
}, async () => {
  for (let steps = 1; steps < 12; steps++) {
    const object = await (await ThinnedObject.aged({ count: 120, thenMs: 2 * DAY_MS })).open();
    for (let i = 0; i < steps; i++) await object.files.maintain();
    object.environment.history.bytes = 1 << 17;
    await object.rest(0);
    await object.thin();
    const kept = await object.compare();
    expect(kept.size).toBeGreaterThan(5);
    expect(kept).not.toContain(object.states[5]!.bookmark);
    await object.reopen();
    expect(await object.compare()).toEqual(kept);
    await object.files.close();
  }
});

test('[HIST16] more changes than are held at once, and transactions in parts, keep their states', {
  tags: 'long',
}, async () => {
  const object = new ThinnedObject();
  object.sizes = { segmentBytes: 3 << 20, checkpointLogBytes: 1, spillBytes: 1 << 21 };
  object.environment.history.thin = false;
  await object.open();
  // A megabyte and a half of old words in each minute. One transaction has several records.
  const all = Array.from({ length: 400 }, (_, i) => i);
  const halves = [all.slice(0, 200), all.slice(200)];
  for (let i = 0; i < 48; i++) {
    object.environment.nowMs = START_MS + i * (MINUTE_MS / 12);
    // In the third minute the database becomes smaller, before more is collected than is held.
    const pages = i === 29 ? all : halves[i % 2]!;
    const isSmall = i >= 25 && i < 36;
    await object.commit(isSmall ? pages.filter((page) => page < 350) : pages, i === 25 ? 350 : 0);
  }
  object.environment.nowMs += 2 * DAY_MS;
  for (let i = 0; i < 12; i++) await object.commit(halves[0]!);
  await object.files.close();
  object.environment.history.thin = true;
  await object.open();
  let steps = 0;
  for (; object.files.needsMaintenance; steps++) await object.files.maintain();
  // A step reads half a megabyte.
  expect(steps).toBeGreaterThan(20);
  const kept = await object.compare();
  const given = object.states.filter(({ bookmark }) => !kept.has(bookmark));
  expect(given.length).toBeGreaterThan(30);
  for (const i of [11, 23, 35]) expect(kept).toContain(object.states[i]!.bookmark);
  await object.reopen();
  expect(await object.compare()).toEqual(kept);
  const listed = await object.files.listCommits(ALL);
  expect(listed.map(({ bookmark }) => bookmark).toSorted()).toEqual([...kept].toSorted());
  await object.files.close();
});
