// npm run torture -- [--rounds N] [--seed N] [--browser chromium|firefox] [--medium indexeddb] [--quota] [--broken NAME]
//
// Several tabs write without end, through `openStorage` and `connect`, and hold live reads; each round one
// fault of a mix that the seed decides takes a tab, a worker, a process or the whole browser. Everything that
// was acknowledged must be there exactly once, whole and in order; live reads must show it in that order, up to
// the last write; and the longest time without an acknowledgement is told. `--broken` puts a defect into the
// package, which must be found. With `--quota`, the disk is often full as well: then every write is acknowledged or refused,
// and of a refused one nothing is there. Firefox has no way to set a quota.

import { parseArgs } from 'node:util';
import { type BrowserName, requireBrowser } from '../../browsers/browser.ts';
import { Profile } from '../../browsers/profile.ts';
import { Arena } from './arena.ts';
import { breaking, DEFECTS, type DefectName } from './broken.ts';
import { FAULTS, FAULTS_OF_SMALL_DISK, planOf } from './plan.ts';
import { startSite } from './site.ts';
import { SmallDisk } from './small-disk.ts';

const ROUNDS_PER_AUDIT = 20;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '40' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    browser: { type: 'string', default: 'chromium' },
    medium: { type: 'string' },
    quota: { type: 'boolean', default: false },
    broken: { type: 'string' },
  },
});
const rounds = Number(values.rounds);
const seed = Number(values.seed);
const { browser: name, medium, quota, broken } = values;
if (!(rounds >= 1) || !Number.isInteger(rounds + seed)) {
  throw new Error(
    'torture: --rounds and --seed take whole numbers, and there is at least 1 round.',
  );
}
if (!isBrowser(name)) throw new Error('torture: --browser is chromium or firefox.');
if (medium !== undefined && medium !== 'indexeddb') {
  throw new Error('torture: --medium is indexeddb, or omitted.');
}
if (quota && name !== 'chromium') {
  throw new Error('torture: --quota needs Chromium; Firefox has no way for a test to set a quota.');
}
if (broken !== undefined && !isDefect(broken)) {
  throw new Error(`torture: --broken is one of: ${Object.keys(DEFECTS).join(', ')}.`);
}

const browser = requireBrowser(name);
const place = `${medium ?? 'its own medium'}${quota ? ' on a disk that fills' : ''}`;
console.log(`${browser.version}, ${place}, ${rounds} faults, seed ${seed}`);
const site = await startSite(
  { page: 'e2e/break/torture/page.ts', 'objects-worker': 'e2e/break/torture/worker.ts' },
  broken === undefined ? [] : [breaking(broken)],
);
const profile = new Profile(browser);
const arena = new Arena(profile, site.origin, {
  search: medium === undefined ? '' : `?medium=${medium}`,
  disk: quota ? new SmallDisk(site.origin) : null,
  // IndexedDB refuses a write as it is flushed, and with it the reads behind it.
  seesWhileFull: medium === undefined,
});
const counts = new Map<string, number>();
const faults: string[] = [];
let passed = 0;
const startMs = performance.now();
try {
  const plan = planOf(seed, quota ? FAULTS_OF_SMALL_DISK : FAULTS[name]);
  for (let round = 1; round <= rounds; round++) {
    const step = plan.next().value;
    await arena.round(step);
    counts.set(step.fault, (counts.get(step.fault) ?? 0) + 1);
    if (round % ROUNDS_PER_AUDIT === 0 || round === rounds) await audit(round);
  }
} catch (error) {
  faults.push(String(error));
  console.log(error);
} finally {
  await profile.remove();
  await site.close();
}

const { durationMs, after } = arena.longestGap;
const { acknowledged, rejected, refused } = arena.ledger;
const { count: shown, longestSilenceMs } = arena.sightings;
for (const [fault, count] of [...counts].sort()) console.log(`${count} × ${fault}`);
const byDisk = quota ? `, ${refused} of them by the full disk` : '';
console.log(`${acknowledged} writes acknowledged, ${rejected} rejected${byDisk}`);
console.log(`${arena.failovers} failovers (a leader was taken, or an object reset)`);
console.log(`${shown} values of live reads`);
console.log(`longest time between two values of a live read: ${Math.round(longestSilenceMs)} ms`);
console.log(`longest time without an acknowledgement: ${Math.round(durationMs)} ms (${after})`);
console.log(`${((performance.now() - startMs) / 1000 / rounds).toFixed(2)} s a round`);
console.log(`${passed} passed, ${faults.length} failed`);
if (faults.length > 0) process.exitCode = 1;

async function audit(round: number): Promise<void> {
  const found = await arena.audit();
  faults.push(...found);
  if (found.length === 0) passed += 1;
  const state = found.length === 0 ? 'whole' : `FAULTY: ${found.slice(0, 10).join('; ')}`;
  console.log(`after ${round} faults: ${arena.ledger.acknowledged} acknowledged, ${state}`);
}

function isBrowser(name: string): name is BrowserName {
  return name in FAULTS;
}

function isDefect(name: string): name is DefectName {
  return name in DEFECTS;
}
