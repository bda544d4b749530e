import { expect, test, vi } from 'vitest';
import { Rounds } from './rounds.ts';

test('[MEDIUM4] on rows, every acknowledged commit survives whole, and every object opens again', async () => {
  // Objects report failures on the console; the failures here are intended.
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  const rounds = await Rounds.of('rows');
  const seeds = [1, 2, 3, 4, 5, 900_001]; // in the last one, events of several authors take turns
  const { counts, failures } = await rounds.run(seeds, { shrinks: false });
  expect(failures.map(({ seed, fact }) => `seed ${seed}: ${fact}`)).toEqual([]);
  expect(counts.crashes).toBeGreaterThan(50);
});
