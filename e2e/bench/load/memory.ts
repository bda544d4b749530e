// npx tsx e2e/bench/load/memory.ts [--objects 16] [--values 200] [--idle 60]
//
// The memory of objects with full caches, and the memory they free when idle. Linux and Chromium. Fails when an
// object does not read its stored values.

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { startSite } from '../../break/torture/site.ts';
import { requireBrowser } from '../../browsers/browser.ts';
import { rendererIds } from '../../browsers/processes.ts';
import { Profile } from '../../browsers/profile.ts';
import type {} from './memory-page.ts';

const { values: options } = parseArgs({
  options: {
    objects: { type: 'string', default: '16' },
    values: { type: 'string', default: '200' },
    idle: { type: 'string', default: '60' },
  },
});
const objects = Number(options.objects);
const idleMs = Number(options.idle) * 1000;

const browser = requireBrowser('chromium');
const site = await startSite({
  page: 'e2e/bench/load/memory-page.ts',
  'objects-worker': 'e2e/bench/load/scale-worker.ts',
});
const profile = new Profile(browser);
try {
  const page = await (await profile.launch()).newPage();
  await page.goto(site.origin);
  await page.waitForFunction(() => 'memory' in window);
  await page.evaluate(() => window.memory.fill(1, 1));
  console.log(`${browser.version}, ${objects} objects of ${options.values} values of 100 kB`);
  tell('one small object open');
  await page.evaluate(([n, v]) => window.memory.fill(n, v), [
    objects,
    Number(options.values),
  ] as const);
  tell('all filled and read');
  await page.waitForTimeout(idleMs);
  tell(`idle for ${options.idle} s`);
  const sum = await page.evaluate((n) => window.memory.read(n), objects);
  if (sum !== objects) throw new Error(`The objects read ${sum}, not ${objects}.`);
  tell('one value of each read again');
} finally {
  await profile.remove();
  await site.close();
}

function tell(when: string): void {
  const bytes = rendererIds(profile.directory).reduce((sum, pid) => sum + ownBytes(pid), 0);
  console.log(`${when}: ${(bytes / 1e6).toFixed(0)} MB`);
}

/** Memory that the process does not share. */
function ownBytes(pid: number): number {
  const lines = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').matchAll(
    /^Private_.*?(\d+) kB/gm,
  );
  return [...lines].reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0);
}
