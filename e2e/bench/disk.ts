// What writes cost on the disk, as two tables: bursts of writes near a quota of the origin, beside peers on OPFS and
// IndexedDB; and the log of an object that is saved each second for 12 hours, with and without `history.thin`.
//
//   npx tsx e2e/bench/disk.ts [--only quota|saves] [--quota 80,60,20]
//
// The quota (in MB) is Chromium's for each contender's own origin, set before its first write; contenders take turns
// burst by burst. A burst goes on after a refused commit. Every value is new, and at the end each accepted one must be
// there. sqlocal and PGlite are left out.
//
// Saves run in Node on files in memory: the log has the same bytes on every medium. The testing clock moves by a second
// before each save, so nothing waits, and each run has the same values.

import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { BrowserContext, Page } from '@playwright/test';
import { Random } from '../../packages/testing/simulate/world/random.ts';
import type { StorageHandle } from '../../src/shared/contract/storage.ts';
import { ownWasmUrl } from '../../src/shared/contract/wasm-url.ts';
import { DurableObject } from '../../worker/realm/library/base-classes.ts';
import { createObjects, MemoryMedium } from '../../worker/start/entries/in-process.ts';
import { requireBrowser } from '../browsers/browser.ts';
import { Profile } from '../browsers/profile.ts';
import type { StaticSite } from '../browsers/static-site.ts';
import type { Burst } from './peers/contender-page.ts';
import { CONTENDERS, type Contender } from './peers/contenders.ts';
import { bundlePeers, type PeerFiles, servePeers } from './peers/peer-site.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    quota: { type: 'string', default: '80,60,20' },
  },
});

const KITS = ['ours', 'official', 'wa-sqlite', 'idb'];
const BURSTS = 12;
/** Over 100 entries: 5 MB of data, written twice. */
const BURST_COMMITS = 200;
const VALUE_BYTES = 50_000;

interface Bursting {
  readonly name: string;
  readonly site: StaticSite;
  readonly page: Page;
  readonly bursts: Burst[];
}

async function nearQuota(): Promise<void> {
  const files = await bundlePeers(KITS);
  const profile = new Profile(requireBrowser('chromium'));
  try {
    const context = await profile.launch();
    for (const megabytes of options.quota.split(',').map(Number)) {
      await burstsWithin(context, files, megabytes);
    }
  } finally {
    await profile.remove();
  }
}

async function burstsWithin(context: BrowserContext, files: PeerFiles, megabytes: number) {
  const all: Bursting[] = [];
  for (const contender of CONTENDERS.filter(({ kit }) => KITS.includes(kit))) {
    all.push(await open(context, files, contender, megabytes * 1e6));
  }
  for (let round = 0; round < BURSTS; round++) {
    for (const { page, bursts } of all) {
      const how = [BURST_COMMITS, VALUE_BYTES] as const;
      bursts.push(
        await page.evaluate(([count, bytes]) => window.contender.burst(count, bytes), how),
      );
    }
  }
  const rows: string[][] = [];
  for (const one of all) rows.push([one.name, ...(await outcomeOf(one))]);
  const title = `${BURSTS} bursts of 10 MB over 5 MB of data, quota ${megabytes} MB`;
  table(
    [title, 'refused', 'written, MB', 'accepted, MB', 'slowest, ms', 'median, ms', 'used, MB'],
    rows,
  );
}

async function open(
  context: BrowserContext,
  files: PeerFiles,
  { name, kit, configuration }: Contender,
  quotaSize: number,
): Promise<Bursting> {
  const site = await servePeers(files);
  const page = await context.newPage();
  await page.goto(`${site.origin}/${kit}/`);
  await page.waitForFunction(() => window.contender !== undefined);
  const cdp = await context.newCDPSession(page);
  await cdp.send('Storage.overrideQuotaForOrigin', { origin: site.origin, quotaSize });
  await page.evaluate((c) => window.contender.open(c), configuration);
  return { name, site, page, bursts: [] };
}

/** The cells of a row; ends the page. */
async function outcomeOf({ name, site, page, bursts }: Bursting): Promise<string[]> {
  const lost = await page.evaluate(() => window.contender.lost());
  if (lost > 0) throw new Error(`${name}: ${lost} accepted values are not stored.`);
  const { usage = 0 } = await page.evaluate(() => navigator.storage.estimate());
  await page.close();
  await site.close();
  const refusal = bursts.find((burst) => burst.refusal !== null)?.refusal;
  if (refusal) console.error(`${name}: ${refusal.split('\n')[0]}`);
  const times = bursts.map(({ ms }) => ms).sort((a, b) => a - b);
  const accepted = bursts.reduce((sum, burst) => sum + burst.accepted, 0);
  return [
    `${bursts.filter((burst) => burst.refusal !== null).length}`,
    inMegabytes(BURSTS * BURST_COMMITS * VALUE_BYTES),
    inMegabytes(accepted * VALUE_BYTES),
    times.at(-1)!.toFixed(0),
    times[times.length >> 1]!.toFixed(0),
    inMegabytes(usage),
  ];
}

const HOUR_MS = 3_600_000;
const HOUR_SAVES = 3600;
const HOURS = 12;
const TEXT_LENGTH = 20_000;
const ROWS = 1000;

/** Prepares the storage; the result makes one save. */
type Pattern = (storage: StorageHandle, random: Random) => Promise<() => PromiseLike<unknown>>;

const PATTERNS: Readonly<Record<string, Pattern>> = {
  async 'text of 20 kB, a word typed in at any place'(storage, random) {
    let text = textOf(random);
    return () => {
      const at = random.below(TEXT_LENGTH);
      text = (text.slice(0, at) + wordOf(random) + text.slice(at)).slice(0, TEXT_LENGTH);
      return storage.put('text', text);
    };
  },
  async 'text of 20 kB, wholly changed'(storage, random) {
    return () => storage.put('text', textOf(random));
  },
  async 'a row of 1,000'({ sql }, random) {
    await sql.exec('CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b INTEGER)').ready;
    const rows = Array.from({ length: ROWS }, (_, i) => [i, wordOf(random).repeat(5), i]);
    await sql.execMany('INSERT INTO t VALUES (?, ?, ?)', rows);
    const update = 'UPDATE t SET a = ?, b = ? WHERE id = ?';
    return () =>
      sql.exec(update, wordOf(random).repeat(5), random.below(1e6), random.below(ROWS)).ready;
  },
  async 'a small object'(storage, random) {
    return () =>
      storage.put('state', { x: random.below(1000), y: random.below(1000), by: wordOf(random) });
  },
};

class Saved extends DurableObject {}

async function eachSecond(): Promise<void> {
  const rows: string[][] = [];
  for (const [name, pattern] of Object.entries(PATTERNS)) {
    for (const thin of [false, true]) {
      rows.push([name, thin ? '`thin: true`' : 'default', ...(await savesOf(pattern, thin))]);
    }
  }
  const after = ['a save, first hour, bytes', 'log after 1 h, MB', 'log after 12 h, MB'];
  table(['saved each second', 'history', ...after, 'reaches back, h', 'states'], rows);
}

async function savesOf(pattern: Pattern, thin: boolean): Promise<string[]> {
  const medium = new MemoryMedium();
  const wasm = new Uint8Array(await readFile(ownWasmUrl()!));
  const objects = await createObjects({ Saved }, { wasm, medium, history: { thin } });
  await objects.clock.set(Date.UTC(2030, 0, 1));
  const storage = await objects.storage(objects.env.Saved.getByName('saved'));
  const save = await pattern(storage, new Random(1));
  let firstHourBytes = 0;
  for (let count = 1; count <= HOURS * HOUR_SAVES; count++) {
    await objects.clock.advance(1000);
    await save();
    if (count === HOUR_SAVES) firstHourBytes = await logBytes(medium);
  }
  const { states, oldestMs } = await reachOf(storage);
  const cells = [
    (firstHourBytes / HOUR_SAVES).toFixed(0),
    inMegabytes(firstHourBytes),
    inMegabytes(await logBytes(medium)),
    (((await objects.clock.now()) - oldestMs) / HOUR_MS).toFixed(1),
    states.toLocaleString('en'),
  ];
  await objects.close();
  return cells;
}

async function logBytes(medium: MemoryMedium): Promise<number> {
  let bytes = 0;
  for (const key of await medium.keys()) {
    for (const [name, sizeBytes] of await medium.sizes(key)) {
      if (/^(log|fold)-/.test(name)) bytes += sizeBytes;
    }
  }
  return bytes;
}

/** How many states are listed, and the time of the oldest, which must open. */
async function reachOf(storage: StorageHandle): Promise<{ states: number; oldestMs: number }> {
  let states = 0;
  let part = await storage.history({ limit: 1000 });
  for (;;) {
    const oldest = part.at(-1)!;
    states += part.length;
    part = await storage.history({ limit: 1000, before: oldest.bookmark });
    if (part.length > 0) continue;
    await (await storage.at(oldest.bookmark)).close();
    return { states, oldestMs: oldest.time.getTime() };
  }
}

function textOf(random: Random): string {
  let text = '';
  while (text.length < TEXT_LENGTH) text += wordOf(random);
  return text.slice(0, TEXT_LENGTH);
}

function wordOf(random: Random): string {
  return `${random.uint32().toString(36)} `;
}

function inMegabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  console.log(['', line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n'));
}

if ('quota'.includes(options.only)) await nearQuota();
if ('saves'.includes(options.only)) await eachSecond();
