// The measurements, as ratios and as times.

import { inUnits, type PeerRow } from '../../../demo/bench/peer-row.ts';
import { CONTENDERS, LIMITS, OURS } from './contenders.ts';

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
