// The pages of a transaction as a property: whatever it writes, skips and cuts, and wherever its pages are
// meanwhile (in memory, in the log, in the main file), it reads as a list of pages would; so does the next
// opening, and so does the state after a restore.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  noise,
  TestEnvironment,
  WatchedDirectory,
} from '../../../packages/testing/worker/test-log.ts';
import { ObjectFiles } from './object-files.ts';
import { PAGE_BYTES } from './pages.ts';

const PAGES = 10;
const STEP_MS = 1000;

type Step =
  | { readonly kind: 'write'; readonly page: number }
  | { readonly kind: 'cut'; readonly page: number }
  | { readonly kind: 'back'; readonly page: number }
  | { readonly kind: 'same' | 'commit' | 'roll back' | 'flush' | 'maintain' | 'reopen' };

const page = fc.nat(PAGES - 1);
const kinds = ['same', 'commit', 'commit', 'commit', 'roll back', 'flush', 'flush'] as const;
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.record({ kind: fc.constant('write'), page }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('cut'), page }) },
    { weight: 7, arbitrary: fc.record({ kind: fc.constantFrom(...kinds) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('maintain', 'reopen') }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('back'), page }) },
  ) as fc.Arbitrary<Step>,
  { minLength: 10, maxLength: 60 },
);

/** The content of a page by its number: zeros, a whole page of noise, or a page that hardly differs from others. */
function contentOf(number: number): Uint8Array {
  if (number === 0) return new Uint8Array(PAGE_BYTES);
  if (number % 2 === 1) return noise(number, PAGE_BYTES);
  const bytes = new Uint8Array(PAGE_BYTES);
  new DataView(bytes.buffer).setUint32(4 * (number % 1000), number);
  return bytes;
}

class Run {
  readonly #directory = new WatchedDirectory();
  readonly #environment = new TestEnvironment();
  readonly #options: Parameters<typeof ObjectFiles.open>[2];
  #files!: ObjectFiles;
  /** Numbers of the pages, as the transaction sees them and as they were committed. */
  #pages: number[] = [];
  #committed: readonly number[] = [];
  #last = 0;
  readonly #states: { bookmark: string; timeMs: number; pages: readonly number[] }[] = [];

  constructor(options: Parameters<typeof ObjectFiles.open>[2]) {
    this.#options = options;
  }

  async run(all: readonly Step[]): Promise<void> {
    await this.#open();
    for (const step of all) {
      await this.#perform(step);
      this.#verify();
    }
    await this.#reopen();
    this.#verify();
    await this.#files.close();
  }

  async #perform(step: Step): Promise<void> {
    switch (step.kind) {
      case 'write':
        return this.#write(step.page, ++this.#last);
      case 'cut':
        this.#files.file.truncate(Math.min(step.page, this.#pages.length) * PAGE_BYTES);
        this.#pages.length = Math.min(step.page, this.#pages.length);
        return;
      case 'same':
        for (const [at, number] of this.#committed.entries()) this.#write(at, number);
        return;
      case 'commit':
        return this.#commit();
      case 'roll back':
        return this.#rollBack();
      case 'flush':
        return await this.#files.flush();
      case 'maintain':
        this.#rollBack();
        await this.#files.flush();
        return await this.#files.maintain();
      case 'reopen':
        return await this.#reopen();
      case 'back':
        return await this.#back(step.page);
    }
  }

  #write(at: number, number: number): void {
    this.#files.file.write(contentOf(number), at * PAGE_BYTES);
    while (this.#pages.length < at) this.#pages.push(0);
    this.#pages[at] = number;
  }

  /** Every commit changes the first page: SQLite's, which counts them, does. */
  #commit(): void {
    this.#write(0, ++this.#last);
    this.#environment.nowMs += STEP_MS;
    this.#files.file.commit();
    this.#committed = [...this.#pages];
    const bookmark = this.#files.currentBookmark();
    this.#states.push({ bookmark, timeMs: this.#environment.nowMs, pages: this.#committed });
  }

  /** Like SQLite: pages that were cut are written again, then the rollback ends. */
  #rollBack(): void {
    const last = this.#committed.length - 1;
    if (last >= 0) this.#write(last, this.#committed[last]!);
    this.#files.file.endRollback();
    this.#pages = [...this.#committed];
  }

  async #reopen(): Promise<void> {
    await this.#files.flush();
    await this.#files.close();
    this.#pages = [...this.#committed];
    await this.#open();
  }

  /** Restores one of the last states, by its bookmark or by its time. */
  async #back(steps: number): Promise<void> {
    const state = this.#states.at(-1 - steps);
    if (state === undefined) return;
    this.#rollBack();
    await this.#files.flush();
    this.#environment.nowMs += STEP_MS;
    const isLatest = !this.#states.some(({ timeMs }) => timeMs > state.timeMs);
    const byTime = steps % 2 === 0 && !isLatest;
    const bookmark = byTime ? await this.#files.bookmarkForTime(state.timeMs) : state.bookmark;
    this.#files.scheduleRestore(bookmark);
    this.#committed = state.pages;
    await this.#reopen();
    this.#environment.nowMs += STEP_MS;
  }

  async #open(): Promise<void> {
    this.#files = await ObjectFiles.open(this.#directory, this.#environment, this.#options);
  }

  #verify(): void {
    const { file } = this.#files;
    expect(file.sizeBytes()).toBe(this.#pages.length * PAGE_BYTES);
    const target = new Uint8Array(PAGE_BYTES);
    const wrong: number[] = [];
    for (let at = 0; at <= PAGES; at++) {
      target.fill(0xee);
      file.read(target, at * PAGE_BYTES);
      if (!Buffer.from(target).equals(contentOf(this.#pages[at] ?? 0))) wrong.push(at);
    }
    expect(wrong).toEqual([]);
  }
}

const RARELY = { checkpointOverlayBytes: 1 << 30, checkpointLogBytes: 1 << 30 };
const WAYS: Readonly<Record<string, Parameters<typeof ObjectFiles.open>[2]>> = {
  'in memory': RARELY,
  'in the log and the main file': { ...RARELY, spillBytes: 2 * PAGE_BYTES },
  'anywhere, with checkpoints': { checkpointLogBytes: 4 * PAGE_BYTES, spillBytes: 3 * PAGE_BYTES },
  'anywhere, in short segments': {
    segmentBytes: 8 * PAGE_BYTES,
    checkpointLogBytes: 3 * PAGE_BYTES,
    spillBytes: PAGE_BYTES,
  },
};

test.each(Object.entries(WAYS))(
  '[LOG15] [LOG19] [LOG11] a transaction and its result read as a list of pages does: %s',
  { tags: 'long' },
  async (_, options) => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        await new Run(options).run(all);
      }),
      { numRuns: 100 },
    );
  },
);

/** An object with five pages, of which a transaction keeps one in memory. */
async function withPages() {
  const directory = new WatchedDirectory();
  const options = { ...RARELY, spillBytes: PAGE_BYTES };
  const files = await ObjectFiles.open(directory, new TestEnvironment(), options);
  const write = (at: number, number: number) =>
    files.file.write(contentOf(number), at * PAGE_BYTES);
  const commit = async () => {
    files.file.commit();
    await files.flush();
  };
  for (let at = 0; at < 5; at++) write(at, 11 + 2 * at);
  await commit();
  const readsAs = (at: number, number: number) => {
    const target = new Uint8Array(PAGE_BYTES).fill(0xee);
    files.file.read(target, at * PAGE_BYTES);
    return Buffer.from(target).equals(contentOf(number));
  };
  return { files, write, commit, readsAs };
}

test('[LOG19] a page that was moved to the log, cut off and skipped is zeros', async () => {
  for (const cutAt of [2, 3]) {
    const { files, write, commit, readsAs } = await withPages();
    for (const at of [2, 3, 0]) write(at, 101 + 2 * at); // the first two are in the log now
    files.file.truncate(cutAt * PAGE_BYTES);
    write(4, 201);
    const isZero = () => [readsAs(2, cutAt === 3 ? 105 : 0), readsAs(3, 0), readsAs(4, 201)];
    expect(isZero()).toEqual([true, true, true]);
    await commit();
    expect(isZero()).toEqual([true, true, true]);
    await files.close();
  }
});

test('[LOG4] one page in memory that differs is committed, although those in the log are as they were', async () => {
  const { files, write, commit, readsAs } = await withPages();
  const sequence = files.committedSequence;
  for (const at of [0, 1, 2]) write(at, 11 + 2 * at);
  write(3, 301);
  await commit();
  expect(files.committedSequence).toBe(sequence + 1);
  expect([readsAs(2, 15), readsAs(3, 301)]).toEqual([true, true]);
  await files.close();
});

test('[LOG4] a page in memory counts, not its spilled copy in the log', async () => {
  const { files, write, commit } = await withPages();
  const sequence = files.committedSequence;
  write(0, 401);
  write(1, 13); // moves the page before to the log
  write(0, 11);
  await commit();
  expect(files.committedSequence).toBe(sequence);
  await files.close();
});

test('[LOG4] pages that are written as they were commit nothing, in memory too', async () => {
  const { files, write, commit } = await withPages();
  const { committedSequence } = files;
  write(0, 11);
  await commit();
  expect(files.committedSequence).toBe(committedSequence);
  await files.close();
});
