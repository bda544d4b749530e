// The fleet for a short time. Only what may never happen is expected: how fast the friend's calls are depends on the
// machine, and `npm run fleet:follow` measures it.

import { expect, test } from 'vitest';
import { type FleetRun, runFleet } from './run-fleet.ts';
import type { Platform } from './servers.ts';

/** More than the program allows: a process that has just started asks for memory as it needs it. */
const GROWTH_MB_MAX = 256;

async function expectFriendUnharmed(run: Omit<FleetRun, 'seed' | 'aloneMs'>): Promise<void> {
  const result = await runFleet({ ...run, seed: 1, aloneMs: 3000 });
  const { lost, duplicated, failures, unanswered, isServerAlive } = result;
  expect({ lost, duplicated, failures, unanswered, isServerAlive }).toEqual({
    ...{ lost: [], duplicated: [], failures: [], unanswered: 0, isServerAlive: true },
  });
  const { alone, withFleet, memory, fleet } = result;
  expect([...alone.closes, ...withFleet.closes]).toEqual([]);
  expect(withFleet.durationsMs.length).toBeGreaterThan(3);
  expect(memory.max - memory.before).toBeLessThan(GROWTH_MB_MAX);
  // Otherwise nobody was hostile.
  expect(fleet.sent).toBeGreaterThan(run.followers * 10);
  for (const code of [4000, 4001, 4007, 4010, 4013])
    expect(fleet.closes).toHaveProperty([`${code}`]);
}

test('[FOLS27] 99 hostile followers neither end the object nor lose a call of another, in Node', () =>
  expectFriendUnharmed({
    ...{ platform: 'node', followers: 99, identities: 10, fleetMs: 20_000 },
    ...{ messagesPerSecond: 500, connectsPerSecond: 50 },
  }));

test.for<Platform>(['node', 'workerd'])(
  '[FOLS27] 999 hostile followers neither end the object nor lose a call of another, on %s',
  { tags: 'release' },
  (platform) =>
    expectFriendUnharmed({
      ...{ platform, followers: 999, identities: 100, fleetMs: 200_000 },
      ...{ messagesPerSecond: 5000, connectsPerSecond: 100 },
    }),
);
