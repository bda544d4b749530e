import { expect, test, vi } from 'vitest';
import { Rounds } from './rounds.ts';

const SEEDS = [2, 3, 4, 6, 21];

test('[SIM8] a class whose every event writes in several places, and the tabs beside it, leave whole commits of their own', async () => {
  // Objects report failures on the console; the failures here are intended.
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  const rounds = await Rounds.of('classes');
  const { counts, failures } = await rounds.run(SEEDS, { shrinks: false });
  expect(failures.map(({ seed, fact }) => `seed ${seed}: ${fact}`)).toEqual([]);
  expect(counts.commits).toBeGreaterThan(100);
});
