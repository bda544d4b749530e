import { expect, test } from 'vitest';
import type { Known } from './history.ts';
import { RequestedRestores, type RestoreRequest } from './requested-restores.ts';

const known = { text: 'bookmark' } as Known;
const acknowledged: RestoreRequest = { known, undo: null, isAcknowledged: true };

test('[SIM1] a restore that was acknowledged must be made, until an opening has refused it', () => {
  const requested = new RequestedRestores([acknowledged]);
  expect(requested.isCertain).toBe(true);
  requested.interrupted(() => false); // nothing could be refused
  expect(requested.isCertain).toBe(true);
  const elsewhere = requested.copy();
  requested.refused('sound');
  expect(requested).toMatchObject({ isCertain: false, requests: [] });
  requested.interrupted(() => true); // and it stays refused
  expect(requested.requests).toEqual([]);
  expect(elsewhere.isCertain).toBe(true);
});

test('[SIM1] a refusal that nobody heard, or on a failing disk, leaves both ways open', () => {
  const unheard = new RequestedRestores([acknowledged]);
  unheard.interrupted(() => true);
  const failing = new RequestedRestores([acknowledged]);
  failing.refused('failing');
  for (const requested of [unheard, failing]) {
    expect(requested).toMatchObject({ isCertain: false, requests: [acknowledged] });
  }
});

test('[SIM1] a restore that was not acknowledged may be made or not', () => {
  const requested = new RequestedRestores([{ ...acknowledged, isAcknowledged: false }]);
  expect(requested.isCertain).toBe(false);
  expect(requested.requests).toHaveLength(1);
});
