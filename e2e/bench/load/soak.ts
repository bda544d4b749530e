// npm run soak -- [--minutes N]
//
// Uses everything for a long time and prints, each minute, the heaps of the page and of its workers
// after a collection. Chromium, which tells them.
// Fails when a heap at the end is larger than at the end of the first fifth by more than a quarter.

import { parseArgs } from 'node:util';
import { startSite } from '../../break/torture/site.ts';
import { requireBrowser } from '../../browsers/browser.ts';
import { Profile } from '../../browsers/profile.ts';
import { HeapReader, type Heaps } from './heap-reader.ts';
import type {} from './soak-page.ts';

const GROWTH_MAX = 1.25;
/** Below this a heap is all noise. */
const NOISE_BYTES = 2_000_000;

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } });
const minutes = Number(values.minutes);
if (!(minutes > 0)) throw new Error('soak: --minutes takes a number above 0.');
/** A short soak is measured more often. */
const stepMs = Math.min(60_000, (minutes * 60_000) / 5);

const site = await startSite({
  page: 'e2e/bench/load/soak-page.ts',
  'objects-worker': 'e2e/bench/load/soak-worker.ts',
});
const browser = requireBrowser('chromium');
const profile = new Profile(browser);
console.log(`${browser.version}, ${minutes} minutes`);
const seen: Heaps[] = [];
try {
  const context = await profile.launch();
  const page = await context.newPage();
  await page.goto(site.origin);
  await page.waitForFunction(() => 'soak' in window);
  const heaps = await HeapReader.attach(page);
  await page.evaluate(() => window.soak.start());
  const endMs = performance.now() + minutes * 60_000;
  for (let step = 1; performance.now() < endMs - stepMs / 2; step++) {
    await new Promise((resolve) => setTimeout(resolve, stepMs));
    const heap = await heaps.read();
    seen.push(heap);
    const rounds = await page.evaluate(() => window.soak.rounds());
    const workers = heap.workerBytes.map(megabytes).join(' and ');
    const minute = ((step * stepMs) / 60_000).toFixed(1);
    console.log(
      `minute ${minute}: ${rounds} rounds, page ${megabytes(heap.pageBytes)} MB, workers ${workers} MB`,
    );
  }
  await page.evaluate(() => window.soak.stop());
} finally {
  await profile.remove();
  await site.close();
}
const settled = seen[Math.floor(seen.length / 5)]!;
const last = seen.at(-1)!;
const total = ({ pageBytes, workerBytes }: Heaps) =>
  workerBytes.reduce((sum, bytes) => sum + bytes, pageBytes);
const growth = total(last) / total(settled);
console.log(`heaps at the end: ${(growth * 100).toFixed(0)} % of those after the first fifth`);
if (growth > GROWTH_MAX && total(last) - total(settled) > NOISE_BYTES) {
  console.log('FAILED: memory grows');
  process.exitCode = 1;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
