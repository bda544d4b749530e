// Where a branch begins: with which commit, when it may be made, and how long its moment is held.

import { expect, test } from 'vitest';
import {
  imageOf,
  noise,
  START_MS,
  TestEnvironment,
} from '../../../packages/testing/worker/test-log.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { sequenceIn } from '../log/bookmark.ts';
import { PagesInFile } from '../log/kept-pages.ts';
import { ObjectFiles } from '../log/object-files.ts';
import { PAGE_BYTES } from '../log/pages.ts';
import { BranchPoint } from './branch-point.ts';

const EVERY_MS = 60_000;

/** An object with three commits, a minute apart. */
async function opened() {
  const environment = new TestEnvironment();
  const files = await ObjectFiles.open(new MemoryDirectory(), environment);
  const bookmarks: string[] = [];
  const commit = () => {
    environment.nowMs += EVERY_MS;
    files.file.write(noise(environment.nowMs, PAGE_BYTES), 0);
    files.file.commit();
    void files.flush();
    bookmarks.push(files.currentBookmark());
  };
  for (let i = 0; i < 3; i++) commit();
  const stored = { durable: undefined as Promise<void> | undefined };
  const point = new BranchPoint(files, {
    currentBookmark: () => files.currentBookmark(),
    bookmarkForTime: (timeMs) => files.bookmarkForTime(timeMs),
    durability: () => stored.durable,
  });
  return { files, point, bookmarks, commit, stored };
}

/** A promise that is settled by hand. */
function later() {
  let resolve = () => {};
  let reject = (_error: Error) => {};
  const promise = new Promise<void>((done, fail) => {
    resolve = done;
    reject = fail;
  });
  return { promise, resolve, reject };
}

test('[BRANCH3] a branch begins with the commit of a bookmark, of a time, or of now', async () => {
  const { point, bookmarks } = await opened();
  const begin = (at: string | number | null) => point.begin(at, async (bookmark) => bookmark);
  expect(await begin(null)).toBe(bookmarks[2]);
  expect(await begin(bookmarks[0]!)).toBe(bookmarks[0]);
  expect(await begin(START_MS + 2.5 * EVERY_MS)).toBe(bookmarks[1]);
  await expect(begin(0)).rejects.toMatchObject({ code: 'BOOKMARK_UNAVAILABLE' });
});

test('[BRANCH3] now is when the branch is asked for, though the object is written before it is made', async () => {
  const { point, bookmarks, commit, stored } = await opened();
  const durable = later();
  stored.durable = durable.promise;
  const made: string[] = [];
  const begun = point.begin(null, async (bookmark) => void made.push(bookmark));
  commit();
  durable.resolve();
  await begun;
  expect(made).toEqual([bookmarks[2]]);
});

test.for(['is made', 'cannot be made', 'does not become durable'])(
  '[BRANCH6] the moment of a branch is held before its commit is durable, while it is made, and no longer; it %s',
  async (end) => {
    const { files, point, bookmarks, stored } = await opened();
    const sequence = sequenceIn(bookmarks[1]!);
    const steps = { durable: later(), made: later() };
    stored.durable = steps.durable.promise;
    let isMaking = false;
    const begun = point.begin(bookmarks[1]!, () => {
      isMaking = true;
      return steps.made.promise;
    });
    await files.openPast(bookmarks[0]!); // after the search for the moment
    expect([files.branches.needed, isMaking]).toEqual([[sequence], false]);
    const error = new Error('of the disk');
    if (end === 'does not become durable') {
      steps.durable.reject(error);
      await expect(begun).rejects.toBe(error);
      expect(isMaking).toBe(false);
    } else {
      steps.durable.resolve();
      await files.openPast(bookmarks[0]!);
      expect([files.branches.needed, isMaking]).toEqual([[sequence], true]);
      if (end === 'is made') steps.made.resolve();
      else steps.made.reject(error);
      await (end === 'is made' ? begun : expect(begun).rejects.toBe(error));
    }
    expect(files.branches.needed).toEqual([]);
  },
);

test('[BRANCH2] the state that a branch begins with stays as it is while the object goes on, until it is closed', async () => {
  const { files, point, bookmarks, commit } = await opened();
  const kept = new PagesInFile(await new MemoryDirectory().open('pages'));
  const before = imageOf(await files.openPast(bookmarks[1]!));
  const state = await point.open(bookmarks[1]!, kept);
  commit();
  expect(imageOf(state).equals(before)).toBe(true);
  expect(kept.size).toBe(1);
  point.close(state);
  expect(() => imageOf(state)).toThrow(expect.objectContaining({ code: 'MOMENT_CLOSED' }));
});

test('[BRANCH9] only an object that is as it was can become its branch; otherwise CONFLICT names the ways out', async () => {
  const { point, bookmarks, commit } = await opened();
  const last = bookmarks[2]!;
  expect(() => point.mustBeAt(last)).not.toThrow();
  expect(() => point.mustBeAt(bookmarks[1]!)).toThrow(
    expect.objectContaining({ code: 'CONFLICT' }),
  );
  commit();
  expect(() => point.mustBeAt(last)).toThrow(
    expect.objectContaining({
      code: 'CONFLICT',
      message: expect.stringMatching(/has changed since the branch began.*merge.*fork again/),
    }),
  );
});
