// Runs the program of a seed in both engines. fast-check makes the program, and shrinks a program whose
// results differ until a short program is left that still differs.

import fc from 'fast-check';
import type { Engine } from './implementations.ts';
import { programs } from './program.ts';
import type { Step } from './step.ts';

/** Programs that are run to shrink one. */
const SHRINKING_RUNS_MAX = 2000;

export interface Difference {
  readonly seed: number;
  readonly steps: readonly Step[];
  readonly here: unknown;
  readonly there: unknown;
}

/** The difference that a seed's program shows, or undefined. */
export async function compareSeed(
  seed: number,
  here: Engine,
  there: Engine,
): Promise<Difference | undefined> {
  let found: Difference | undefined;
  let runs = 0;
  const property = fc.asyncProperty(programs, async (steps) => {
    if (++runs > SHRINKING_RUNS_MAX) return true;
    const parted = await difference(steps, here, there);
    if (parted !== undefined) found = { seed, steps, ...parted };
    return parted === undefined;
  });
  // Unbiased: a bias for the first and last choice of each list would only repeat those.
  const checked = await fc.check(property, { seed, numRuns: 1, unbiased: true });
  // An engine that fails has shown nothing, and is no difference either.
  if (checked.failed && found === undefined) throw checked.errorInstance;
  return found;
}

async function difference(steps: readonly Step[], here: Engine, there: Engine) {
  const [ours, theirs] = await Promise.all([here.run(steps), there.run(steps)]);
  const count = Math.max(ours.length, theirs.length);
  for (let i = 0; i < count; i++) {
    if (JSON.stringify(ours[i]) === JSON.stringify(theirs[i])) continue;
    return { here: { step: i, result: ours[i] }, there: { step: i, result: theirs[i] } };
  }
  return undefined;
}

/** The difference as text: the program, the results that differ, and the command that repeats it. */
export function describe({ seed, steps, here, there }: Difference): string {
  const lines = steps.map((step, i) => `  ${i}: ${JSON.stringify(step)}`);
  return [
    `seed ${seed}`,
    ...lines,
    `  here    ${JSON.stringify(here)}`,
    `  workerd ${JSON.stringify(there)}`,
    `  npm run fuzz -- --seed ${seed} --count 1`,
  ].join('\n');
}
