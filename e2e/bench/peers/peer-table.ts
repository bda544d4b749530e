// What was measured, as ratios and as times.

import { CONTENDERS, LIMITS, OURS } from './contenders.ts';
import type { Measured } from './peer-rounds.ts';

/** One row of the result. Times in microseconds, medians of the rounds; null where nothing was measured. */
export interface PeerRow {
  readonly row: string;
  readonly place: string;
  readonly microseconds: Readonly<Record<string, number>>;
  readonly bestPeer: string | null;
  readonly toBestPeer: number | null;
  readonly toLimit: number | null;
}

export function peerRow({ name, place, rounds }: Measured): PeerRow {
  const microseconds = Object.fromEntries(
    [...rounds].map(([contender, times]) => [contender, median(times)]),
  );
  const peers = CONTENDERS.filter(({ kit, durable }) => {
    return durable && !['ours', 'limits', 'comlink'].includes(kit);
  });
  const [best] = peers
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

/** Two tables: ratios, and the times of all. */
export function peerTables(rows: readonly PeerRow[]): string[][][] {
  const time = (us: number | undefined) => (us === undefined ? '–' : inUnits(us));
  const ratio = (value: number | null) => (value === null ? '–' : value.toFixed(2));
  const names = CONTENDERS.map(({ name }) => name);
  return [
    [
      ['row', 'where', 'ours', 'best durable peer', 'ours / peer', 'limit', 'ours / limit'],
      ...rows.map(({ row, place, microseconds, bestPeer, toBestPeer, toLimit }) => [
        row,
        place,
        time(microseconds[OURS]),
        bestPeer === null ? '–' : `${time(microseconds[bestPeer])}, ${bestPeer}`,
        ratio(toBestPeer),
        time(microseconds[LIMITS]),
        ratio(toLimit),
      ]),
    ],
    [
      ['row', 'where', ...names],
      ...rows.map(({ row, place, microseconds }) => [
        row,
        place,
        ...names.map((name) => time(microseconds[name])),
      ]),
    ],
  ];
}

function inUnits(microseconds: number): string {
  if (microseconds < 1000) return `${microseconds.toPrecision(3)} µs`;
  return `${(microseconds / 1000).toPrecision(3)} ms`;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
