// The storage's speed in a real browser, each number beside what it is measured against, in one run:
// the workloads beside native workerd, a commit beside a raw write and flush, puts in flight from a
// page beside the official OPFS VFS.
//
//   npm run bench [-- --rounds 5]
//   npm run bench -- --against HEAD~1 [--rounds 9] [--only calls]
//
// With `--against`, this version is compared with an earlier one instead (against.ts).
// Ratios are the result; times depend on the machine and its load.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Page } from '@playwright/test';
import { Log, LogLevel, Miniflare } from 'miniflare';
import { requireBrowser } from '../browsers/browser.ts';
import { Profile } from '../browsers/profile.ts';
import { startServer } from '../browsers/server.ts';
import { besideCommit } from './against.ts';
import workloads from './workloads.mjs';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    against: { type: 'string' },
    only: { type: 'string', default: '' },
  },
});
const rounds = Number(options.rounds);

if (options.against !== undefined) {
  await compare(options.against, options.only);
  process.exit();
}
const server = await startServer();
const profile = new Profile(requireBrowser('chromium'));
const persist = mkdtempSync(join(tmpdir(), 'ctx-storage-bench-'));
const workerd = startWorkerd(persist);
try {
  await profile.launch();
  const page = await profile.newPage();
  await page.goto(`${server.origin}/e2e/bench/page/index.html`);
  await page.waitForFunction(() => window.bench !== undefined);
  await besideWorkerd(page);
  await besideRawFile(page);
  await besideSahpool(page);
  await besideCopy(page);
} finally {
  await workerd.dispose();
  await profile.remove();
  await server.close();
  rmSync(persist, { recursive: true, force: true });
}

async function compare(commit: string, only: string): Promise<void> {
  const earlier = new Profile(requireBrowser('chromium'));
  try {
    await earlier.launch();
    const compared = await besideCommit(earlier, commit, rounds, only);
    const rows = compared.map(({ name, beforeMs, nowMs }) => [
      name,
      beforeMs.toFixed(2),
      nowMs.toFixed(2),
      (nowMs / beforeMs).toFixed(2),
    ]);
    table(['the fastest quarter of the rounds', `${commit}, ms`, 'now, ms', 'now / before'], rows);
  } finally {
    await earlier.remove();
  }
}

async function besideWorkerd(page: Page): Promise<void> {
  const rows: string[][] = [];
  for (const name of Object.keys(workloads)) {
    const ours: number[] = [];
    const theirs: number[] = [];
    let operations = 0;
    for (let round = 0; round <= rounds; round++) {
      const object = `${name} ${round}`;
      const request = { op: 'workload', name, object };
      const result = (await page.evaluate((r) => window.bench.ask('objects', r), request)) as {
        operations: number;
        elapsedMs: number;
      };
      const native = await runInWorkerd(name, object);
      operations = result.operations;
      if (round === 0) continue; // the first one warms both up
      ours.push(result.elapsedMs);
      theirs.push(native);
    }
    const [a, b] = [median(ours), median(theirs)];
    rows.push([
      name,
      perSecond(operations, a),
      perSecond(operations, b),
      `${(b / a).toFixed(2)} ×`,
    ]);
  }
  table(['workload', 'here, ops/s', 'workerd, ops/s', 'here / workerd'], rows);
}

async function besideRawFile(page: Page): Promise<void> {
  const request = { op: 'commits', count: 500 };
  const { commitMs, rawMs } = (await page.evaluate(
    (r) => window.bench.ask('objects', r),
    request,
  )) as { commitMs: number; rawMs: number };
  table(
    ['median, ms', 'put + sync', 'raw write + flush', 'ratio'],
    [['100-byte put', commitMs.toFixed(3), rawMs.toFixed(3), `${(commitMs / rawMs).toFixed(2)} ×`]],
  );
}

async function besideSahpool(page: Page): Promise<void> {
  const measures = {
    '1,000 puts in flight': {
      ours: () => page.evaluate(() => window.bench.putsInFlight(1000)),
      theirs: () => page.evaluate(() => window.bench.sahpoolPutsInFlight(1000)),
    },
    'select of 100 rows': {
      ours: () => page.evaluate(() => window.bench.selectedRows(100)),
      theirs: () => page.evaluate(() => window.bench.sahpoolSelectedRows(100)),
    },
    'select of 10,000 rows': {
      ours: () => page.evaluate(() => window.bench.selectedRows(10_000)),
      theirs: () => page.evaluate(() => window.bench.sahpoolSelectedRows(10_000)),
    },
  };
  const rows: string[][] = [];
  for (const [name, measure] of Object.entries(measures)) {
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let round = 0; round <= rounds; round++) {
      const here = await measure.ours();
      const pool = await measure.theirs();
      if (round === 0) continue;
      ours.push(here);
      theirs.push(pool);
    }
    const [a, b] = [median(ours), median(theirs)];
    rows.push([name, a.toFixed(1), b.toFixed(1), `${(b / a).toFixed(1)} ×`]);
  }
  table(['from a page', 'here, ms', 'opfs-sahpool, ms', 'ratio'], rows);
}

async function besideCopy(page: Page): Promise<void> {
  const request = { op: 'restore', entries: 95_000, commits: 10_000 };
  const { databaseBytes, restoreMs, copyMs } = (await page.evaluate(
    (r) => window.bench.ask('objects', r),
    request,
  )) as { databaseBytes: number; restoreMs: number; copyMs: number };
  table(
    ['database', 'restore of 10,000 commits, ms', 'copy of its file, ms', 'ratio'],
    [
      [
        `${(databaseBytes / 1e6).toFixed(0)} MB`,
        restoreMs.toFixed(0),
        copyMs.toFixed(0),
        `${(restoreMs / copyMs).toFixed(2)} ×`,
      ],
    ],
  );
}

function startWorkerd(directory: string): Miniflare {
  const main = `
    import { DurableObject } from 'cloudflare:workers';
    import { besideCommit } from './against.ts';
import workloads from './workloads.mjs';
    export class Bench extends DurableObject {
      async setup(name) { await workloads[name].setup?.(this.ctx); }
      run(name) { return workloads[name].run(this.ctx); }
    }
    export default {
      async fetch(request, env) {
        const { step, name, object } = await request.json();
        return Response.json((await env.BENCH.getByName(object)[step](name)) ?? null);
      },
    };`;
  const path = join(import.meta.dirname, 'workloads.mjs');
  return new Miniflare({
    compatibilityDate: '2026-07-30',
    log: new Log(LogLevel.NONE),
    modules: [
      { type: 'ESModule', path: 'main.mjs', contents: main },
      { type: 'ESModule', path: 'workloads.mjs', contents: readFileSync(path, 'utf8') },
    ],
    modulesRoot: '/',
    durableObjectsPersist: directory,
    durableObjects: { BENCH: { className: 'Bench', useSQLite: true } },
  });
}

/** Milliseconds of one run. workerd's own clock stands still while code runs. */
async function runInWorkerd(name: string, object: string): Promise<number> {
  const call = async (step: 'setup' | 'run') => {
    const body = JSON.stringify({ step, name, object });
    const response = await workerd.dispatchFetch('http://bench/', { method: 'POST', body });
    if (!response.ok) throw new Error(await response.text());
    await response.text();
  };
  await call('setup');
  const startMs = performance.now();
  await call('run');
  return performance.now() - startMs;
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

function perSecond(operations: number, elapsedMs: number): string {
  return Math.round((operations / elapsedMs) * 1000).toLocaleString('en');
}

function table(head: string[], rows: string[][]): void {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`;
  console.log([line(head), line(head.map(() => '---')), ...rows.map(line), ''].join('\n'));
}
