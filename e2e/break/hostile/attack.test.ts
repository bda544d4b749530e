// The cases of a seed, on surfaces that report their own faults.

import { expect, test } from 'vitest';
import type { Draws } from '../../../packages/testing/page/draws.ts';
import { attackSeed } from './attack.ts';
import type { Surface } from './surface.ts';

function surface(attack: (draws: Draws) => string | undefined): Surface {
  return { casesPerSeed: 20, attack: async (draws) => attack(draws), close: async () => {} };
}

const numbers = (draws: Draws) => draws.times(5, () => draws.below(100));

test('a seed makes the same cases each time, and other seeds make others', async () => {
  const casesOf = async (seed: number) => {
    const cases: number[][] = [];
    await attackSeed(
      surface((draws) => {
        cases.push(numbers(draws));
        return undefined;
      }),
      seed,
    );
    return cases;
  };
  const first = await casesOf(1);
  expect(first).toHaveLength(20);
  expect(new Set(first.map(String)).size).toBe(20);
  expect(await casesOf(1)).toEqual(first);
  expect(await casesOf(2)).not.toEqual(first);
});

test('the first case that fails is told, and the shortest like it', async () => {
  const failing: string[] = [];
  const fault = await attackSeed(
    surface((draws) => {
      const made = numbers(draws);
      if (made.every((number) => number <= 60)) return undefined;
      failing.push(`made ${made}`);
      return failing.at(-1);
    }),
    1,
  );
  const [first, shrunk] = fault!.split('\n  shrunk: ');
  expect(first).toBe(failing[0]);
  expect(first!.split(',').filter((number) => number === '0').length).toBeLessThan(4);
  expect(shrunk!.slice('made '.length).split(',').sort()).toEqual(['0', '0', '0', '0', '61']);
});

test('a case that throws has failed', async () => {
  const fault = await attackSeed(
    surface(() => {
      throw new Error('on purpose');
    }),
    1,
  );
  expect(fault).toContain('threw Error: on purpose');
});
