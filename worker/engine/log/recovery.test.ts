// Recovery as a property: after any operations and a power failure at any point, opening gives the
// whole state of one commit, no older than the last completed flush.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  bytesOf,
  noise,
  openLog,
  put,
  TestEnvironment,
} from '../../../packages/testing/worker/test-log.ts';
import type { FileDirectory, SyncFile } from '../file/file.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { ObjectFiles } from './object-files.ts';
import { PAGE_BYTES } from './pages.ts';

const PAGES = 12;

type Step =
  | { readonly kind: 'commit'; readonly pages: readonly number[]; readonly isWhole: boolean }
  | { readonly kind: 'undone'; readonly pages: readonly number[] }
  | { readonly kind: 'shorten'; readonly pageCount: number }
  | { readonly kind: 'flush' | 'lateFlush' | 'checkpoint' | 'maintain' | 'reopen' };

const pages = fc.uniqueArray(fc.nat(PAGES - 1), { minLength: 1, maxLength: PAGES });
const kinds = ['flush', 'flush', 'lateFlush', 'checkpoint', 'maintain', 'reopen'] as const;
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ kind: fc.constant('commit'), pages, isWhole: fc.boolean() }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('undone'), pages }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('shorten'),
        pageCount: fc.integer({ min: 1, max: PAGES }),
      }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom(...kinds) }) },
  ) as fc.Arbitrary<Step>,
  { minLength: 5, maxLength: 60 },
);

interface Change {
  readonly name: string;
  /** A write at an offset, or (null) a truncation to it. */
  readonly bytes: Uint8Array | null;
  readonly offset: number;
  /** The number of changes made when a flush that covers it ended. */
  durableFrom: number;
}

/** A directory that records every change of its files in order, and the bytes that flushes made durable. */
class Journal implements FileDirectory {
  readonly changes: Change[] = [];
  readonly #inner = new MemoryDirectory();
  #late: (() => void)[] = [];
  isLate = false;

  async open(name: string): Promise<SyncFile> {
    const file = await this.#inner.open(name);
    const change = (bytes: Uint8Array | null, offset: number) => {
      this.changes.push({ name, bytes, offset, durableFrom: Number.POSITIVE_INFINITY });
    };
    return {
      read: (target, offset) => file.read(target, offset),
      write: (bytes, offset) => {
        file.write(bytes, offset);
        change(bytes.slice(), offset);
      },
      truncate: (sizeBytes) => {
        file.truncate(sizeBytes);
        change(null, sizeBytes);
      },
      sizeBytes: () => file.sizeBytes(),
      flush: () => {
        const covered = this.changes.filter((made) => made.name === name);
        const settle = () => {
          for (const made of covered) {
            made.durableFrom = Math.min(made.durableFrom, this.changes.length);
          }
        };
        if (!this.isLate) return settle();
        return new Promise<void>((resolve) => this.#late.push(resolve)).then(settle);
      },
      close: () => file.close(),
    };
  }

  names = () => this.#inner.names();
  remove = (name: string) => this.#inner.remove(name);

  async release(): Promise<void> {
    this.isLate = false;
    while (this.#late.length > 0) {
      for (const resolve of this.#late.splice(0)) resolve();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** The disk if power fails after this many changes. */
  async afterPowerLoss(count: number, fate: (below: number) => number): Promise<MemoryDirectory> {
    const directory = new MemoryDirectory();
    const lost = new Set<string>();
    for (const { name, bytes, offset, durableFrom } of this.changes.slice(0, count)) {
      const isDurable = durableFrom <= count;
      const drawn = isDurable ? 0 : fate(4);
      if (drawn === 1) lost.add(name);
      // If a file's metadata was not written, no later truncation survives either.
      if (drawn === 1 || (bytes === null && !isDurable && lost.has(name))) continue;
      const file = await directory.open(name);
      if (bytes === null) file.truncate(offset);
      else file.write(drawn === 2 ? bytes.subarray(0, fate(bytes.length + 1)) : bytes, offset);
      file.close();
    }
    return directory;
  }
}

/** The whole state of a commit: the byte that fills each page. */
type State = readonly number[];

function pageOf(stamp: number, isWhole: boolean): Uint8Array {
  const words = new Uint32Array(PAGE_BYTES / 4);
  // A page that changes everywhere is logged as an image, another one as a range.
  const count = isWhole ? words.length : 3;
  for (let i = 0; i < count; i++) words[i] = Math.imul(stamp + 1, 0x9e3779b1) ^ (i * 0x85ebca77);
  words[0] = stamp;
  return new Uint8Array(words.buffer);
}

function stateOf(files: ObjectFiles): State {
  const image = new Uint32Array(files.databaseBytes().buffer);
  const stamps: number[] = [];
  for (let at = 0; at < image.length; at += PAGE_BYTES / 4) stamps.push(image[at]!);
  return stamps;
}

class Run {
  readonly journal = new Journal();
  /** States by sequence, and the change from which each is guaranteed to survive. */
  readonly states = new Map<number, State>([[0, []]]);
  readonly promises: { readonly sequence: number; readonly changes: number }[] = [];
  readonly #environment = new TestEnvironment();
  readonly #options: Parameters<typeof ObjectFiles.open>[2];
  #files!: ObjectFiles;
  #stamp = 0;

  constructor(options: Parameters<typeof ObjectFiles.open>[2]) {
    this.#options = options;
  }

  async run(all: readonly Step[]): Promise<void> {
    await this.#open();
    for (const step of all) await this.#step(step);
    await this.journal.release();
    await this.#files.close();
  }

  async open(directory: FileDirectory): Promise<ObjectFiles> {
    return ObjectFiles.open(directory, this.#environment, this.#options);
  }

  async #open(): Promise<void> {
    this.#files = await this.open(this.journal);
  }

  async #step(step: Step): Promise<void> {
    const files = this.#files;
    const { file } = files;
    if (step.kind === 'commit' || step.kind === 'undone') {
      for (const page of step.pages) {
        const isWhole = step.kind === 'undone' || step.isWhole;
        file.write(pageOf(++this.#stamp, isWhole), page * PAGE_BYTES);
      }
      if (step.kind === 'undone') file.endRollback();
      else this.#commit();
    } else if (step.kind === 'shorten') {
      file.truncate(Math.min(file.sizeBytes(), step.pageCount * PAGE_BYTES));
      file.write(pageOf(++this.#stamp, true), 0);
      this.#commit();
    } else if (step.kind === 'flush' || step.kind === 'lateFlush') {
      this.journal.isLate = step.kind === 'lateFlush';
      const sequence = files.committedSequence;
      const promise = () => this.promises.push({ sequence, changes: this.journal.changes.length });
      const flushed = files.flush();
      if (flushed instanceof Promise) flushed.then(promise);
      else promise();
      this.journal.isLate = false;
    } else if (step.kind === 'checkpoint') {
      await this.journal.release();
      await files.checkpoint();
    } else if (step.kind === 'maintain') {
      await files.maintain();
    } else {
      await this.journal.release();
      await files.close();
      await this.#open();
      this.states.set(this.#files.committedSequence, stateOf(this.#files));
    }
  }

  #commit(): void {
    this.#files.file.commit();
    this.states.set(this.#files.committedSequence, stateOf(this.#files));
  }
}

const options = fc.record({
  segmentBytes: fc.constantFrom(1 << 13, 1 << 15, 8 << 20),
  spillBytes: fc.constantFrom(1 << 14, 4 << 20),
  checkpointOverlayBytes: fc.constantFrom(1 << 14, 4 << 20),
  checkpointLogBytes: fc.constantFrom(1 << 12, 1 << 18),
});

test('[LOG1] any prefix of any run opens to the state of one commit, not older than the last flush', {
  tags: 'long',
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      steps,
      options,
      fc.array(fc.tuple(fc.nat(), fc.nat(2 ** 31 - 1)), { minLength: 4, maxLength: 4 }),
      async (all, chosen, crashes) => {
        const run = new Run(chosen);
        await run.run(all);
        for (const [moment, seed] of crashes) {
          const count = moment % (run.journal.changes.length + 1);
          let state = seed;
          const fate = (below: number) => {
            state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
            return (state >>> 8) % below;
          };
          const survived = await run.journal.afterPowerLoss(count, fate);
          const files = await run.open(survived);
          const promised = run.promises
            .filter(({ changes }) => changes <= count)
            .map(({ sequence }) => sequence);
          expect(files.committedSequence).toBeGreaterThanOrEqual(Math.max(0, ...promised));
          expect(stateOf(files)).toEqual(run.states.get(files.committedSequence));
          await files.close();
        }
      },
    ),
    { numRuns: 150 },
  );
});

/** The bytes that are written to each file from now on, and zeros where nothing is. */
function writtenBytes(directory: MemoryDirectory): Map<string, Buffer> {
  const written = new Map<string, Buffer>();
  const open = MemoryDirectory.prototype.open.bind(directory);
  directory.open = async (name) => {
    const file = await open(name);
    const write = file.write.bind(file);
    file.write = (bytes, offset) => {
      const before = written.get(name) ?? Buffer.alloc(0);
      const all = Buffer.alloc(Math.max(before.length, offset + bytes.length));
      all.set(before);
      all.set(bytes, offset);
      written.set(name, all);
      write(bytes, offset);
    };
    return file;
  };
  return written;
}

test('[LOG25] after a call on the files has failed, the next opening writes all of the log and the slots again', async () => {
  const directory = new MemoryDirectory();
  const first = await openLog(directory, new TestEnvironment());
  for (const k of [1, 2]) put(first.db, k, noise(k, 700_000)); // more than is written at once
  await first.files.flush();
  await first.files.checkpoint();
  await first.close();
  const log = Buffer.from(await bytesOf(directory, 'log-00000001'));
  const end = log.findLastIndex((byte) => byte !== 0) + 1;
  const slots = Buffer.from(await bytesOf(directory, 'checkpoint')).subarray(0, 600);
  const written = writtenBytes(directory);
  const open = (hasFailed: boolean) =>
    openLog(directory, Object.assign(new TestEnvironment(), { hasFailed }));
  await (await open(false)).close();
  expect([...written.keys()]).toEqual([]);
  await (await open(true)).close();
  expect([...written.keys()].sort()).toEqual(['checkpoint', 'log-00000001']);
  expect(written.get('log-00000001')!.subarray(0, end).equals(log.subarray(0, end))).toBe(true);
  expect(written.get('checkpoint')!.subarray(0, 600).equals(slots)).toBe(true);
});
