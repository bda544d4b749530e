// npm run scale -- [--objects N] [--keys N] [--rows N] [--idle SECONDS] [--browser chromium|firefox]
//
// The storage at a large scale: objects made, listed and opened again, keys and rows of one object
// written, found and opened again. Prints the time of each, the memory and the number of open files, also
// after everything was idle for `--idle` seconds; fails when a count is wrong. The defaults are the small
// form; the large one is --objects 10000 --keys 1000000 --rows 5000000.

import { parseArgs } from 'node:util';
import type { Page } from '@playwright/test';
import { startSite } from '../../break/torture/site.ts';
import { type BrowserName, requireBrowser } from '../../browsers/browser.ts';
import { rendererBytes } from '../../browsers/processes.ts';
import { Profile } from '../../browsers/profile.ts';
import { HeapReader } from './heap-reader.ts';
import type {} from './scale-page.ts';

/** Looks at single objects, keys and rows. */
const SAMPLES = 2000;
const LIST_LIMIT = 100;

const { values } = parseArgs({
  options: {
    objects: { type: 'string', default: '200' },
    keys: { type: 'string', default: '20000' },
    rows: { type: 'string', default: '100000' },
    idle: { type: 'string', default: '0' },
    browser: { type: 'string', default: 'chromium' },
  },
});
const [objects, keys, rows] = [values.objects, values.keys, values.rows].map(Number) as [
  number,
  number,
  number,
];
if (![objects, keys, rows].every((count) => Number.isInteger(count) && count >= 1)) {
  throw new Error('scale: --objects, --keys and --rows take whole numbers from 1 on.');
}

const idleMs = Number(values.idle) * 1000;

const browser = requireBrowser(values.browser as BrowserName);
const site = await startSite({
  page: 'e2e/bench/load/scale-page.ts',
  'objects-worker': 'e2e/bench/load/scale-worker.ts',
});
const profile = new Profile(browser);
let failed = 0;
console.log(`${browser.version}: ${objects} objects, ${keys} keys, ${rows} rows`);
try {
  const samples = (count: number) => Math.min(SAMPLES, count);
  let page = await openPage();
  let heaps = await readerOf(page);
  await use('at the start', page, heaps);
  await measure(
    'objects made',
    objects,
    page.evaluate((n) => window.scale.makeObjects(n), objects),
  );
  await use('after that', page, heaps);
  await measure(
    'objects listed, the first',
    Math.min(LIST_LIMIT, objects),
    page.evaluate((limit) => window.scale.listPart(limit), LIST_LIMIT),
  );
  await measure(
    'objects listed',
    objects,
    page.evaluate(() => window.scale.listObjects()),
  );
  await measure(
    'keys put',
    keys,
    page.evaluate((n) => window.scale.putKeys(n), keys),
  );
  await measure(
    'rows inserted',
    rows,
    page.evaluate((n) => window.scale.insertRows(n), rows),
  );

  await use('after that', page, heaps);
  if (idleMs > 0) {
    await page.waitForTimeout(idleMs);
    await use(`idle for ${values.idle} s`, page, heaps);
  }
  await profile.quit();
  page = await openPage();
  heaps = await readerOf(page);
  await measure(
    'keys got, all over, after a restart',
    samples(keys),
    page.evaluate(([n, times]) => window.scale.getKeys(n, times), [keys, samples(keys)] as const),
  );
  await measure(
    'keys listed, by pages',
    keys,
    page.evaluate(() => window.scale.listKeys()),
  );
  await measure(
    'rows found, all over',
    samples(rows),
    page.evaluate(([n, times]) => window.scale.findRows(n, times), [rows, samples(rows)] as const),
  );
  await measure(
    'rows counted',
    rows,
    page.evaluate(() => window.scale.countRows()),
  );
  const stride = Math.ceil(objects / samples(objects));
  await measure(
    'objects opened again',
    Math.floor(objects / stride),
    page.evaluate(([n, s]) => window.scale.readObjects(n, s), [objects, stride] as const),
  );
  await measure(
    'objects listed, after a restart',
    objects,
    page.evaluate(() => window.scale.listObjects()),
  );
  await use('after that', page, heaps);
  const megabytes = (await page.evaluate(() => window.scale.databaseBytes())) / 1e6;
  console.log(`database of keys and rows: ${megabytes.toFixed(1)} MB`);
} finally {
  await profile.remove();
  await site.close();
}
if (failed > 0) process.exitCode = 1;

async function openPage(): Promise<Page> {
  const context = await profile.launch();
  const page = await context.newPage();
  await page.goto(site.origin);
  await page.waitForFunction(() => 'scale' in window);
  return page;
}

/** Chromium tells heaps. */
async function readerOf(page: Page): Promise<HeapReader | null> {
  return browser.name === 'chromium' ? await HeapReader.attach(page) : null;
}

async function use(when: string, page: Page, reader: HeapReader | null): Promise<void> {
  const { open, most } = await page.evaluate(() => window.scale.handles());
  const parts = [`${open} files open (${most} at most)`];
  if (reader !== null) {
    const { pageBytes, workerBytes } = await reader.read();
    const workers = workerBytes.map(inMegabytes).join(' and ');
    parts.push(`JavaScript heaps: page ${inMegabytes(pageBytes)}, workers ${workers} MB`);
  }
  if (process.platform === 'linux') {
    const bytes = rendererBytes(profile.directory);
    if (bytes > 0) parts.push(`renderers ${inMegabytes(bytes)} MB`);
  }
  console.log(`  ${when}: ${parts.join('; ')}`);
}

function inMegabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

async function measure(what: string, expected: number, counting: Promise<number>): Promise<void> {
  const startMs = performance.now();
  const count = await counting;
  const seconds = (performance.now() - startMs) / 1000;
  const rate = Math.round(count / seconds);
  const wrong = count === expected ? '' : ` WRONG: expected ${expected}`;
  if (count !== expected) failed += 1;
  console.log(`${count} ${what}: ${seconds.toFixed(2)} s, ${rate} a second${wrong}`);
}
