// Thinning beside branches and restores: the state that one of them needs stays, whenever it comes.

import { beforeAll, expect, test } from 'vitest';
import { copyOf, imageOf, START_MS } from '../../../packages/testing/worker/test-log.ts';
import { DAY_MS, ThinnedObject } from '../../../packages/testing/worker/thinned-object.ts';
import type { MemoryDirectory } from '../file/memory-file.ts';
import { BranchPoint } from '../storage/branch-point.ts';
import { sequenceIn } from './bookmark.ts';
import type { KeptBranch } from './kept-branches.ts';

/** Of each minute, six states; thinning after a day keeps the last one. */
const EVERY_MS = 10_000;
const COUNT = 60;

let before: ThinnedObject;

beforeAll(async () => {
  before = new ThinnedObject();
  before.environment.history.thin = false;
  await before.open();
  for (let i = 0; i < COUNT; i++) {
    before.environment.nowMs = START_MS + i * EVERY_MS;
    await before.commit([0, 1 + (i % 5)]);
  }
  await before.rest(2 * DAY_MS);
  await before.files.close();
});

/** The object before anything was thinned, on a disk of its own. */
async function unthinned(directory?: MemoryDirectory): Promise<ThinnedObject> {
  const object = new ThinnedObject(directory ?? (await copyOf(before.directory)));
  object.environment.nowMs = before.environment.nowMs;
  object.states.push(...before.states);
  return object.open();
}

function branchAt(bookmark: string): KeptBranch {
  const id = `b${sequenceIn(bookmark)}`;
  const facts = {
    id,
    name: id,
    bookmark,
    createdMs: 1,
    sends: false,
  };
  return { ...facts, isLeaving: false, isStored: false };
}

/** The state of the middle of each minute, which nothing but a branch keeps. */
const middles = () => before.states.slice(0, COUNT).filter((_, i) => i % 6 === 2);

test('[BRANCH6] thinning keeps the states of kept branches, in each age and after a restart, and not their neighbours', async () => {
  const object = await unthinned();
  const bookmarks = middles().map(({ bookmark }) => bookmark);
  for (const bookmark of bookmarks) await object.files.branches.add(branchAt(bookmark));
  for (const passed of [0, 7 * DAY_MS]) {
    await object.rest(passed);
    await object.thin();
    await object.reopen();
    const kept = await object.compare();
    for (const bookmark of bookmarks) expect(kept).toContain(bookmark);
    // But for the last one of a folded segment.
    const neighbours = before.states.slice(0, COUNT).filter((_, i) => i % 6 === 3);
    expect(neighbours.filter(({ bookmark }) => kept.has(bookmark)).length).toBeLessThan(3);
  }
  await object.files.close();
});

test('[BRANCH6] a branch that is kept while a fold runs, at any step of it, has its state', async () => {
  const bookmark = before.states[8]!.bookmark;
  let during = 0;
  for (let steps = 0; ; steps++) {
    const object = await unthinned();
    for (let i = 0; i < steps && object.files.needsMaintenance; i++) await object.files.maintain();
    // Once another segment stands for its state, there is no such branch.
    const isKept = (await object.at(bookmark)) !== null;
    const isFolding = (await object.folded()).length > 0;
    if (isKept) await object.files.branches.add(branchAt(bookmark));
    await object.thin();
    if (isKept) expect(await object.compare()).toContain(bookmark);
    await object.files.close();
    if (!isKept) break;
    if (isFolding) during++;
  }
  expect(during).toBeGreaterThan(1);
});

test('[BRANCH6] a branch whose list is stored slowly has its state, though the fold ends meanwhile', async () => {
  const bookmark = before.states[8]!.bookmark;
  let during = 0;
  for (let steps = 0; ; steps++) {
    const directory = await copyOf(before.directory);
    let store = () => {};
    const stored = new Promise<void>((resolve) => (store = resolve));
    const open = directory.open.bind(directory);
    directory.open = async (name) => {
      if (name === 'branches') await stored;
      return open(name);
    };
    const object = await unthinned(directory);
    const { files } = object;
    for (let i = 0; i < steps && files.needsMaintenance; i++) await files.maintain();
    const isKept = (await object.at(bookmark)) !== null;
    const isFolding = (await object.folded()).length > 0;
    if (isKept) {
      const made = new BranchPoint(files, {
        currentBookmark: () => files.currentBookmark(),
        bookmarkForTime: (timeMs) => files.bookmarkForTime(timeMs),
        durability: () => undefined,
      }).begin(bookmark, (found) => files.branches.add(branchAt(found)));
      for (let i = 0; i < 5; i++) await files.maintain();
      store();
      await made;
      await object.thin();
      expect(await object.compare()).toContain(bookmark);
    }
    await files.close();
    if (!isKept) break;
    if (isFolding) during++;
  }
  expect(during).toBeGreaterThan(1);
});

test('[BRANCH6] thinning keeps the state of an open branch, also if it begins while a fold runs, until it ends', {
  tags: 'long',
}, async () => {
  const { bookmark } = before.states[8]!;
  let during = 0;
  for (let steps = 0; ; steps++) {
    const object = await unthinned();
    const pin = { sequence: Number.POSITIVE_INFINITY };
    Object.assign(object.environment, { pinnedSequence: () => pin.sequence });
    for (let i = 0; i < steps && object.files.needsMaintenance; i++) await object.files.maintain();
    const isKept = (await object.at(bookmark)) !== null;
    const isFolding = (await object.folded()).length > 0;
    if (isKept) {
      pin.sequence = sequenceIn(bookmark);
      await object.thin();
      await object.reopen();
      await object.thin();
      expect(await object.compare()).toContain(bookmark);
      pin.sequence = Number.POSITIVE_INFINITY;
      await object.rest(0);
      await object.thin();
      expect(await object.compare()).not.toContain(bookmark);
    }
    await object.files.close();
    if (!isKept) break;
    if (isFolding) during++;
  }
  expect(during).toBeGreaterThan(1);
});

test.for([1, 2])(
  '[HIST16] a restore that is requested during flush %i of a folded segment is made',
  async (which) => {
    const { bookmark, image } = before.states[8]!;
    const directory = await copyOf(before.directory);
    const open = directory.open.bind(directory);
    let flushes = 0;
    let request = () => {};
    directory.open = async (name) => {
      const file = await open(name);
      if (!name.startsWith('fold-')) return file;
      const flush = file.flush.bind(file);
      file.flush = async () => {
        await flush();
        if (++flushes === which) request();
      };
      return file;
    };
    const object = await unthinned(directory);
    request = () => void object.files.scheduleRestore(bookmark);
    await object.thin();
    expect(flushes).toBeGreaterThan(which);
    await object.reopen();
    expect(imageOf(object.files.file).equals(image)).toBe(true);
    await object.files.close();
  },
);
