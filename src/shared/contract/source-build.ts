// Names the versions of source code, so that the workers of all tabs agree which one is newer: the one that was given
// later. Equal source code is the same version, whenever and in whichever tab it was given.

/** Makes the name of a version that was given at `givenMs` (since the epoch). `digest` covers the code and its options. */
export function sourceBuild(givenMs: number, digest: string): string {
  return `${givenMs}.${digest}`;
}

/** Compares two names of versions, for the option `compareBuilds` of `serve`. */
export function compareSourceBuilds(one: number | string, other: number | string): number {
  const [oneMs, oneDigest] = String(one).split('.');
  const [otherMs, otherDigest] = String(other).split('.');
  if (oneDigest === otherDigest) return 0;
  return Number(oneMs) - Number(otherMs) || (String(one) > String(other) ? 1 : -1);
}
