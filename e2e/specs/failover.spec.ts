// A short torture: tabs that write and hold live reads while tabs, workers and processes are taken from them.

import { Arena } from '../break/torture/arena.ts';
import { FAULTS, planOf } from '../break/torture/plan.ts';
import { startSite } from '../break/torture/site.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG } from '../browsers/tags.ts';

const ROUNDS = 8;

/** More than a dying worker may keep the files, and a slow machine needs to open a tab. */
const GAP_MS_MAX = 60_000;

test('[DUR5] [LIVE14] through a mix of faults every acknowledged write is there once, whole and in order, and live reads of three tabs show it so', {
  tag: LONG,
}, async ({ profile, browserName }) => {
  const site = await startSite({
    page: 'e2e/break/torture/page.ts',
    'objects-worker': 'e2e/break/torture/worker.ts',
  });
  const arena = new Arena(profile, site.origin);
  const plan = planOf(20_261, FAULTS[browserName as keyof typeof FAULTS]);
  for (let round = 0; round < ROUNDS; round++) await arena.round(plan.next().value);
  expect(await arena.audit()).toEqual([]);
  expect(arena.ledger.acknowledged).toBeGreaterThan(ROUNDS);
  expect(arena.failovers).toBeGreaterThan(0);
  expect(arena.sightings.count).toBeGreaterThan(ROUNDS);
  expect(arena.longestGap.durationMs).toBeLessThan(GAP_MS_MAX);
  await site.close();
});
