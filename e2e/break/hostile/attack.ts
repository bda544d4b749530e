// The cases of a seed. fast-check makes them and shrinks a case that fails.

import fc from 'fast-check';
import { Draws } from '../../../packages/testing/page/draws.ts';
import type { Surface } from './surface.ts';

/** Longest that a failed case is shrunk; a whole seed has a minute. */
const SHRINKING_MS_MAX = 20_000;

/**
 * The fault of the seed's first failing case, before and after shrinking; undefined when none fails. A
 * shrunk case may fail for another reason, such as damage that the first case left behind, so both are
 * reported.
 */
export async function attackSeed(surface: Surface, seed: number): Promise<string | undefined> {
  const faults: string[] = [];
  let deadlineMs = Number.POSITIVE_INFINITY;
  const property = fc.asyncProperty(fc.gen(), async (generate) => {
    if (performance.now() > deadlineMs) return true;
    const fault = await surface.attack(new Draws(generate)).catch(thrown);
    if (fault === undefined) return true;
    if (faults.length === 0) deadlineMs = performance.now() + SHRINKING_MS_MAX;
    faults.push(fault);
    return false;
  });
  await fc.check(property, { seed, numRuns: surface.casesPerSeed, unbiased: true });
  return faults.length > 1 ? `${faults[0]}\n  shrunk: ${faults.at(-1)}` : faults[0];
}

function thrown(error: unknown): string {
  return `threw ${error instanceof Error ? error.stack : error}`;
}
