// Walks the protocol's model: both sides run together through every interleaving of their events and faults.

import { expect, test } from 'vitest';
import { nameOf } from './model/scenario.ts';
import { runWalk, SMALL_WALKS } from './model/walks.ts';

test.each(SMALL_WALKS.map((walk) => [nameOf(walk), walk] as const))(
  '[FOLW13] all promises hold: %s',
  { tags: 'long' },
  (_, walk) => {
    const { failure, states } = runWalk(walk);
    expect(failure).toBeNull();
    expect(states).toBeGreaterThan(50);
  },
);

test('[FOLW13] steps that the model leaves out break no promise either', { tags: 'long' }, () => {
  for (const walk of SMALL_WALKS.slice(0, 4)) {
    const all = runWalk(walk, { takesEveryStep: true });
    expect(all.failure).toBeNull();
    expect(all.states).toBeGreaterThan(runWalk(walk).states);
  }
});
