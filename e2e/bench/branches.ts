// The numbers of branches, differences and reverts in Node, each beside its reference, in one run.
//
// Two sides of a ratio alternate call by call, so that a busy machine slows both. `--megabytes 1024` forks an object of
// 1 GB, which takes minutes to fill; `--only puts` runs the rows whose name has this text.

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

/** The time of one call: as it passes, and of the processor. */
interface Time {
  readonly wallMs: number;
  readonly cpuMs: number;
}

/** The times of several calls. */
interface Times {
  readonly median: Time;
  readonly least: Time;
}

async function timed(work: () => Promise<unknown>): Promise<Time> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await work();
  const wallMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return { wallMs, cpuMs: (user + system) / 1000 };
}

function timesOf(times: readonly Time[]): Times {
  const sorted = (of: (time: Time) => number) => times.map(of).sort((a, b) => a - b);
  const [wall, cpu] = [sorted(({ wallMs }) => wallMs), sorted(({ cpuMs }) => cpuMs)];
  const at = (i: number) => ({ wallMs: wall[i]!, cpuMs: cpu[i]! });
  return { median: at(times.length >> 1), least: at(0) };
}

interface Row {
  readonly row: string;
  readonly times: Times;
  readonly reference?: Times;
  readonly goal: string;
}

/** The goal is of the median. The least time and that of the processor say more on a busy machine. */
function show({ row, times, reference, goal }: Row): void {
  const beside = (of: (times: Times) => number) => {
    const ms = of(times);
    if (reference === undefined) return `${ms.toFixed(3)} ms`;
    const other = of(reference);
    return `${ms.toFixed(3)} beside ${other.toFixed(3)} ms, ${(ms / other).toFixed(2)} x`;
  };
  console.log(`${row} (goal ${goal})`);
  console.log(`  median ${beside(({ median }) => median.wallMs)}`);
  console.log(`  least ${beside(({ least }) => least.wallMs)}`);
  console.log(`  processor, median ${beside(({ median }) => median.cpuMs)}`);
}

/** The times of several works that alternate. */
async function alternated(count: number, works: (() => Promise<unknown>)[]): Promise<Times[]> {
  const times = works.map((): Time[] => []);
  for (let i = 0; i < count; i++) {
    for (const [which, work] of works.entries()) times[which]!.push(await timed(work));
  }
  return times.map(timesOf);
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
  show({ row, times: fork!, reference: other!, goal: '10 ms' });
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
    const [fork, at] = await alternated(21, [
      async () => (await storage.fork({ at: then })).close(),
      async () => (await storage.at(then)).close(),
    ]);
    const row = `fork of a moment ${commits} commits back, beside at`;
    show({ row, times: fork!, reference: at!, goal: '1.2 x' });
  },
  async puts() {
    const names = ['plain', 'forked', 'keeping'];
    const [plain, forked, keeping] = (await Promise.all(names.map(open))) as [
      StorageHandle,
      StorageHandle,
      StorageHandle,
    ];
    for (const storage of [plain, forked, keeping]) await storage.put('k', 0);
    const branch = await forked.fork();
    const kept = await keeping.fork({ name: 'kept', keep: true });
    let i = 0;
    const put = (handle: StorageHandle) => () => handle.put(`k${i % 50}`, i++);
    const [reference, ...times] = await alternated(400, [plain, branch, kept, forked].map(put));
    const rows = ['put on a branch', 'put on a kept branch', 'put of the origin, a branch open'];
    for (const [which, row] of rows.entries()) {
      const goal = which === 2 ? '1.1 x' : '1.2 x';
      show({ row: `${row}, beside a put`, times: times[which]!, reference: reference!, goal });
    }
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
    const compare = async () => {
      let found = 0;
      for await (const _ of storage.diff(before)) found++;
      if (found !== 10) throw new Error(`The diff has ${found} rows, not 10.`);
    };
    const reverted: Time[] = [];
    const compared: Time[] = [];
    for (let i = 0; i < 21; i++) {
      await change();
      compared.push(await timed(compare));
      const last = await storage.getCurrentBookmark();
      reverted.push(await timed(() => storage.revert(last)));
    }
    show({ row: `diff of 10 rows in ${count}`, times: timesOf(compared), goal: '20 ms' });
    show({ row: 'revert of a commit of 10 rows', times: timesOf(reverted), goal: '10 ms' });
  },
};

try {
  for (const [name, row] of Object.entries(ROWS)) if (name.includes(options.only)) await row();
} finally {
  await objects.close();
  await rm(directory, { recursive: true });
}
