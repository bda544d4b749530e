// The second visit of a page that shows 200 rows: milliseconds from the navigation until they are there, of an early
// handle, of a handle that waits, and of idb, in alternation.
//
//   npx tsx e2e/bench/shown.ts [-- --rounds 7]

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { median } from '../../demo/bench/median.ts';
import { requireBrowser } from '../browsers/browser.ts';
import { Profile } from '../browsers/profile.ts';
import { REPOSITORY } from '../browsers/server.ts';
import { forBrowsers } from '../package/package-bundle.ts';
import { PEER_HTML, type PeerFiles, servePeers } from './peers/peer-site.ts';

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '7' } } });
const rounds = Number(options.rounds);

/** The pages, and the state of the rows that counts. */
const WAYS = [
  ['early handle, kept rows', 'ours/', 'stale'],
  ['early handle, rows of the worker', 'ours/', 'ready'],
  ['handle that waits', 'ours/?awaited', 'ready'],
  ['idb', 'idb/', 'ready'],
] as const;

const profile = new Profile(requireBrowser('chromium'));
const site = await servePeers(await files());
try {
  await profile.launch();
  const paths = [...new Set(WAYS.map(([, path]) => path))];
  for (const path of paths) await visit(path, true);
  const times = new Map<string, number[]>(WAYS.map(([name]) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const path of paths) {
      const shown = await visit(path, false);
      for (const [name, own, status] of WAYS) {
        if (own === path && shown[status] !== undefined) times.get(name)!.push(shown[status]);
      }
    }
  }
  const medians = new Map([...times].map(([name, all]) => [name, median(all)]));
  console.log(
    '\n| second visit, 200 rows shown | ms | all | ratio to idb |\n| --- | --- | --- | --- |',
  );
  for (const [name, ms] of medians) {
    const all = times
      .get(name)!
      .map((each) => each.toFixed(0))
      .join(', ');
    console.log(
      `| ${name} | ${ms.toFixed(0)} | ${all} | ${(ms / medians.get('idb')!).toFixed(2)} |`,
    );
  }
} finally {
  await profile.remove();
  await site.close();
}

async function visit(path: string, isFirst: boolean): Promise<Record<string, number>> {
  const page = await profile.newPage();
  page.on('pageerror', (error) => console.error(String(error)));
  await page.goto(`${site.origin}/${path}`);
  await page.waitForFunction(() => window.shownMs?.ready !== undefined);
  // Kept results are written 300 ms later, and the files of a closed page are released a moment later.
  if (isFirst) await page.waitForTimeout(1500);
  const shown = await page.evaluate(() => window.shownMs!);
  await page.close();
  await new Promise((resolve) => setTimeout(resolve, 800));
  return shown;
}

async function files(): Promise<PeerFiles> {
  const found = new Map<string, string | Buffer>();
  const sources = {
    ours: {
      page: 'e2e/bench/peers/early-ours.page.ts',
      worker: 'worker/start/entries/storage-worker.ts',
    },
    idb: { page: 'e2e/bench/peers/early-idb.page.ts' },
  };
  for (const [kit, scripts] of Object.entries(sources)) {
    found.set(`/${kit}/`, PEER_HTML);
    for (const [name, path] of Object.entries(scripts)) {
      const { outputFiles } = await build({
        ...forBrowsers,
        splitting: true,
        sourcemap: false,
        absWorkingDir: REPOSITORY,
        write: false,
        outdir: 'out',
        entryPoints: { [name]: path },
      });
      for (const { path: file, contents } of outputFiles) {
        found.set(`/${kit}/${file.slice(file.lastIndexOf('/') + 1)}`, Buffer.from(contents));
      }
    }
  }
  const wasm = readFileSync(join(REPOSITORY, 'worker/engine/vfs/sqlite3.wasm'));
  return found.set('/ours/sqlite3.wasm', wasm);
}
