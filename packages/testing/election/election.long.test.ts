// The walks of three tabs with up to two faults.

import { expect, test } from 'vitest';
import { exploreScenario, LARGE_WALKS } from './walks.ts';

test.each(LARGE_WALKS.map((walk) => [walk.name, walk] as const))(
  '[BUILD2] one leads, the newest in the end, and no call waits for ever: %s',
  (_, walk) => {
    const { failure, states } = exploreScenario(walk);
    expect(failure).toBeNull();
    expect(states).toBeGreaterThan(100);
  },
);
