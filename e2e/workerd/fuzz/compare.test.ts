// The comparison of two engines, with engines that only name the steps they were given.

import { expect, test } from 'vitest';
import { compareSeed, describe } from './compare.ts';
import type { Engine } from './implementations.ts';

/** Answers each step with its name, and those of `wrong` with something else. */
function engine(wrong?: string): Engine {
  return {
    run: async (steps) => steps.map(({ op }) => (op === wrong ? 'wrong' : op)),
    close: async () => {},
  };
}

test('engines that agree show no difference', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    expect(await compareSeed(seed, engine(), engine())).toBe(undefined);
  }
});

test('an engine that fails ends the comparison', async () => {
  const failing: Engine = {
    run: () => Promise.reject(new Error('the engine ended')),
    close: async () => {},
  };
  await expect(compareSeed(1, failing, engine())).rejects.toThrow('the engine ended');
});

test('a program that differs is shrunk, and its seed repeats it', async () => {
  const seeds = Array.from({ length: 20 }, (_, i) => i + 1);
  const found = await Promise.all(seeds.map((seed) => compareSeed(seed, engine(), engine('put'))));
  const differences = found.filter((difference) => difference !== undefined);
  expect(differences.length).toBeGreaterThan(5);
  for (const difference of differences) {
    const ops = difference.steps.map(({ op }) => op).filter((op) => op !== 'exec');
    expect(ops).toContain('put');
    // Every program ends with two more operations, and the shrinker may leave one operation that it
    // does not try to remove.
    expect(ops.length).toBeLessThanOrEqual(4);
    expect(describe(difference)).toContain(`npm run fuzz -- --seed ${difference.seed} --count 1`);
    expect(await compareSeed(difference.seed, engine(), engine('put'))).toEqual(difference);
  }
});
