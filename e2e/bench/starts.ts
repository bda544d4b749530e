// The second visit of a page that draws 30 queries, side by side: milliseconds from the navigation until they are drawn,
// and the processor time of the browser's processes until then. The memory of each further tab of one page.
//
//   npx tsx e2e/bench/starts.ts [--rounds 9] [--against HEAD~1] [--half-core] [--only visit|tabs]
//
// `--half-core` gives the browser half of one processor, by a control group: as root on Linux.

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { contender } from '../../demo/bench/contenders.ts';
import { median } from '../../demo/bench/median.ts';
import { rotated } from '../../demo/bench/rounds.ts';
import { requireBrowser } from '../browsers/browser.ts';
import { browserIds, rendererIds } from '../browsers/processes.ts';
import { Profile } from '../browsers/profile.ts';
import type { StaticSite } from '../browsers/static-site.ts';
import { checkOut, removeCheckout } from './against.ts';
import { ControlGroup } from './control-group.ts';
import { CONTENDERS, type Contender, OURS } from './peers/contenders.ts';
import { bundlePeers, servePeers } from './peers/peer-site.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    against: { type: 'string' },
    'half-core': { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
  },
});
const rounds = Number(options.rounds);
const PEERS = ['sahpool, WAL', 'wa-sqlite, AccessHandlePool', 'idb, strict'];
/** A browser releases the files of a closed page a moment later. */
const RELEASE_MS = 700;
/** The last commits before the visits, and how long their page stays open: long enough for work that waits until it is idle. */
const COMMITS = 300;
const IDLE_MS = 3000;
/** Until a tab in line has prepared, and what is not needed was freed. */
const SETTLE_MS = 4000;
const TABS = 4;

interface Visited extends Contender {
  readonly site: StaticSite;
}

const profile = new Profile(requireBrowser('chromium'));
const visited: Visited[] = [];
const earlierVersion = options.against === undefined ? null : checkOut(options.against);
try {
  const ours = CONTENDERS.find(({ name }) => name === OURS)!;
  await serve([ours], undefined);
  if (earlierVersion !== null)
    await serve([{ ...ours, name: `${OURS}, ${options.against}` }], earlierVersion);
  await serve([contender(`${OURS}, connect`, 'ours-class')], undefined);
  await serve(
    CONTENDERS.filter(({ name }) => PEERS.includes(name)),
    undefined,
  );
  await profile.launch();
  for (const one of visited) await fill(one);
  await profile.quit();
  if ('visit'.includes(options.only)) await visits();
  if ('tabs'.includes(options.only)) await tabs();
} finally {
  await profile.remove();
  for (const { site } of visited) await site.close();
  if (earlierVersion !== null) removeCheckout(earlierVersion);
}

async function serve(contenders: readonly Contender[], root: string | undefined): Promise<void> {
  for (const contender of contenders) {
    const site = await servePeers(await bundlePeers([contender.kit], root));
    visited.push({ ...contender, site });
  }
}

async function visits(): Promise<void> {
  await profile.launch();
  const group = new ControlGroup();
  group.add(browserIds(profile.directory));
  if (options['half-core']) group.limit(0.5);
  const found = new Map(visited.map(({ name }) => [name, { ms: [0], cpuMs: [0] }]));
  try {
    for (let round = 0; round <= rounds; round++) {
      for (const one of rotated(visited, round)) {
        const { ms, cpuMs } = await visit(one, group);
        if (round === 0) continue;
        found.get(one.name)!.ms.push(ms);
        found.get(one.name)!.cpuMs.push(cpuMs);
      }
    }
  } finally {
    await profile.quit();
    await pause(RELEASE_MS);
    group.remove();
  }
  const where = options['half-core'] ? ', half a core' : '';
  console.log(
    `\n| second visit, 30 queries drawn${where} | ms | processor, ms | least | ours / it |`,
  );
  console.log('| --- | --- | --- | --- | --- |');
  const own = found.get(OURS)!;
  for (const [name, { ms, cpuMs }] of found) {
    const [time, cpu] = [median(ms.slice(1)), median(cpuMs.slice(1))];
    const ratio = `${(median(own.ms.slice(1)) / time).toFixed(2)}, ${(median(own.cpuMs.slice(1)) / cpu).toFixed(2)}`;
    const least = `${Math.min(...ms.slice(1)).toFixed(0)}, ${Math.min(...cpuMs.slice(1)).toFixed(0)}`;
    console.log(`| ${name} | ${time.toFixed(0)} | ${cpu.toFixed(0)} | ${least} | ${ratio} |`);
  }
}

async function fill(one: Visited): Promise<void> {
  const page = await profile.newPage();
  await page.goto(`${one.site.origin}/${one.kit}/`);
  await page.waitForFunction(() => window.contender !== undefined);
  await page.evaluate((c) => window.contender.open(c), one.configuration);
  await page.evaluate(() => window.contender.fill());
  await page.evaluate((count) => window.contender.write(count), COMMITS);
  await pause(IDLE_MS);
  await page.close();
  await pause(RELEASE_MS);
}

async function visit(one: Visited, group: ControlGroup): Promise<{ ms: number; cpuMs: number }> {
  const page = await profile.newPage();
  const before = group.usedMs;
  await page.goto(addressOf(one));
  const ms = await (await page.waitForFunction(() => window.drawnMs)).jsonValue();
  const cpuMs = group.usedMs - before;
  await page.close();
  await pause(RELEASE_MS);
  return { ms: ms!, cpuMs };
}

/** Measures every contender alone, in a browser that shows nothing else. */
async function tabs(): Promise<void> {
  console.log(
    '\n| private memory of the renderers, MB | first tab | each further tab |\n| --- | --- | --- |',
  );
  const blank = { name: 'a page without storage', origin: `${visited[0]!.site.origin}/ours/` };
  const pages = visited
    .filter(({ kit }) => kit === 'ours' || kit === 'idb')
    .map((one) => ({ name: one.name, origin: addressOf(one) }));
  for (const { name, origin } of [blank, ...pages]) {
    await profile.launch();
    await profile.newPage();
    const bytes = [privateBytes()];
    for (let tab = 0; tab < TABS; tab++) {
      const page = await profile.newPage();
      await page.goto(origin);
      if (name !== blank.name) await page.waitForFunction(() => window.drawnMs);
      await pause(SETTLE_MS);
      bytes.push(privateBytes());
    }
    await profile.quit();
    const added = bytes.slice(1).map((after, i) => (after - bytes[i]!) / 1e6);
    const [first, ...further] = added.map((mb) => mb.toFixed(1));
    console.log(`| ${name} | ${first} | ${further.join(', ')} |`);
  }
}

/** Memory that the renderers share with no other process. */
function privateBytes(): number {
  let kilobytes = 0;
  for (const pid of rendererIds(profile.directory)) {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    for (const [, each] of text.matchAll(/^Private_.*?(\d+) kB/gm)) kilobytes += Number(each);
  }
  return kilobytes * 1024;
}

function addressOf({ site, kit, configuration }: Visited): string {
  return `${site.origin}/${kit}/?${encodeURIComponent(JSON.stringify(configuration))}#drawn`;
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
