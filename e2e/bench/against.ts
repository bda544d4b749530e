// This version of the package compared with an earlier one, in one browser, in alternation: the gain of a
// change.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { build } from 'esbuild';
import type { Profile } from '../browsers/profile.ts';
import { REPOSITORY } from '../browsers/server.ts';
import { type StaticSite, serveStatic } from '../browsers/static-site.ts';
import { forBrowsers } from '../package/package-bundle.ts';

const MEASURES = 'e2e/bench/against';
const WASM = 'worker/engine/vfs/sqlite3.wasm';
const HTML = '<!doctype html><meta charset="utf-8"><script type="module" src="page.js"></script>';

export interface Compared {
  readonly name: string;
  readonly beforeMs: number;
  readonly nowMs: number;
}

/** Runs the measures whose name contains `only`, in alternation. */
export async function besideCommit(
  profile: Profile,
  commit: string,
  rounds: number,
  only: string,
): Promise<Compared[]> {
  const earlier = checkOut(commit, MEASURES);
  const sites: StaticSite[] = [];
  try {
    const pages: Page[] = [];
    for (const root of [earlier, REPOSITORY]) {
      const site = await serveBundle(root);
      sites.push(site);
      const page = await profile.newPage();
      await page.goto(`${site.origin}/`);
      await page.waitForFunction(() => window.measures !== undefined);
      pages.push(page);
    }
    const names = await pages[1]!.evaluate(() => window.measures);
    const compared: Compared[] = [];
    for (const name of names.filter((name) => name.includes(only))) {
      compared.push(await alternate(name, pages as [Page, Page], rounds));
    }
    return compared;
  } finally {
    for (const site of sites) await site.close();
    removeCheckout(earlier);
  }
}

async function alternate(name: string, pages: readonly [Page, Page], rounds: number) {
  const times: [number[], number[]] = [[], []];
  for (let round = 0; round <= rounds; round++) {
    // Each goes first in every other round.
    for (const side of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const elapsedMs = await pages[side].evaluate((n) => window.measure(n), name);
      if (round > 0) times[side].push(elapsedMs); // the first one warms both up
    }
  }
  return { name, beforeMs: lowest(times[0]), nowMs: lowest(times[1]) };
}

/** A version in a folder of its own, except the folder that measures it, which is this version's. */
export function checkOut(commit: string, measures: string): string {
  const directory = join(mkdtempSync(join(tmpdir(), 'ctx-storage-against-')), 'tree');
  execFileSync('git', ['worktree', 'add', '--detach', directory, commit], {
    cwd: REPOSITORY,
    stdio: 'pipe',
  });
  symlinkSync(join(REPOSITORY, 'node_modules'), join(directory, 'node_modules'));
  execFileSync('npx', ['tsx', 'worker/engine/vfs/build/write-wasm.ts'], {
    cwd: directory,
    stdio: 'pipe',
  });
  // Both are measured by the same code.
  cpSync(join(REPOSITORY, measures), join(directory, measures), { recursive: true });
  return directory;
}

export function removeCheckout(directory: string): void {
  rmSync(join(directory, '..'), { recursive: true, force: true });
  execFileSync('git', ['worktree', 'prune'], { cwd: REPOSITORY });
}

/** A version's measures and their worker, built as the package is. */
async function serveBundle(root: string): Promise<StaticSite> {
  const { outputFiles } = await build({
    ...forBrowsers,
    sourcemap: false,
    absWorkingDir: root,
    write: false,
    outdir: 'out',
    entryPoints: {
      page: `${MEASURES}/measures.ts`,
      worker: `${MEASURES}/bench.worker.ts`,
    },
  });
  const files = new Map(outputFiles.map(({ path, text }) => [path.split('/').at(-1), text]));
  const wasm = readFileSync(join(root, WASM));
  return serveStatic((path) => {
    if (path === '/') return HTML;
    if (path === '/sqlite3.wasm') return wasm;
    const text = files.get(path.slice(1));
    if (text === undefined) throw new Error(`not found: ${path}`);
    return text;
  });
}

/** The time that a quarter of the rounds stay below: load of other programs only adds to it. */
function lowest(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 4)]!;
}
