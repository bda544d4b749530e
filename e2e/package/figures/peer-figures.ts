// The table of peers from the files of `npm run bench -- --json FILE`: medians of the runs, and the range of each ratio.

import { readFileSync } from 'node:fs';
import { median } from '../../../demo/bench/median.ts';
import { inUnits, type PeerRow } from '../../../demo/bench/peer-row.ts';
import { LIMITS, OURS } from '../../bench/peers/contenders.ts';
import type { PeerFigures } from './figures.ts';

/** Rows that are in each of the files. */
export function peerFiguresOf(paths: readonly string[]): PeerFigures[] {
  const runs = paths.map((path) => {
    const { peers } = JSON.parse(readFileSync(path, 'utf8')) as { peers: PeerRow[] };
    return peers;
  });
  return runs[0]!.map(({ row, place }) => {
    const same = runs.map((run) => {
      const found = run.find((one) => one.row === row && one.place === place);
      if (found === undefined) throw new Error(`A run has no row ${row}, ${place}.`);
      return found;
    });
    const { bestPeer } = same[Math.floor(same.length / 2)]!;
    const time = (name: string | null) => {
      const times = same.flatMap(({ microseconds }) => microseconds[name ?? ''] ?? []);
      return times.length === 0 ? '–' : inUnits(median(times));
    };
    const best = bestPeer === null ? '–' : `${time(bestPeer)}, ${bestPeer}`;
    const toBest = ratios(same.map(({ toBestPeer }) => toBestPeer));
    const toLimit = ratios(same.map((one) => one.toLimit));
    return { row, place, ours: time(OURS), best, toPeer: toBest, limit: time(LIMITS), toLimit };
  });
}

function ratios(all: readonly (number | null)[]): string {
  const known = all.filter((ratio) => ratio !== null);
  if (known.length === 0) return '–';
  const text = (ratio: number) => ratio.toFixed(2);
  return `${text(median(known))} (${text(Math.min(...known))} to ${text(Math.max(...known))})`;
}
