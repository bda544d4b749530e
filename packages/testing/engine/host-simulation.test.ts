// Runs the simulation of hosts with a few seeds.

import { beforeAll, expect, test, vi } from 'vitest';
import { Rounds } from './rounds.ts';

beforeAll(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});

// Seed 22 once found an alarm that was read from a database which a failed flush had closed.
const SEEDS = [1, 22, 100_000];
const FURTHER_SEEDS = [2, 3, 4, 5, 6, 7, 8, 27, 100_001];

async function expectPromises(seeds: readonly number[], least: number): Promise<void> {
  const rounds = await Rounds.of('hosts');
  const { counts, failures } = await rounds.run(seeds, { shrinks: false });
  expect(failures.map(({ seed, fact }) => `seed ${seed}: ${fact}`)).toEqual([]);
  expect(counts.calls).toBeGreaterThan(20 * least);
  for (const end of ['crashes', 'closes', 'faults'])
    expect(counts[end], end).toBeGreaterThan(least);
}

test('[SIM2] every promise that a caller holds settles, and no code runs in an ended instance', () =>
  expectPromises(SEEDS, 2));

test('[SIM2] every promise settles with further seeds, too', { tags: 'long' }, () =>
  expectPromises(FURTHER_SEEDS, 5),
);
