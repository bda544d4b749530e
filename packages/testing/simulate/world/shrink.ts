// Finds a short list of steps that still fails, by leaving out smaller and smaller parts.

/** The largest number of rounds that are run to shrink a failure. */
const TRIES_MAX = 120;

export async function shrink<Step>(
  steps: readonly Step[],
  fails: (steps: readonly Step[]) => Promise<boolean>,
): Promise<readonly Step[]> {
  let shortest = steps;
  let tries = 0;
  for (let part = Math.ceil(steps.length / 2); part >= 1; part = Math.floor(part / 2)) {
    for (let start = 0; start < shortest.length && tries < TRIES_MAX; tries++) {
      const fewer = [...shortest.slice(0, start), ...shortest.slice(start + part)];
      if (await fails(fewer)) shortest = fewer;
      else start += part;
    }
  }
  return shortest;
}
