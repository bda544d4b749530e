import { describe, expect, test, vi } from 'vitest';
import { CrashRows } from '../../../packages/testing/engine/crash-rows.ts';
import { Random } from '../../../packages/testing/simulate/world/random.ts';
import {
  allRows,
  noise,
  openLog,
  put,
  TestEnvironment,
} from '../../../packages/testing/worker/test-log.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { CHUNK_BYTES, type FileChange } from './file-rows.ts';
import { MemoryBudget } from './memory-budget.ts';
import { RowFiles } from './row-files.ts';

/** Rows that are stored when the test releases them, and the content of each transaction. */
class HeldRows extends CrashRows {
  readonly transactions: string[][] = [];
  failure: Error | null = null;
  #go: () => void = () => {};
  #held: Promise<void> | null = null;

  hold(): void {
    this.#held = new Promise((resolve) => {
      this.#go = resolve;
    });
  }

  release(): void {
    this.#held = null;
    this.#go();
  }

  override async save(changes: readonly FileChange[]): Promise<void> {
    this.transactions.push(changes.map(({ path }) => path.name));
    await this.#held;
    const isRefused = this.failure !== null && changes.some(({ path }) => path.name === 'large');
    if (isRefused) throw this.failure;
    await super.save(changes);
  }
}

const bytes = (...values: number[]) => new Uint8Array(values);

async function contentOf(files: RowFiles, name: string): Promise<number[]> {
  const file = await files.directory('o').open(name);
  const target = new Uint8Array(file.sizeBytes());
  file.read(target, 0);
  file.close();
  return [...target];
}

describe('flushes to rows', () => {
  test('[MEDIUM6] flushes made while a transaction runs share the next one', async () => {
    const rows = new HeldRows(new Random(1));
    const directory = new RowFiles(rows).directory('o');
    const files = await Promise.all(['a', 'b', 'c'].map((name) => directory.open(name)));
    rows.hold();
    const flushes = files.map((file, i) => {
      file.write(bytes(i), 0);
      return file.flush();
    });
    rows.release();
    await Promise.all(flushes);
    expect(rows.transactions).toEqual([['a'], ['b', 'c']]);
  });

  test('[MEDIUM6] a flush covers writes made before it while another one ran, and stores only changes', async () => {
    const rows = new HeldRows(new Random(1));
    const files = new RowFiles(rows);
    const file = await files.directory('o').open('a');
    file.write(bytes(1), 0);
    rows.hold();
    const first = file.flush();
    file.write(bytes(2), CHUNK_BYTES);
    const second = file.flush();
    rows.release();
    await Promise.all([first, second]);
    await file.flush();
    expect(rows.transactions).toEqual([['a'], ['a']]);
    const content = await contentOf(new RowFiles(rows.afterLoss()), 'a');
    expect(content).toEqual([1, ...Array(CHUNK_BYTES - 1).fill(0), 2]);
  });

  test('[MEDIUM6] a file that does not fit fails alone, and is stored by a later flush', async () => {
    const rows = new HeldRows(new Random(1));
    rows.failure = storageError('DISK_FULL', 'no room');
    const directory = new RowFiles(rows).directory('o');
    const [first, large, small] = await Promise.all(
      ['first', 'large', 'small'].map((name) => directory.open(name)),
    );
    rows.hold();
    const flushes = [first!, large!, small!].map((file) => {
      file.write(bytes(7), 0);
      return file.flush();
    });
    rows.release();
    const codes = await Promise.all(
      flushes.map((flush) =>
        Promise.resolve(flush).then(
          () => 'ok',
          (error) => error.code,
        ),
      ),
    );
    expect(codes).toEqual(['ok', 'DISK_FULL', 'ok']);
    rows.failure = null;
    await large!.flush();
    expect(await contentOf(new RowFiles(rows.afterLoss()), 'large')).toEqual([7]);
  });

  test('[MEDIUM6] a file that is closed before it is stored is opened with all its bytes', async () => {
    const rows = new HeldRows(new Random(1));
    const files = new RowFiles(rows);
    const file = await files.directory('o').open('a');
    file.write(bytes(1, 2), 0);
    rows.hold();
    const flushed = file.flush();
    file.write(bytes(3), 2);
    file.close();
    const again = contentOf(files, 'a');
    rows.release();
    await flushed;
    expect(await again).toEqual([1, 2, 3]);
    expect(await files.sizes('o')).toEqual(new Map([['a', 3]]));
  });

  test('[MEDIUM6] a cut that could not be stored is stored by the next flush', async () => {
    const rows = new HeldRows(new Random(1));
    const file = await new RowFiles(rows).directory('o').open('large');
    file.write(noise(1, 3 * CHUNK_BYTES), 0);
    await file.flush();
    rows.failure = storageError('DISK_FULL', 'no room');
    file.truncate(5);
    await expect(file.flush()).rejects.toMatchObject({ code: 'DISK_FULL' });
    rows.failure = null;
    await file.flush();
    const files = new RowFiles(rows.afterLoss());
    const again = await files.directory('o').open('large');
    again.truncate(3 * CHUNK_BYTES);
    again.close();
    const zeros = Array(3 * CHUNK_BYTES - 5).fill(0);
    expect(await contentOf(files, 'large')).toEqual([...noise(1, 5), ...zeros]);
  });

  test('[MEDIUM6] a file closed while its flush fails is opened as it was flushed last', async () => {
    const rows = new HeldRows(new Random(1));
    const files = new RowFiles(rows);
    const file = await files.directory('o').open('large');
    file.write(noise(1, 3 * CHUNK_BYTES), 0);
    await file.flush();
    rows.failure = storageError('DISK_FULL', 'no room');
    file.truncate(5);
    file.write(bytes(9), 2 * CHUNK_BYTES);
    const flushed = file.flush();
    file.close();
    await expect(flushed).rejects.toMatchObject({ code: 'DISK_FULL' });
    expect(await contentOf(files, 'large')).toEqual([...noise(1, 3 * CHUNK_BYTES)]);
  });
});

/** Rows of a disk that can be full: then neither bytes nor sizes are stored, while removals succeed. */
class FullRows extends CrashRows {
  isFull = false;
  override async save(changes: readonly FileChange[]): Promise<void> {
    const stores = ({ chunks, sizeBytes }: FileChange) =>
      sizeBytes !== null || chunks.some(([, bytes]) => bytes !== null);
    if (this.isFull && changes.some(stores)) throw storageError('DISK_FULL', 'no room');
    await super.save(changes);
  }
}

describe('full rows give the object that they refused', () => {
  const FAILED = { hasFailed: true };

  /** Makes an object with the row `1: kept` by `flushes` flushes, then fills the disk and has its next write refused. */
  async function refused(rows: FullRows, files: RowFiles, flushes: number): Promise<void> {
    const log = await openLog(files.directory('o'), new TestEnvironment());
    for (let i = 0; i < flushes; i++) {
      put(log.db, 1, i === flushes - 1 ? 'kept' : `earlier ${i}`);
      await log.files.flush();
    }
    rows.isFull = true;
    put(log.db, 2, noise(1, 20_000));
    await expect(log.files.flush()).rejects.toMatchObject({ code: 'DISK_FULL' });
    log.files.discardUnflushed();
    await log.close().catch(() => {});
  }

  // The first flush is followed by zeros written ahead of the log; the second flush stores them.
  test.each([1, 2, 3])(
    '[FULL4] after %i flushes, again and again, and takes writes once there is room',
    async (flushes) => {
      const rows = new FullRows(new Random(1));
      const files = new RowFiles(rows);
      await refused(rows, files, flushes);
      for (let opening = 0; opening < 2; opening++) {
        const environment = Object.assign(new TestEnvironment(), FAILED);
        const again = await openLog(files.directory('o'), environment);
        expect(allRows(again.db)).toEqual([[1, 'kept']]);
        expect(again.files.needsFlush).toBe(false);
        await again.close();
      }
      rows.isFull = false;
      const environment = Object.assign(new TestEnvironment(), FAILED);
      const last = await openLog(files.directory('o'), environment);
      put(last.db, 3, 'later');
      await last.files.flush();
      await last.close();
      const later = await openLog(new RowFiles(rows.afterLoss()).directory('o'));
      expect(allRows(later.db)).toEqual([
        [1, 'kept'],
        [3, 'later'],
      ]);
      await later.close();
    },
  );

  test('[FULL4] with parts of a transaction behind the end of its log, which the next write that is stored cuts off', async () => {
    const rows = new FullRows(new Random(1));
    const path = { key: 'o', name: 'log-00000001' };
    const options = { spillBytes: 8192 };
    const first = await openLog(new RowFiles(rows).directory('o'), new TestEnvironment(), options);
    for (let k = 0; k < 40; k++) put(first.db, k, noise(k, 4000));
    await first.files.flush();
    const before = await rows.chunkCount(path);
    put(first.db, 0, 'a');
    const flushes = [first.files.flush()];
    put(first.db, 0, 'kept');
    flushes.push(first.files.flush()); // stored by the IndexedDB transaction after the one of the first flush
    const kept = allRows(first.db) as unknown[];
    first.db.exec('PRAGMA cache_size = 1; BEGIN');
    for (let k = 1; k < 40; k++) put(first.db, k, noise(100 + k, 4000));
    await Promise.all(flushes);
    expect(await rows.chunkCount(path)).toBeGreaterThan(before + 10);

    rows.isFull = true;
    const again = await openLog(new RowFiles(rows).directory('o'));
    expect(allRows(again.db)).toEqual(kept);
    rows.isFull = false;
    put(again.db, 40, 'later');
    await again.files.flush();
    await again.close();
    const later = await openLog(new RowFiles(rows.afterLoss()).directory('o'));
    expect(allRows(later.db)).toEqual([...kept, [40, 'later']]);
    await later.close();
  });

  test('[FULL4] with its whole history, also where the newest slot of its checkpoints was lost', async () => {
    const rows = new FullRows(new Random(1));
    const options = { segmentBytes: 100_000, checkpointLogBytes: 50_000 };
    const all = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, before: null, limit: 1000 };
    const first = await openLog(new RowFiles(rows).directory('o'), new TestEnvironment(), options);
    for (let k = 0; k < 60; k++) {
      put(first.db, k % 5, noise(k, 4000));
      await first.files.flush();
      await first.files.maintain();
    }
    const commits = await first.files.listCommits(all);
    rows.isFull = true;
    const historyPruned = vi.fn();
    const environment = Object.assign(new TestEnvironment(), { historyPruned });
    const again = await openLog(new RowFiles(rows).directory('o'), environment, options);
    expect(await again.files.listCommits(all)).toEqual(commits);
    expect(historyPruned).not.toHaveBeenCalled();
    await again.close();
  });

  test('[FULL4] with branches that are kept', async () => {
    const rows = new FullRows(new Random(1));
    const files = new RowFiles(rows);
    const first = await openLog(files.directory('o'), new TestEnvironment());
    put(first.db, 1, 'kept');
    await first.files.flush();
    const facts = { createdMs: 1, sends: false, isLeaving: false, isStored: false };
    const bookmark = first.files.currentBookmark();
    await first.files.branches.add({ id: 'b', name: 'b', bookmark, ...facts });
    await first.close();
    rows.isFull = true;
    const again = await openLog(files.directory('o'), Object.assign(new TestEnvironment(), FAILED));
    expect(again.files.branches.list.map(({ id }) => id)).toEqual(['b']);
    expect(allRows(again.db)).toEqual([[1, 'kept']]);
    await again.close();
  });
});

test('[FILE1] a directory of which a file is open is not removed: IO; closed, it is, and no other one', async () => {
  const files = new RowFiles(new CrashRows(new Random(1)));
  for (const key of ['o', 'p']) {
    const file = await files.directory(key).open('a');
    file.write(bytes(1), 0);
    expect(await files.sizes(key)).toEqual(new Map([['a', 1]])); // the write was not flushed
    if (key === 'p') file.close();
    else {
      await expect(files.removeAll('o')).rejects.toMatchObject({ code: 'IO' });
      file.close();
    }
  }
  expect(await contentOf(files, 'a')).toEqual([1]);
  await files.removeAll('o');
  expect(await files.keys()).toEqual(['p']);
});

describe('files that lie in memory', () => {
  test('[MEDIUM5] a transaction beyond the bound of memory is MEMORY_FULL and undone; the object continues', async () => {
    const budget = new MemoryBudget(400_000);
    const rows = new CrashRows(new Random(1));
    const log = await openLog(new RowFiles(rows, budget).directory('o'), new TestEnvironment());
    put(log.db, 0, 'kept');
    await log.files.flush();
    let count = 0;
    const fill = () => {
      for (; count < 100; count++) put(log.db, count + 1, noise(count, 20_000));
    };
    expect(fill).toThrow(/full/);
    expect(count).toBeGreaterThan(3);
    expect(budget.usedBytes).toBeLessThanOrEqual(400_000);
    await log.files.flush();
    log.db.exec('DELETE FROM t WHERE k > 2');
    put(log.db, 0, 'changed');
    await log.files.flush();
    const rest = allRows(log.db);
    await log.close();
    const again = await openLog(new RowFiles(rows).directory('o'));
    expect(allRows(again.db)).toEqual(rest);
    await again.close();
    expect(budget.usedBytes).toBe(0);
  });

  test('[MEDIUM5] a file larger than the memory left is MEMORY_FULL before it is loaded, and opens once there is room', async () => {
    let loads = 0;
    class CountedRows extends CrashRows {
      override load(...parameters: Parameters<CrashRows['load']>): Promise<void> {
        loads++;
        return super.load(...parameters);
      }
    }
    const rows = new CountedRows(new Random(1));
    const file = await new RowFiles(rows).directory('o').open('a');
    file.write(noise(1, 10 * CHUNK_BYTES), 0);
    await file.flush();
    const budget = new MemoryBudget(10 * CHUNK_BYTES);
    const files = new RowFiles(rows, budget);
    const other = await files.directory('o').open('b');
    other.write(bytes(1), 0);
    const refused = files.directory('o').open('a');
    await expect(refused).rejects.toMatchObject({
      code: 'MEMORY_FULL',
      message: expect.stringContaining(String(10 * CHUNK_BYTES)),
    });
    expect([budget.usedBytes, loads]).toEqual([CHUNK_BYTES, 0]);
    other.close();
    expect(await contentOf(files, 'a')).toEqual([...noise(1, 10 * CHUNK_BYTES)]);
  });

  test('[MEDIUM5] a file that cannot be loaded gives its memory back', async () => {
    class UnreadableRows extends CrashRows {
      override load(): Promise<void> {
        return Promise.reject(storageError('IO', 'cannot be read'));
      }
    }
    const rows = new UnreadableRows(new Random(1));
    const budget = new MemoryBudget();
    const files = new RowFiles(rows, budget);
    const file = await files.directory('o').open('a');
    file.write(bytes(1), 0);
    await file.flush();
    file.close();
    await expect(files.directory('o').open('a')).rejects.toMatchObject({ code: 'IO' });
    expect(budget.usedBytes).toBe(0);
  });

  test('[MEDIUM5] zeros take neither memory nor rows', async () => {
    const rows = new CrashRows(new Random(1));
    const budget = new MemoryBudget();
    const files = new RowFiles(rows, budget);
    const file = await files.directory('o').open('a');
    file.write(new Uint8Array(1 << 20), 0);
    file.write(bytes(1), 5);
    expect(budget.usedBytes).toBe(CHUNK_BYTES);
    await file.flush();
    expect(await rows.chunkCount({ key: 'o', name: 'a' })).toBe(1);
    file.truncate(5);
    await file.flush();
    expect(await rows.chunkCount({ key: 'o', name: 'a' })).toBe(0);
    expect(file.sizeBytes()).toBe(5);
  });
});

test('[MEDIUM6] a content of any history reads like plain bytes, now and from its rows', async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = new Random(seed);
    const rows = new CrashRows(random);
    let files = new RowFiles(rows);
    let file = await files.directory('o').open('a');
    let model = new Uint8Array();
    for (let step = 0; step < 60; step++) {
      const offset = random.below(5 * CHUNK_BYTES);
      switch (random.below(6)) {
        case 0:
          file.truncate(offset);
          model = resized(model, offset);
          break;
        case 1:
          await file.flush();
          break;
        case 2:
          file.close();
          if (random.onceIn(2)) {
            await files.directory('o').names(); // when it is stored
            files = new RowFiles(rows);
          }
          file = await files.directory('o').open('a');
          break;
        default: {
          const length = random.below(2 * CHUNK_BYTES);
          const written = random.onceIn(3) ? new Uint8Array(length) : noise(step, length);
          file.write(written, offset);
          if (length > 0) model = resized(model, Math.max(model.length, offset + length));
          model.set(written, Math.min(offset, model.length));
        }
      }
      const target = new Uint8Array(file.sizeBytes()).fill(1);
      file.read(target, 0);
      expect(Buffer.from(target).equals(model), `seed ${seed}, step ${step}`).toBe(true);
    }
  }
});

function resized(model: Uint8Array, sizeBytes: number): Uint8Array<ArrayBuffer> {
  const next = new Uint8Array(sizeBytes);
  next.set(model.subarray(0, sizeBytes));
  return next;
}
