// Runs a program in both engines; a difference is shrunk to the shortest program that still shows it.

import type { Engine } from './implementations.ts';
import { makeProgram, type Step } from './program.ts';

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
  let steps: readonly Step[] = makeProgram(seed);
  let found = await difference(steps, here, there);
  if (found === undefined) return undefined;
  for (let i = steps.length - 1; i >= 0; i--) {
    const shorter = steps.toSpliced(i, 1);
    const still = await difference(shorter, here, there);
    if (still === undefined) continue;
    steps = shorter;
    found = still;
  }
  return { seed, steps, ...found };
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

/** The difference as text: the program, and what each gave where they part. */
export function describe({ seed, steps, here, there }: Difference): string {
  const lines = steps.map((step, i) => `  ${i}: ${JSON.stringify(step)}`);
  return [
    `seed ${seed}`,
    ...lines,
    `  here    ${JSON.stringify(here)}`,
    `  workerd ${JSON.stringify(there)}`,
  ].join('\n');
}
