// Tests which restores the model expects of the next opening.

import { expect, test } from 'vitest';
import type { ReturnedBookmark } from './history.ts';
import { RequestedRestores, type RestoreRequest } from './requested-restores.ts';
import { Restores } from './restores.ts';

const known = { text: 'bookmark' } as ReturnedBookmark;
const acknowledged: RestoreRequest = { known, undo: null, isAcknowledged: true };

test('[SIM1] an acknowledged restore must be made, unless an opening has refused it', () => {
  const requested = new RequestedRestores([acknowledged]);
  expect(requested.isCertain).toBe(true);
  requested.interrupted(() => false); // there was no reason to refuse
  expect(requested.isCertain).toBe(true);
  const elsewhere = requested.copy();
  requested.refused('sound');
  expect(requested).toMatchObject({ isCertain: false, requests: [] });
  requested.interrupted(() => true); // it stays refused
  expect(requested.requests).toEqual([]);
  expect(elsewhere.isCertain).toBe(true);
});

test('[SIM1] after an unreported refusal, or one on a failing disk, both outcomes are possible', () => {
  const unheard = new RequestedRestores([acknowledged]);
  unheard.interrupted(() => true);
  const failing = new RequestedRestores([acknowledged]);
  failing.refused('failing');
  for (const requested of [unheard, failing]) {
    expect(requested).toMatchObject({ isCertain: false, requests: [acknowledged] });
  }
});

test('[SIM1] an unacknowledged restore may be made or not', () => {
  const requested = new RequestedRestores([{ ...acknowledged, isAcknowledged: false }]);
  expect(requested.isCertain).toBe(false);
  expect(requested.requests).toHaveLength(1);
});

test('[SIM1] the report of an opening holds until an opening succeeds, or another restore is requested', () => {
  const restores = new Restores();
  restores.add({ ...acknowledged });
  restores.acknowledged('noCommit');
  restores.requested().refused('sound');
  expect(restores.requested().isCertain).toBe(false);
  restores.add({ ...acknowledged });
  restores.acknowledged('noCommit');
  expect(restores.requested().isCertain).toBe(true);
  restores.settle();
  expect(restores.requested()).toMatchObject({ isCertain: false, requests: [] });
});
