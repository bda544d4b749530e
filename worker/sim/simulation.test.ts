import { beforeAll, describe, expect, test, vi } from 'vitest';
import { Rounds } from './rounds.ts';

let rounds: Rounds;

beforeAll(async () => {
  // Objects report what fails on the console; the failures here are meant.
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  rounds = await Rounds.of('objects');
});

/** What the seeds find; nothing when all is well. */
async function failuresOf(seeds: readonly number[]): Promise<string[]> {
  const { failures } = await rounds.run(seeds, { shrinks: false });
  return failures.map(({ seed, fact }) => `seed ${seed}: ${fact}`);
}

const EVERY_TIME = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

describe('single objects through losses of power, faults and full disks', () => {
  test('[SIM1] what was acknowledged is there, whole, and every object opens again', async () => {
    expect(await failuresOf(EVERY_TIME)).toEqual([]);
  }, 60_000);

  // Each found a defect that was mended.
  test.each([
    [14, 'a rollback that made a commit of its own'],
    [24, 'a commit that was taken back, and came back with a loss of power'],
    [29, 'an alarm that was read from a database which the failed flush had closed'],
    [46, 'a restore into history that was pruned, with some of its files back after the loss'],
    [90, 'a bookmark of a restore that was asked for, at the beginning of a segment'],
    [89, 'a first segment that was lost unflushed beside a second one'],
    [5000, 'a segment that stayed open when a call failed where the next one began'],
    [5477, 'a rollback that stopped half-way, because the disk did not take back its space'],
  ])(
    '[SIM1] seed %i: %s',
    async (seed) => {
      expect(await failuresOf([seed])).toEqual([]);
    },
    30_000,
  );

  // Each found a fault of the simulation.
  test.each([
    [5039, 'a restore that was refused, and forgotten as such when power went in the next opening'],
    [5094, 'power that was back when its loss was asked for a second time'],
    [6378, 'a refused restore whose cancellation was damaged, and that is refused again'],
  ])(
    '[SIM1] seed %i: %s',
    async (seed) => {
      expect(await failuresOf([seed])).toEqual([]);
    },
    30_000,
  );
});
