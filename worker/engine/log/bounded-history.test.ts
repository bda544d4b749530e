// The bounds of an object's history: the days and bytes that are kept, and the states that stay exact whatever is discarded.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  imageOf,
  noise,
  START_MS,
  TestEnvironment,
} from '../../../packages/testing/worker/test-log.ts';
import type { SyncFile } from '../file/file.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { ObjectFiles } from './object-files.ts';
import { PAGE_BYTES } from './pages.ts';
import { SEGMENT_HEADER_BYTES } from './segment.ts';

const DAY_MS = 86_400_000;
const MB = 1 << 20;

/** A directory in memory that knows the size of each file of the log. */
class MeasuredDirectory extends MemoryDirectory {
  readonly measured = new Map<string, number>();

  override async open(name: string): Promise<SyncFile> {
    const file = await super.open(name);
    const noted = <A extends unknown[]>(call: (...args: A) => void) => {
      return (...args: A) => {
        call(...args);
        if (name.startsWith('log-')) this.measured.set(name, file.sizeBytes());
      };
    };
    return {
      read: (target, offset) => file.read(target, offset),
      write: noted((bytes: Uint8Array, offset: number) => file.write(bytes, offset)),
      truncate: noted((sizeBytes: number) => file.truncate(sizeBytes)),
      sizeBytes: () => file.sizeBytes(),
      flush: () => file.flush(),
      close: () => file.close(),
    };
  }

  override async remove(name: string): Promise<void> {
    await super.remove(name);
    this.measured.delete(name);
  }

  /** The sizes of the segments, in order, without one that is opened ahead. */
  get segments(): number[] {
    const sorted = [...this.measured].sort(([one], [other]) => (one < other ? -1 : 1));
    return sorted.map(([, size]) => size).filter((size) => size > 0);
  }
}

class BoundedObject {
  readonly directory = new MeasuredDirectory();
  readonly environment: TestEnvironment & { history: { days?: number; bytes?: number } };
  readonly #sizes: { readonly segmentBytes?: number; readonly checkpointLogBytes?: number };
  files!: ObjectFiles;
  #seed = 0;

  constructor(history: { days?: number; bytes?: number }, sizes: { segmentBytes?: number } = {}) {
    this.environment = Object.assign(new TestEnvironment(), { history });
    this.#sizes = { ...sizes, checkpointLogBytes: 1 };
  }

  async open(): Promise<this> {
    const options = { ...this.#sizes, isChecked: true };
    this.files = await ObjectFiles.open(this.directory, this.environment, options);
    return this;
  }

  /** Replaces pages, durably, and does the work that follows a commit. Returns the bookmark. */
  async commit(pages: readonly number[]): Promise<string> {
    const { file } = this.files;
    this.#seed++;
    for (const index of pages) {
      file.write(noise(1000 * this.#seed + index, PAGE_BYTES), index * PAGE_BYTES);
    }
    file.commit();
    await this.files.flush();
    const bookmark = this.files.currentBookmark();
    await this.upkeep();
    return bookmark;
  }

  async upkeep(): Promise<void> {
    if (this.files.needsMaintenance) await this.files.maintain();
  }

  /** The state of a bookmark; null: its history was discarded. */
  async at(bookmark: string): Promise<Buffer | null> {
    try {
      const state = await this.files.openPast(bookmark);
      const image = imageOf(state);
      this.files.closePast(state);
      return image;
    } catch (error) {
      expect(error).toMatchObject({ code: 'BOOKMARK_UNAVAILABLE' });
      return null;
    }
  }
}

const operation = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('commit' as const),
      pages: fc.uniqueArray(fc.nat(11), { minLength: 1, maxLength: 12 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('open' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('restore' as const), back: fc.nat(12) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('bound' as const), bytes: fc.nat(120_000) }),
  },
);

test('[LOG32] [LOG33] whatever is discarded, the log keeps to its bytes, and a bookmark that is kept gives its state', {
  tags: 'long',
}, async () => {
  let [discarded, kept] = [0, 0];
  const property = fc.asyncProperty(
    fc.nat(120_000),
    fc.array(operation, { minLength: 20, maxLength: 50 }),
    async (bytes, operations) => {
      const object = await new BoundedObject({ bytes }, { segmentBytes: 1 << 14 }).open();
      const states: { readonly bookmark: string; readonly image: Buffer }[] = [];
      const note = () => {
        const bookmark = object.files.currentBookmark();
        states.push({ bookmark, image: imageOf(object.files.file) });
      };
      note();
      let commitsSinceRestore = Number.POSITIVE_INFINITY;
      for (const one of operations) {
        object.environment.nowMs += 1000;
        if (one.kind === 'commit') await object.commit(one.pages);
        if (one.kind === 'bound') object.environment.history.bytes = one.bytes;
        const wanted = one.kind === 'restore' ? states.at(-1 - one.back) : undefined;
        const image = wanted && (await object.at(wanted.bookmark));
        if (wanted && image) object.files.scheduleRestore(wanted.bookmark);
        if (one.kind === 'open' || one.kind === 'restore') {
          await object.files.flush();
          await object.files.close();
          await object.open();
        }
        if (image) expect(imageOf(object.files.file).equals(image)).toBe(true);
        if (one.kind === 'commit' || image) note();
        if (one.kind !== 'commit') await object.files.maintain();
        // The oldest one may be needed until the next checkpoint.
        const counted = object.directory.segments.slice(1, -1);
        const sum = counted.reduce((total, size) => total + size, 0);
        // A restore needs its history until it is committed; then the next segment that ends discards it.
        if (image) commitsSinceRestore = 0;
        else if (one.kind === 'commit') commitsSinceRestore++;
        const isRestored = commitsSinceRestore >= 2;
        if (isRestored && counted.length > 1)
          expect(sum).toBeLessThanOrEqual(object.environment.history.bytes!);
      }
      const found: boolean[] = [];
      for (const { bookmark, image } of states) {
        const state = await object.at(bookmark);
        if (state !== null) expect(state.equals(image)).toBe(true);
        found.push(state !== null);
      }
      // Whatever is before a discarded state is discarded too. The state before the last commit is kept.
      expect(found.slice(found.indexOf(true))).not.toContain(false);
      expect(found.slice(-2)).not.toContain(false);
      kept += found.filter(Boolean).length;
      discarded += found.length - found.filter(Boolean).length;
      await object.files.close();
    },
  );
  await fc.assert(property, { numRuns: 30 });
  expect(Math.min(kept, discarded)).toBeGreaterThan(50);
});

test.each([
  [undefined, 8 * MB],
  [Number.POSITIVE_INFINITY, 8 * MB],
  [64 * MB, 8 * MB],
  [16 * MB, 2 * MB],
  [0, MB],
])('[LOG32] a history of %s bytes has segments of %i bytes', async (bytes, segmentBytes) => {
  const object = await new BoundedObject(bytes === undefined ? {} : { bytes }).open();
  const pages = Array.from({ length: 64 }, (_, index) => index);
  while (object.directory.segments.length < 2) await object.commit(pages);
  const [first] = object.directory.segments;
  expect(first).toBeGreaterThanOrEqual((segmentBytes * 15) / 16);
  expect(first).toBeLessThan(Math.max(segmentBytes, (segmentBytes * 15) / 16 + 0.6 * MB)); // a commit has half a megabyte
  await object.files.close();
});

test('[LOG32] one commit that is larger than the bound can be undone', async () => {
  const object = await new BoundedObject({ bytes: 0 }, { segmentBytes: 1 << 14 }).open();
  for (let i = 0; i < 12; i++) await object.commit([i]);
  const before = object.files.currentBookmark();
  const image = imageOf(object.files.file);
  await object.commit([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  await object.upkeep();
  // One more may stay until the next checkpoint.
  expect(object.directory.segments.length).toBeLessThanOrEqual(3);
  expect((await object.at(before))?.equals(image)).toBe(true);
  await object.files.close();
});

test('[LOG33] a time is named within the days that are kept, and no earlier one', async () => {
  const object = await new BoundedObject({ days: 7 }).open();
  const first = await object.commit([0]);
  object.environment.nowMs += 7 * DAY_MS;
  expect(await object.files.bookmarkForTime(START_MS)).toBe(first);
  object.environment.nowMs += 1;
  expect(() => object.files.bookmarkForTime(START_MS)).toThrow(
    expect.objectContaining({
      code: 'BOOKMARK_UNAVAILABLE',
      message: expect.stringContaining('not within the last 7 days'),
    }),
  );
  await object.files.close();
});

test.each([7, 0.5, 0])(
  '[LOG33] with %s days of history, a segment is kept for a day longer, and no more',
  async (days) => {
    const object = await new BoundedObject(
      { days },
      { segmentBytes: 2 * SEGMENT_HEADER_BYTES },
    ).open();
    const commits: { readonly bookmark: string; readonly day: number }[] = [];
    for (let day = 0; day < 20; day += 0.25) {
      commits.push({ bookmark: await object.commit([0, 1]), day });
      object.environment.nowMs += DAY_MS / 4;
    }
    const last = commits.at(-1)!.day;
    const oldest: number[] = [];
    for (const { bookmark, day } of commits) {
      if ((await object.at(bookmark)) !== null) oldest.push(last - day);
    }
    // Every segment has one commit, and undoing it gives the state before it.
    expect(oldest[0]).toBe(days + 1.25);
    expect(oldest).toEqual(oldest.map((_, i) => oldest[0]! - i / 4));
    await object.files.close();
  },
);
