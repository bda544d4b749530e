// Names for versions of source among the workers of all tabs: the later one is newer, and equal source is one
// version, whenever and wherever it was given.

/** `digest`: of all that the worker is given. `givenMs`: milliseconds since the epoch. */
export function sourceBuild(givenMs: number, digest: string): string {
  return `${givenMs}.${digest}`;
}

/** For `compareBuilds`. */
export function compareSourceBuilds(one: number | string, other: number | string): number {
  const [oneMs, oneDigest] = String(one).split('.');
  const [otherMs, otherDigest] = String(other).split('.');
  if (oneDigest === otherDigest) return 0;
  return Number(oneMs) - Number(otherMs) || (String(one) > String(other) ? 1 : -1);
}
