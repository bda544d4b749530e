// Which of two deployments is newer.
//
// Invariant: two deployments always compare in the same way, whoever asks; a worker is never newer than
// one of its own deployment, so a second tab of an app changes nothing.
//
// Does not promise an order of all: two deployments may come with different comparisons. The election
// (candidate.ts) ends whatever they say.

import type { Build, Deployment, Order } from '../../src/contract/deployment.ts';

/** Positive when `one` is newer than `other`, negative when it is older, 0 when they are the same. */
export type CompareBuilds = (one: Build, other: Build) => number;

/**
 * How `other` compares with `own`: by the app's comparison, or as numbers. A build is newer than no build.
 * What that leaves open is decided by the start of the pages, unless the code is the same.
 */
export function orderOf(other: Deployment, own: Deployment, compare?: CompareBuilds): Order {
  const sign = signOfBuilds(other.build, own.build, compare) ?? signOfStarts(other, own);
  if (sign === 0) return 'same';
  return sign > 0 ? 'newer' : 'older';
}

/** Undefined: the builds decide nothing. */
function signOfBuilds(
  one: Build | null,
  other: Build | null,
  compare: CompareBuilds | undefined,
): number | undefined {
  if (one === null && other === null) return undefined;
  if (one === null) return -1;
  if (other === null) return 1;
  if (one === other) return 0;
  if (compare !== undefined) return antisymmetric(compare, one, other);
  if (typeof one === 'number' && typeof other === 'number') return Math.sign(one - other);
  return undefined;
}

// The app's comparison meets builds of deployments that it knows nothing of. One that throws, or says
// that each of two is newer, would let two tabs take over from each other without end.
function antisymmetric(compare: CompareBuilds, one: Build, other: Build): number | undefined {
  try {
    const sign = Math.sign(compare(one, other));
    return sign + Math.sign(compare(other, one)) === 0 ? sign : undefined;
  } catch {
    return undefined;
  }
}

function signOfStarts(one: Deployment, other: Deployment): number {
  if (one.build === other.build && one.code === other.code) return 0;
  return Math.sign(one.startedMs - other.startedMs) || (identity(one) > identity(other) ? 1 : -1);
}

function identity({ build, code }: Deployment): string {
  return `${build} ${code}`;
}
