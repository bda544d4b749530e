// Checks the promises that must hold when a run has come to rest. Two further promises are checked at each step
// (run.ts): two workers never have the files open, and no page calls code older than its own.

import { nameOf, TAB_INDEXES, type World, workerIn } from './world.ts';

/** Returns the promise that a world at rest breaks; null if it keeps all. */
export function brokenPromise(world: World): string | null {
  const { host } = world.shared;
  const leader = host === null ? undefined : workerIn(world, host);
  if (leader?.core.place.kind !== 'leading') return 'a tab lives, and nobody leads';
  let newest = 0;
  for (const tab of TAB_INDEXES) {
    const { page, nextBuild } = world.tabs[tab];
    if (page === null) continue;
    const { phase, link, own, resting } = page.core;
    const name = `the page ${nameOf(tab)}`;
    if (phase.kind !== 'ready') return `${name} searches without end`;
    if (page.isSucceeding) return `the succession of ${name} is not settled`;
    if (link?.state !== 'open') return `${name} has no connection, and searches for none`;
    if (link.leader !== leader.id || page.term !== leader.term) {
      return `a call of ${name} is not answered: ${link.leader} does not lead`;
    }
    if (own === null && !resting.isResting) return `${name} has no worker, and does not rest`;
    if (!world.rest.refused.includes(tab)) newest = Math.max(newest, nextBuild);
  }
  return leader.build < newest ? `the newest deployment, ${newest}, does not lead` : null;
}
