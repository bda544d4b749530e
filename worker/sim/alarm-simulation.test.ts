import { expect, test, vi } from 'vitest';
import { Rounds } from './rounds.ts';

// 33 found a retry that waited for the time of its alarm after the wall clock was set back.
const SEEDS = [1, 2, 3, 4, 5, 6, 22, 33];

test('[SIM6] alarms that are stored ring, and no others, whatever ends instances and hosts or sets the wall clock', async () => {
  // Objects report failures on the console; the failures here are intended.
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  const rounds = await Rounds.of('alarms');
  const { counts, failures } = await rounds.run(SEEDS, { shrinks: false });
  expect(failures.map(({ seed, fact }) => `seed ${seed}: ${fact}`)).toEqual([]);
  expect(counts.rings).toBeGreaterThan(20);
});
