import { expect, test } from 'vitest';
import { findsPutBack, PUT_BACKS } from './put-back/put-back.ts';

// A process each, of the sources with the defect in them: what cannot fail shows nothing.
test.each(PUT_BACKS)(
  '[SIM4] it fails when $name',
  async (putBack) => {
    const fact = await findsPutBack(putBack);
    expect(fact).toMatch(/^seed \d+: /);
  },
  120_000,
);
