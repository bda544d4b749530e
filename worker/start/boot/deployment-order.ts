// Which of two deployments is newer.
//
// Invariant: two deployments always compare in the same way, whoever asks; a worker is never newer than
// one of its own deployment, so a second tab of an app changes nothing.
//
// Does not promise an order of all: two deployments may come with different comparisons. The election
// (candidate.ts) ends whatever they say.

import type { Build, Deployment, Order } from '../../../src/shared/contract/deployment.ts';
import { type ClassRegistry, sourceTextOf } from '../../objects/instance/object-class.ts';

/** Positive when `one` is newer than `other`, negative when it is older, 0 when they are the same. */
export type CompareBuilds = (one: Build, other: Build) => number;

/**
 * How `other` compares with `own`: by the app's comparison, or as numbers. A build is newer than no build.
 * Otherwise the start of the pages decides, unless the code is the same.
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

// The app's comparison meets builds of deployments that it knows nothing of. A comparison that throws,
// or finds each of two newer, would let two tabs take over from each other without end.
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
 * A digest of the code that a worker runs, whose script has this address: equal in all tabs of one deployment, and
 * different in tabs of another, as far as possible without the app's help.
 *
 * The address of the script differs between deployments whose bundler puts a hash into it, the text of the classes
 * between most others. A blob's address differs in each tab, so it is ignored.
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
