// Repeats changed-rows.test.ts with more seeds: `SEED` is the first, `SEEDS` their number, `RUNS` the cases of each.

import { expect, test } from 'vitest';
import { checkRandomChanges, HAPPENINGS } from '../../../packages/testing/worker/changed-rows.ts';

const FIRST = Number(process.env.SEED ?? 1);
const SEEDS = Number(process.env.SEEDS ?? 1);
const RUNS = Number(process.env.RUNS ?? 150);

test.for(Array.from({ length: SEEDS }, (_, i) => FIRST + i))(
  '[DIFF3] [REVERT1] [MERGE6] a difference makes one state of the other, its revert goes back, and a merge equals the same rows written by SQL: seed %i',
  async (seed) => {
    const seen = await checkRandomChanges(RUNS, seed);
    expect([...seen].sort()).toEqual([...HAPPENINGS].sort());
  },
);
