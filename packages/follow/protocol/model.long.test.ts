// The large walks of the model, and the defects that it must refute.

import { expect, test } from 'vitest';
import { DEFECTS } from './model/defects.ts';
import { nameOf } from './model/scenario.ts';
import { LARGE_WALKS, refuted, walked } from './model/walks.ts';

test.each(LARGE_WALKS.map((walk) => [nameOf(walk), walk] as const))(
  '[FOLW13] all promises hold: %s',
  (_, walk) => {
    const { states, failure } = walked(walk);
    expect(failure).toBeNull();
    expect(states).toBeGreaterThan(1000);
  },
);

test.each(Object.keys(DEFECTS))('[FOLW14] a broken promise refutes the defect: %s', (defect) => {
  expect(refuted(defect)?.failure).toEqual(expect.any(String));
});
