// The measurements, as ratios and as times.

import { type PeerRow, ratioRow, timeText } from '../../../demo/bench/peer-row.ts';
import { CONTENDERS, LIMITS } from './contenders.ts';

/** Two tables: ratios, and the times of all. */
export function peerTables(rows: readonly PeerRow[]): string[][][] {
  const names = CONTENDERS.map(({ name }) => name);
  return [
    [
      ['row', 'where', 'ours', 'best durable peer', 'ours / peer', 'limit', 'ours / limit'],
      ...rows.map((measured) => {
        const { bestPeer, microseconds } = measured;
        const { row, place, ours, toBestPeer, toLimit } = ratioRow(measured);
        const best = bestPeer === null ? '–' : `${timeText(microseconds[bestPeer])}, ${bestPeer}`;
        return [row, place, ours, best, toBestPeer, timeText(microseconds[LIMITS]), toLimit];
      }),
    ],
    [
      ['row', 'where', ...names],
      ...rows.map(({ row, place, microseconds }) => [
        row,
        place,
        ...names.map((name) => timeText(microseconds[name])),
      ]),
    ],
  ];
}
