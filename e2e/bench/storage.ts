// The storage's speed in a real browser, each number with its reference, in one run: every operation against peers and its
// least possible cost, workloads against native workerd, a restore beside a copy.
//
//   npm run bench [-- --rounds 5] [--only 'put'] [--json FILE]
//   npm run bench -- --against HEAD~1 [--rounds 9] [--only calls]
//
// `--only` selects rows by a part of their names ("page: get", "visit", "slow visit", "workerd", "restore"). With `--against`,
// this version is compared with an earlier one instead (against.ts). Ratios are the result; times depend on the
// machine and its load.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Page } from '@playwright/test';
import { Log, LogLevel, Miniflare } from 'miniflare';
import { median } from '../../demo/bench/median.ts';
import { inUnits, peerRow } from '../../demo/bench/peer-row.ts';
import { ROWS } from '../../demo/bench/rows.ts';
import { requireBrowser } from '../browsers/browser.ts';
import { Profile } from '../browsers/profile.ts';
import { startServer } from '../browsers/server.ts';
import { besideCommit } from './against.ts';
import { CONTENDERS } from './peers/contenders.ts';
import { measureRows, measureSlowVisits, measureVisits, peerFiles } from './peers/peer-rounds.ts';
import { peerTables } from './peers/peer-table.ts';
import workloads from './workloads.mjs';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    against: { type: 'string' },
    only: { type: 'string', default: '' },
    json: { type: 'string' },
  },
});
const rounds = Number(options.rounds);
const isWanted = (name: string) => name.includes(options.only);

if (options.against !== undefined) {
  await compare(options.against, options.only);
  process.exit();
}
/** The content of the file of `--json`: the rows of each table. */
const results: Record<string, unknown> = {};
await besidePeers();
await besideOthers();
if (options.json !== undefined) writeFileSync(options.json, JSON.stringify(results, null, 1));

async function besidePeers(): Promise<void> {
  const wanted = ROWS.flatMap((row) =>
    row.places
      .filter((place) => isWanted(`${place}: ${row.name}`))
      .map((place) => [row, place] as const),
  );
  const wantsVisits = isWanted('visit');
  const wantsSlowVisits = isWanted('slow visit');
  if (wanted.length === 0 && !wantsVisits && !wantsSlowVisits) return;
  const profile = new Profile(requireBrowser('chromium'));
  try {
    await profile.launch();
    const files = await peerFiles();
    const measured = [
      ...(wanted.length > 0 ? await measureRows(profile, files, wanted, rounds) : []),
      ...(wantsVisits ? await measureVisits(profile, files, rounds) : []),
      ...(wantsSlowVisits ? [await measureSlowVisits(profile, files, rounds)] : []),
    ];
    const rows = measured.map((row) => peerRow(row, CONTENDERS));
    results.peers = rows;
    for (const [head, ...lines] of peerTables(rows)) table(head!, lines);
  } finally {
    await profile.remove();
  }
}

/** Workloads against workerd, and a restore. */
async function besideOthers(): Promise<void> {
  const names = Object.keys(workloads).filter((name) => isWanted(`workerd: ${name}`));
  if (names.length === 0 && !isWanted('restore')) return;
  const server = await startServer();
  const profile = new Profile(requireBrowser('chromium'));
  try {
    await profile.launch();
    const page = await profile.newPage();
    await page.goto(`${server.origin}/e2e/bench/page/index.html`);
    await page.waitForFunction(() => window.bench !== undefined);
    if (names.length > 0) await besideWorkerd(page, names);
    if (isWanted('restore')) await besideCopy(page);
  } finally {
    await profile.remove();
    await server.close();
  }
}

async function compare(commit: string, only: string): Promise<void> {
  const earlier = new Profile(requireBrowser('chromium'));
  try {
    await earlier.launch();
    const compared = await besideCommit(earlier, commit, rounds, only);
    const rows = compared.map(({ name, before, now }) => [
      name,
      inUnits(before),
      inUnits(now),
      (now / before).toFixed(2),
    ]);
    table(['the fastest quarter of the rounds', commit, 'now', 'now / before'], rows);
  } finally {
    await earlier.remove();
  }
}

async function besideWorkerd(page: Page, names: readonly string[]): Promise<void> {
  const persist = mkdtempSync(join(tmpdir(), 'ctx-storage-bench-'));
  const workerd = startWorkerd(persist);
  try {
    await inAlternation(page, workerd, names);
  } finally {
    await workerd.dispose();
    rmSync(persist, { recursive: true, force: true });
  }
}

async function inAlternation(page: Page, workerd: Miniflare, names: readonly string[]) {
  const rows: string[][] = [];
  const times: Record<string, { ours: number; theirs: number }> = {};
  for (const name of names) {
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
      const native = await runInWorkerd(workerd, name, object);
      operations = result.operations;
      if (round === 0) continue; // the first one warms both up
      ours.push(result.elapsedMs);
      theirs.push(native);
    }
    const [a, b] = [median(ours), median(theirs)];
    times[name] = { ours: a, theirs: b };
    rows.push([
      name,
      perSecond(operations, a),
      perSecond(operations, b),
      `${(b / a).toFixed(2)} ×`,
    ]);
  }
  results.workerd = times;
  table(['workload', 'here, ops/s', 'workerd, ops/s', 'here / workerd'], rows);
}

async function besideCopy(page: Page): Promise<void> {
  const request = { op: 'restore', entries: 95_000, commits: 10_000 };
  const restore = (await page.evaluate((r) => window.bench.ask('objects', r), request)) as {
    databaseBytes: number;
    restoreMs: number;
    writeMs: number;
    copyMs: number;
  };
  results.restore = restore;
  const { databaseBytes, restoreMs, writeMs, copyMs } = restore;
  table(
    [
      'database',
      'restore of 10,000 commits, ms',
      'first write, ms',
      'copy of its file, ms',
      'ratio',
    ],
    [
      [
        `${(databaseBytes / 1e6).toFixed(0)} MB`,
        restoreMs.toFixed(0),
        writeMs.toFixed(0),
        copyMs.toFixed(0),
        `${(restoreMs / copyMs).toFixed(2)} ×`,
      ],
    ],
  );
}

function startWorkerd(directory: string): Miniflare {
  const main = `
    import { DurableObject } from 'cloudflare:workers';
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
async function runInWorkerd(workerd: Miniflare, name: string, object: string): Promise<number> {
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

function perSecond(operations: number, elapsedMs: number): string {
  return Math.round((operations / elapsedMs) * 1000).toLocaleString('en');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  console.log([line(head), line(head.map(() => '---')), ...rows.map(line), ''].join('\n'));
}
