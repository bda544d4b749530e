// Runs the seeds that once found a defect. `npm test` leaves them to `npm run test:rest`.

import { beforeAll, describe, expect, test, vi } from 'vitest';
import { Rounds } from './rounds.ts';

let rounds: Rounds;

beforeAll(async () => {
  // The objects' failures are intended here, so their reports on the console are silenced.
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  rounds = await Rounds.of('objects');
});

/** Returns the failures that the seeds find. */
async function failuresOf(seeds: readonly number[]): Promise<string[]> {
  const { failures } = await rounds.run(seeds, { shrinks: false });
  return failures.map(({ seed, fact }) => `seed ${seed}: ${fact}`);
}

describe('single objects, by seeds that found a defect', () => {
  // Each of these seeds found a defect that has been fixed.
  test.each([
    [14, 'a rollback that made a commit of its own'],
    [24, 'a discarded commit that returned after a power failure'],
    [29, 'an alarm read from a database that a failed flush had closed'],
    [46, 'a restore into pruned history, some of whose files returned after a power failure'],
    [90, 'a bookmark of a requested restore, at the beginning of a segment'],
    [89, 'an unflushed first segment that was lost although a second one existed'],
    [5000, 'a segment that stayed open when a call failed as the next one began'],
    [5477, 'a rollback that stopped half-way, because the disk failed to free its space'],
    [10168, 'a torn marker of a restore, made whole by the zeros of a later write that was lost'],
    [10843, 'a main file newer than a damaged log, when the newest slot was lost'],
    [60091, 'a pruned segment that zeros written ahead of the log had filled again'],
    [30755, 'a pruned segment with an index again, which was taken for damage'],
    [500_409, 'history of a restore, pruned by the write after its commit before that was durable'],
    [31477, 'a restore to where history begins, refused because a pruned segment had an older one'],
    [800_016, 'the state before a restore in parts, given up when the history was thinned'],
    [800_042, 'a bookmark before a restore in parts, which thinning took for a lost commit'],
    [
      2_000_497,
      'an unfinished folded segment, back after its segments were pruned, ended each opening',
    ],
    [2_000_737, 'the same, of the oldest segments'],
  ])('[SIM1] seed %i: %s', async (seed) => {
    expect(await failuresOf([seed])).toEqual([]);
  });

  // Each of these seeds found a defect of the simulator itself.
  test.each([
    [5039, 'a refused restore that counted as pending after a power failure in the next opening'],
    [5094, 'power that returned when a second power failure was requested'],
    [6378, 'a refused restore whose cancellation was damaged, so that it is refused again'],
    [10516, 'a restore refused after a close, and forgotten when power failed in the next opening'],
    [34013, 'a close that reported commits as durable whose flush had been put off, and failed'],
    [
      700_008,
      'a transaction undone as the object broke, which counted as a commit at a later time',
    ],
    [
      700_146,
      'a transaction cut off by a power failure, which counted as the commit of a shown restore',
    ],
    [13350, 'the bookmark of a time whose commits were lost in a power failure before a restore'],
  ])('[SIM1] seed %i: %s', async (seed) => {
    expect(await failuresOf([seed])).toEqual([]);
  });
});
