// Decides which of two deployments is newer.
//
// Invariant: two workers always agree about their order. Workers of the same deployment are equal, so that a second tab of
// an app causes no takeover. No assertion keeps this: the two compare in two threads, with a function of the app.
//
// The order need not be transitive, because each deployment may bring its own comparison. The election (candidacy.ts)
// terminates in any case.

import type { Build, Deployment, Order } from '../../../src/shared/contract/deployment.ts';
import { type ClassRegistry, sourceTextOf } from '../../objects/instance/object-class.ts';

/**
 * Returns a positive number when `one` is newer than `other`, a negative number when it is older, 0 when they are
 * equal.
 */
export type CompareBuilds = (one: Build, other: Build) => number;

/**
 * Compares `other` with `own`: by the app's comparison, or as numbers. A deployment with a build is newer than a
 * deployment without a build. If the builds decide nothing, the deployment whose page was opened later is newer, unless
 * the code is equal.
 */
export function orderOf(other: Deployment, own: Deployment, compare?: CompareBuilds): Order {
  const sign = signOfBuilds(other.build, own.build, compare) ?? signOfStarts(other, own);
  if (sign === 0) return 'same';
  return sign > 0 ? 'newer' : 'older';
}

/** Compares the builds; undefined if they decide nothing. */
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

// Calls the app's comparison in both directions. Returns undefined if the comparison throws or contradicts itself, as
// it may for builds that it does not know: two tabs would then take over from each other for ever.
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

/**
 * Computes a digest of a worker's code. It is equal in all tabs of one deployment, and differs between deployments, as far
 * as this can be known without the app's help.
 *
 * It covers the address of the script, which differs between deployments if the bundler puts a hash into it, and the texts
 * of the classes. The address of a blob is ignored, because it differs in each tab.
 */
export async function codeDigest(
  address: string,
  classes?: ClassRegistry,
  entryTexts: readonly string[] = [],
): Promise<string> {
  const hosted = [...(classes?.all ?? []), ...(classes?.facetClasses.values() ?? [])];
  const texts = hosted.map(({ name, construct }) => `${name}\n${sourceTextOf(construct)}`);
  const place = address.startsWith('blob:') ? '' : address.split('#', 1)[0]!;
  const bytes = new TextEncoder().encode(JSON.stringify([place, ...texts, ...entryTexts]));
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest.subarray(0, 16), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
