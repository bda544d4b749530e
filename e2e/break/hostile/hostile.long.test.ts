// A few cases of each surface with every run of the tests; `npm run hostile` tries many more.

import { describe, expect, test } from 'vitest';
import { runCases } from './runner.ts';

/** Seeds of each surface; each has the cases that the surface says. */
const SEEDS = 2;

describe('hostile input', () => {
  test('[HOST1] a stored value is read in bounded time, or is CORRUPT', async () => {
    expect(await runCases('values', 1, SEEDS)).toEqual([]);
  });

  test.for(['databases', 'wal'] as const)(
    '[HOST2] a file (%s) is taken and sound, or IMPORT_INVALID; other objects live on',
    async (surface) => {
      expect(await runCases(surface, 1, SEEDS)).toEqual([]);
    },
  );

  test('[HOST3] no statement reads or changes keys, values and the alarm', async () => {
    expect(await runCases('statements', 1, SEEDS)).toEqual([]);
  });

  test('[HOST4] a message of any shape is refused by an outcome, and the worker serves on', async () => {
    expect(await runCases('messages', 1, SEEDS)).toEqual([]);
  });

  test('[HOST5] 20,000 messages of followers, and a friend gets the outcome of each call', async () => {
    expect(await runCases('followers', 1, 20)).toEqual([]);
  });

  // A million in parts, each with an object and a process of its own.
  test.for(Array.from({ length: 20 }, (_, i) => 1001 + 50 * i))(
    '[HOST5] 50,000 messages of followers, from seed %i on',
    { tags: 'release' },
    async (seed) => {
      let figures = '';
      const failures = await runCases('followers', seed, 50, undefined, (found) => {
        figures = found;
      });
      expect(failures).toEqual([]);
      expect(figures).toMatch(/^50000 messages, /);
    },
  );
});
