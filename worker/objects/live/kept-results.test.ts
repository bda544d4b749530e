// What a worker keeps for the next visit, over rows in memory, with time that the test moves.

import { beforeEach, expect, test } from 'vitest';
import { idOfStorage } from '../../../src/shared/contract/object-id.ts';
import { excess, type KeptChange, keptKey } from '../../../src/shared/live/kept-database.ts';
import { KeptResults, type KeptRows } from './kept-results.ts';

const NOTES = { className: null, id: idOfStorage('notes') };
const OTHER = { className: null, id: idOfStorage('other') };
const READ = { read: 'SELECT 1', isPrivate: false };
const found = (byte: number, byteCount = 1) => ({
  bytes: new Uint8Array(byteCount).fill(byte),
  schema: 1,
});

/** Ranges are compared by their first key here. */
(globalThis as { IDBKeyRange?: unknown }).IDBKeyRange ??= {
  bound: (lower: unknown[]) => ({ lower }),
};

class FakeRows implements KeptRows {
  readonly stored = new Map<string, KeptChange>();
  readonly seen: string[] = [];
  isClosed = false;
  /** Thrown by the next steps. */
  failure: Error | undefined;
  #gate: Promise<void> = Promise.resolve();

  /** The steps from now on wait for the result. */
  hold(): () => void {
    let release = () => {};
    this.#gate = new Promise((resolve) => {
      release = resolve;
    });
    return release;
  }

  async keep(changes: readonly KeptChange[]): Promise<void> {
    await this.#step(`keep ${changes.length}`);
    for (const change of changes) {
      if (change.bytes === null) this.stored.delete(JSON.stringify(change.key));
      else this.stored.set(JSON.stringify(change.key), change);
    }
  }

  async drop({ lower }: IDBKeyRange): Promise<void> {
    await this.#step('drop');
    for (const [text, { key }] of this.stored) {
      if (key[2] === (lower as unknown[])[2]) this.stored.delete(text);
    }
  }

  close(): void {
    this.isClosed = true;
  }

  async #step(name: string): Promise<void> {
    this.seen.push(name);
    await this.#gate;
    if (this.failure !== undefined) throw this.failure;
  }
}

let rows: FakeRows;
let opened: boolean[];
let timers: (() => void)[];
let failures: unknown[];
let kept: KeptResults;

beforeEach(() => {
  rows = new FakeRows();
  opened = [];
  timers = [];
  failures = [];
  kept = new KeptResults({
    directory: 'app',
    open: async (isMade) => {
      opened.push(isMade);
      rows.isClosed = false;
      return rows;
    },
    now: () => 1000,
    after(delayMs, task) {
      expect(delayMs).toBe(300);
      timers.push(task);
    },
    failed: (address) => failures.push(address),
  });
});

const keep = (address: typeof NOTES, byte: number) =>
  kept.keep(address, kept.era(address), READ, found(byte));
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
const pass = async () => {
  for (const task of timers.splice(0)) task();
  await settled();
};
const bytes = () => [...rows.stored.values()].map(({ bytes }) => bytes![0]);

test('[LIVE26] all results of 300 ms are written in one transaction, the last one of each read', async () => {
  keep(NOTES, 1);
  keep(NOTES, 2);
  keep(OTHER, 3);
  expect([timers.length, opened]).toEqual([1, []]);
  await pass();
  expect(rows.seen).toEqual(['keep 2']);
  expect(bytes()).toEqual([2, 3]);
  keep(NOTES, 4);
  await pass();
  expect(opened).toEqual([true]);
  expect(bytes()).toEqual([4, 3]);
});

test('[LIVE20] a result that was read before its object was emptied is not kept after', async () => {
  const era = kept.era(NOTES);
  keep(NOTES, 1);
  keep(OTHER, 2);
  const dropped = kept.drop(NOTES);
  kept.keep(NOTES, era, READ, found(3)); // published late
  await dropped;
  await pass();
  expect(bytes()).toEqual([2]);
  keep(NOTES, 4);
  await pass();
  expect(bytes()).toEqual([2, 4]);
});

test('[LIVE20] a result that is being written when its object is emptied is deleted after', async () => {
  keep(NOTES, 1);
  const release = rows.hold();
  await pass();
  expect(rows.seen).toEqual(['keep 1']);
  let isDropped = false;
  const dropped = kept.drop(NOTES).then(() => {
    isDropped = true;
  });
  await settled();
  expect(isDropped).toBe(false);
  release();
  await dropped;
  expect([rows.seen, bytes()]).toEqual([['keep 1', 'drop'], []]);
});

test('[LIVE20] a deletion that fails is told, tried again, and nothing of the object is kept before', async () => {
  keep(NOTES, 1);
  await pass();
  rows.failure = new Error('disk');
  await kept.drop(NOTES);
  expect(failures).toEqual([NOTES]);
  keep(NOTES, 2);
  keep(OTHER, 3);
  await pass();
  expect(bytes()).toEqual([1]);
  expect(failures).toEqual([NOTES, NOTES, OTHER]);
  rows.failure = undefined;
  keep(NOTES, 4);
  await pass();
  expect(bytes()).toEqual([4]);
});

test('[LIVE25] a read that fails, or whose result is too large, deletes what was kept of it', async () => {
  for (const result of [undefined, found(2, 512 * 1024 + 1)]) {
    keep(NOTES, 1);
    await pass();
    expect(bytes()).toEqual([1]);
    kept.keep(NOTES, kept.era(NOTES), READ, result);
    await pass();
    expect(bytes()).toEqual([]);
  }
  kept.keep(NOTES, kept.era(NOTES), READ, found(2, 512 * 1024));
  await pass();
  expect(bytes()).toEqual([2]);
});

test('[LIVE22] a private read deletes what was kept of it, and makes no database', async () => {
  kept.keep(NOTES, kept.era(NOTES), { ...READ, isPrivate: true }, found(1));
  await pass();
  expect(opened).toEqual([false]);
  expect(bytes()).toEqual([]);
});

test('[LIVE23] a quota that is used up is told, and the next result is written', async () => {
  rows.failure = new DOMException('full', 'QuotaExceededError');
  keep(NOTES, 1);
  await pass();
  expect(failures).toEqual([NOTES]);
  rows.failure = undefined;
  keep(NOTES, 2);
  await pass();
  expect([bytes(), failures.length]).toEqual([[2], 1]);
});

test('[LIVE24] a database that was deleted is opened again', async () => {
  keep(NOTES, 1);
  await pass();
  rows.isClosed = true;
  rows.stored.clear();
  keep(NOTES, 2);
  await pass();
  expect([opened, bytes()]).toEqual([[true, true], [2]]);
});

test('[LIVE26] the results of a worker that ends in order are written', async () => {
  keep(NOTES, 1);
  await kept.close();
  expect([bytes(), rows.isClosed]).toEqual([[1], true]);
});

test('[LIVE26] beyond 100 results, 8 MiB or 30 days, the least recently kept are deleted', () => {
  const fact = (n: number, keptMs: number, byteCount = 10) =>
    [keptKey('app', 'o', undefined, `read ${n}`), { bytes: byteCount, keptMs, schema: 1 }] as const;
  const many = Array.from({ length: 102 }, (_, i) => fact(i, i));
  expect(excess(many, 1000).map(([, , , , read]) => read)).toEqual(['read 1', 'read 0']);
  const large = [fact(1, 1, 8 * 1024 * 1024 - 1), fact(2, 2, 1), fact(3, 3, 1)];
  expect(excess(large, 1000).map(([, , , , read]) => read)).toEqual(['read 1']);
  const ageMs = 30 * 24 * 60 * 60 * 1000;
  const now = ageMs + 5;
  const old = [fact(1, 4), fact(2, 5), fact(3, now), fact(4, 2 * now + ageMs)];
  expect(excess(old, now).map(([, , , , read]) => read)).toEqual(['read 4', 'read 1']);
});
