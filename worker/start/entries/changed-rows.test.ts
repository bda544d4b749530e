// Tests differences, reverts and merges of random tables that random programs have changed.

import { test } from 'vitest';
import { checkRandomChanges } from '../../../packages/testing/worker/changed-rows.ts';

test('[DIFF3] [REVERT1] [MERGE6] a difference makes one state of the other, its revert goes back, and a merge equals the same rows written by SQL', {
  tags: 'long',
}, async () => {
  await checkRandomChanges(40, undefined);
});
