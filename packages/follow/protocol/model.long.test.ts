// Runs the large walks of the protocol's model, and checks that the model finds each defect that is put into it.

import { expect, test } from 'vitest';
import { DEFECTS } from './model/defects.ts';
import { nameOf } from './model/scenario.ts';
import { findRefutation, LARGE_WALKS, runWalk } from './model/walks.ts';

test.each(LARGE_WALKS.map((walk) => [nameOf(walk), walk] as const))(
  '[FOLW13] all promises hold: %s',
  (_, walk) => {
    const { states, failure } = runWalk(walk);
    expect(failure).toBeNull();
    expect(states).toBeGreaterThan(1000);
  },
);

test.each(Object.keys(DEFECTS))('[FOLW14] a broken promise refutes the defect: %s', (defect) => {
  expect(findRefutation(defect)?.failure).toEqual(expect.any(String));
});
