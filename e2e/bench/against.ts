// This version of the package compared with an earlier one, in one browser, in alternation: the gain of a
// change.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { linkModules } from '../../packages/testing/worker/linked-modules.ts';
import type { Profile } from '../browsers/profile.ts';
import { REPOSITORY } from '../browsers/server.ts';
import type { StaticSite } from '../browsers/static-site.ts';
import { bundlePeers, servePeers } from './peers/peer-site.ts';

/** The folders of the measuring code, without the measured code. */
const MEASURING = ['demo/bench', 'e2e/bench/against', 'e2e/bench/peers'];
/** The name of the kit of measures, among the kits of contenders. */
const KIT = 'versions';

export interface Compared {
  readonly name: string;
  /** Microseconds. */
  readonly before: number;
  readonly now: number;
}

/** Runs the measures whose name contains `only`, in alternation. */
export async function besideCommit(
  profile: Profile,
  commit: string,
  rounds: number,
  only: string,
): Promise<Compared[]> {
  const earlier = checkOut(commit);
  const sites: StaticSite[] = [];
  try {
    const pages: Page[] = [];
    for (const root of [earlier, REPOSITORY]) {
      const site = await servePeers(await bundlePeers([KIT], root));
      sites.push(site);
      const page = await profile.newPage();
      await page.goto(`${site.origin}/${KIT}/`);
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
      const time = await pages[side].evaluate((n) => window.measure(n), name);
      if (round > 0) times[side].push(time); // the first one warms both up
    }
  }
  return { name, before: lowest(times[0]), now: lowest(times[1]) };
}

/** A version in a folder of its own, except the folders that measure it, which are this version's. */
export function checkOut(commit: string): string {
  const directory = join(mkdtempSync(join(tmpdir(), 'ctx-storage-against-')), 'tree');
  execFileSync('git', ['worktree', 'add', '--detach', directory, commit], {
    cwd: REPOSITORY,
    stdio: 'pipe',
  });
  linkModules(REPOSITORY, directory);
  execFileSync('npx', ['tsx', 'worker/engine/vfs/build/write-wasm.ts'], {
    cwd: directory,
    stdio: 'pipe',
  });
  // Both versions are measured by the same code.
  for (const folder of MEASURING) {
    cpSync(join(REPOSITORY, folder), join(directory, folder), { recursive: true });
  }
  return directory;
}

export function removeCheckout(directory: string): void {
  rmSync(join(directory, '..'), { recursive: true, force: true });
  execFileSync('git', ['worktree', 'prune'], { cwd: REPOSITORY });
}

/** The time that a quarter of the rounds stay below: load of other programs only adds to it. */
function lowest(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 4)]!;
}
