// Every interleaving of two and three tabs that elect a leader, and the defects that these walks must refute.

import { expect, test } from 'vitest';
import { DEFECTS } from './defects.ts';
import { exploreScenario, refutingWalk, SMALL_WALKS } from './walks.ts';

test.each(SMALL_WALKS.map((walk) => [walk.name, walk] as const))(
  '[BUILD2] one leads, the newest in the end, and no call waits for ever: %s',
  (_, walk) => {
    const { failure, depth } = exploreScenario(walk);
    expect(failure).toBeNull();
    expect(depth).toBeGreaterThan(5);
  },
);

test.each(Object.keys(DEFECTS))('[BUILD2] a broken promise refutes the defect: %s', (defect) => {
  expect(refutingWalk(defect)?.failure).toEqual(expect.any(String));
});
