// Measures all contenders in alternating rounds, so that other load of the machine affects all of them.

import { LIMITS } from './contenders.ts';
import type { TimeRow } from './opened.ts';
import type { Place, Row } from './rows.ts';

/** The measurements of one row in one place: the microseconds of each round, by contender. */
export interface Measured {
  readonly name: string;
  readonly place: Place | 'visit';
  readonly rounds: ReadonlyMap<string, readonly number[]>;
}

/** A contender that takes part in the rounds. */
export interface Taker {
  readonly name: string;
  readonly time: TimeRow;
}

/** Measures a row. Each round begins with another contender, and the first round only warms up. */
export async function measureRow(
  { name, isFreeInWorker = false }: Row,
  place: Place,
  takers: readonly Taker[],
  roundCount: number,
  onRound: (measured: Measured, round: number) => void = () => {},
): Promise<Measured> {
  const rounds = new Map<string, number[]>();
  const measured: Measured = { name, place, rounds };
  const isLimited = place !== 'worker' || !isFreeInWorker;
  const taking = takers.filter((taker) => isLimited || taker.name !== LIMITS);
  for (let round = 0; round <= roundCount; round++) {
    for (const taker of rotated(taking, round)) {
      const time = await taker.time(name, place);
      if (time === null || round === 0) continue;
      rounds.set(taker.name, [...(rounds.get(taker.name) ?? []), time]);
    }
    onRound(measured, round);
  }
  return measured;
}

export function rotated<T>(list: readonly T[], count: number): T[] {
  const from = count % list.length;
  return [...list.slice(from), ...list.slice(0, from)];
}
