import { expect, test } from 'vitest';
import { findsPutBack, PUT_BACKS } from './put-back/put-back.ts';

// Each runs the sources with the defect in a separate process. A simulator that cannot fail proves
// nothing.
test.each(PUT_BACKS)('[SIM4] the simulator fails if $name', async (putBack) => {
  const fact = await findsPutBack(putBack);
  expect(fact).toMatch(/^seed \d+: /);
});
