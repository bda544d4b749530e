// The numbers of branches, differences and reverts in Node, each beside its reference, in one run.
//
// Two sides of a ratio alternate call by call, so that a busy machine slows both.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { StorageHandle } from '../../src/shared/contract/storage.ts';
import { DurableObject } from '../../worker/realm/library/base-classes.ts';
import { createObjects } from '../../worker/start/entries/node-objects.ts';

const { values: options } = parseArgs({
  options: {
    megabytes: { type: 'string', default: '200' },
    rows: { type: 'string', default: '1000000' },
    commits: { type: 'string', default: '10000' },
    directory: { type: 'string', default: tmpdir() },
    only: { type: 'string', default: '' },
  },
});

class Box extends DurableObject {}

const directory = await mkdtemp(join(options.directory, 'branches-bench-'));
const objects = await createObjects({ Box }, { directory });
const open = (name: string) => objects.storage(objects.env.Box.getByName(name));

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function median(times: readonly number[]): number {
  return [...times].sort((a, b) => a - b)[times.length >> 1]!;
}

interface Row {
  readonly row: string;
  readonly ms: number;
  readonly reference?: number;
  readonly goal: string;
}

function show({ row, ms, reference, goal }: Row): void {
  const ratio = reference === undefined ? '' : `, ${(ms / reference).toFixed(2)} x`;
  const beside = reference === undefined ? '' : ` beside ${reference.toFixed(3)} ms`;
  console.log(`${row}: ${ms.toFixed(3)} ms${beside}${ratio} (goal ${goal})`);
}

/** The median of each of several works that alternate. */
async function alternated(count: number, works: (() => Promise<unknown>)[]): Promise<number[]> {
  const times = works.map((): number[] => []);
  for (let i = 0; i < count; i++) {
    for (const [which, work] of works.entries()) times[which]!.push(await timed(work));
  }
  return times.map(median);
}

async function filled(name: string, megabytes: number): Promise<StorageHandle> {
  const storage = await open(name);
  const value = new Uint8Array(100_000).fill(7);
  for (let i = 0; i < megabytes * 10; i += 50) {
    await storage.put(
      Object.fromEntries(Array.from({ length: 50 }, (_, j) => [`k${i + j}`, value])),
    );
  }
  return storage;
}

async function forksOfNow(megabytes: number): Promise<void> {
  const storage = await filled(`of ${megabytes} MB`, megabytes);
  let opened = 0;
  const [fork, other] = await alternated(30, [
    async () => (await storage.fork()).close(),
    async () => (await open(`new ${megabytes} ${opened++}`)).close(),
  ]);
  const row = `fork of now, ${megabytes} MB, beside the opening of a new object`;
  show({ row, ms: fork!, reference: other!, goal: '10 ms' });
}

const ROWS: Readonly<Record<string, () => Promise<void>>> = {
  'fork of 10 MB': () => forksOfNow(10),
  'fork of many MB': () => forksOfNow(Number(options.megabytes)),
  async 'fork of a moment'() {
    const storage = await open('moments');
    await storage.put('k', 0);
    const then = await storage.getCurrentBookmark();
    const commits = Number(options.commits);
    for (let i = 0; i < commits; i++) await storage.put(`k${i % 500}`, i);
    const [fork, at] = await alternated(7, [
      async () => (await storage.fork({ at: then })).close(),
      async () => (await storage.at(then)).close(),
    ]);
    const row = `fork of a moment ${commits} commits back`;
    show({ row, ms: fork!, reference: at!, goal: '1.2 x of at' });
  },
  async 'put on a branch'() {
    const storage = await open('puts');
    await storage.put('k', 0);
    const branch = await storage.fork();
    let i = 0;
    const [ofBranch, ofObject] = await alternated(400, [
      () => branch.put(`k${i % 50}`, i++),
      () => storage.put(`k${i % 50}`, i++),
    ]);
    show({ row: 'put on a branch', ms: ofBranch!, reference: ofObject!, goal: '1.2 x of a put' });
  },
  async 'put beside a branch'() {
    const [forked, plain] = [await open('forked'), await open('plain')];
    for (const storage of [forked, plain]) await storage.put('k', 0);
    const branch = await forked.fork();
    let i = 0;
    const [beside, alone] = await alternated(400, [
      () => forked.put(`k${i % 50}`, i++),
      () => plain.put(`k${i % 50}`, i++),
    ]);
    show({
      row: 'put of the origin, a branch open',
      ms: beside!,
      reference: alone!,
      goal: '1.1 x',
    });
    await branch.close();
  },
  async 'diff and revert'() {
    const storage = await open('rows');
    const count = Number(options.rows);
    await storage.sql.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)').ready;
    const fill = `WITH RECURSIVE n(i) AS (SELECT ? UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
      INSERT INTO t SELECT i, 'row ' || i FROM n`;
    for (let i = 0; i < count; i += 50_000) {
      await storage.sql.exec(fill, i, Math.min(count, i + 50_000)).ready;
    }
    const before = await storage.getCurrentBookmark();
    const change = () =>
      storage.sql.exec(`UPDATE t SET v = v || '.' WHERE id % ${count / 10} = 7`).ready;
    await change();
    const reverted: number[] = [];
    const compared: number[] = [];
    for (let i = 0; i < 9; i++) {
      let found = 0;
      compared.push(
        await timed(async () => {
          for await (const _ of storage.diff(before)) found++;
        }),
      );
      if (found !== 10) throw new Error(`The diff has ${found} rows, not 10.`);
      const last = await storage.getCurrentBookmark();
      reverted.push(await timed(() => storage.revert(last)));
      await change();
    }
    show({ row: `diff of 10 rows in ${count}`, ms: median(compared), goal: '20 ms' });
    show({ row: 'revert of a commit of 10 rows', ms: median(reverted), goal: '10 ms' });
  },
};

try {
  for (const [name, row] of Object.entries(ROWS)) if (name.includes(options.only)) await row();
} finally {
  await objects.close();
  await rm(directory, { recursive: true });
}
