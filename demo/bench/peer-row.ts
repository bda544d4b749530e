// Turns the measurements of a row into a line of the result: medians, and ratios to the best peer and to the limit.

import { type Contender, LIMITS, OURS } from './contenders.ts';
import { median } from './median.ts';
import type { Measured } from './rounds.ts';

/** A row of the result. Times are medians of the rounds in microseconds; null where nothing was measured. */
export interface PeerRow {
  readonly row: string;
  readonly place: string;
  readonly microseconds: Readonly<Record<string, number>>;
  readonly bestPeer: string | null;
  readonly toBestPeer: number | null;
  readonly toLimit: number | null;
}

/** A row of the table of ratios, as texts. */
export interface RatioRow {
  readonly row: string;
  readonly place: string;
  readonly ours: string;
  readonly bestPeer: string;
  readonly toBestPeer: string;
  readonly toLimit: string;
}

/** The contenders that are not peers: this package itself, and entries that are not libraries. */
const NO_PEERS = ['ours', 'limits', 'comlink'];

export function peerRow(
  { name, place, rounds }: Measured,
  contenders: readonly Contender[],
): PeerRow {
  const microseconds = Object.fromEntries(
    [...rounds].map(([contender, times]) => [contender, median(times)]),
  );
  const [best] = contenders
    .filter(({ kit, durable }) => durable && !NO_PEERS.includes(kit))
    .filter((peer) => microseconds[peer.name] !== undefined)
    .sort((a, b) => microseconds[a.name]! - microseconds[b.name]!);
  const ratio = (other: string | undefined) => {
    const [ours, theirs] = [microseconds[OURS], microseconds[other ?? '']];
    return ours === undefined || theirs === undefined ? null : ours / theirs;
  };
  return {
    row: name,
    place,
    microseconds,
    bestPeer: best?.name ?? null,
    toBestPeer: ratio(best?.name),
    toLimit: ratio(LIMITS),
  };
}

export function ratioRow(measured: PeerRow): RatioRow {
  const { row, place, microseconds, bestPeer, toBestPeer, toLimit } = measured;
  return {
    row,
    place,
    ours: timeText(microseconds[OURS]),
    bestPeer: bestPeer ?? '–',
    toBestPeer: ratioText(toBestPeer),
    toLimit: ratioText(toLimit),
  };
}

/** Formats a time for a table, as a dash if nothing was measured. */
export function timeText(microseconds: number | undefined): string {
  return microseconds === undefined ? '–' : inUnits(microseconds);
}

function ratioText(ratio: number | null): string {
  return ratio === null ? '–' : ratio.toFixed(2);
}

export function inUnits(microseconds: number): string {
  if (microseconds < 1000) return `${microseconds.toPrecision(3)} µs`;
  if (microseconds < 1_000_000) return `${(microseconds / 1000).toPrecision(3)} ms`;
  return `${(microseconds / 1_000_000).toPrecision(3)} s`;
}
