import { describe, expect, test } from 'vitest';
import { type Committed, NEWEST, type SightedRead, Sightings } from './sightings.ts';

const ENTRIES = Array.from({ length: 12 }, (_, i) => `entry ${i + 1}`);
const COMMITTED: Committed = { rows: ENTRIES, key: ENTRIES, keys: ENTRIES, method: ENTRIES };
const READS: readonly SightedRead[] = ['rows', 'key', 'keys', 'method'];

const newestAt = (read: SightedRead, position: number) =>
  ENTRIES.slice(Math.max(0, position - (read === 'key' ? 1 : NEWEST)), position);

/** A tab whose live reads show all these positions, one after the other. */
function showing(sightings: Sightings, tab: string, positions: readonly number[]): void {
  sightings.begin(tab);
  for (const read of READS) show(sightings, tab, read, positions);
  sightings.began(tab);
}

function show(
  sightings: Sightings,
  tab: string,
  read: SightedRead,
  positions: readonly number[],
): void {
  positions.forEach((position, i) => {
    const newest = newestAt(read, position);
    sightings.enter({ tab, read, number: i + 1, position, newest }, 0);
  });
}

describe('the audit of live reads in a torture', () => {
  test('[LIVE14] finds nothing wrong with values in order up to the last, some left out', () => {
    const sightings = new Sightings();
    showing(sightings, 'a', [0, 1, 2, 9, 12]);
    showing(sightings, 'b', [12]);
    expect(sightings.audit(COMMITTED)).toEqual([]);
    expect(sightings.count).toBe(6 * READS.length);
  });

  const WRONG: readonly (readonly [what: string, positions: readonly number[], fault: string])[] = [
    ['a value of before', [3, 2, 12], 'a keys goes back from 3 to 2'],
    ['a value that is shown twice', [3, 3, 12], 'a keys shows 3 twice'],
    ['a last value that is missing', [3, 11], 'a keys ends at 11 of 12'],
    ['silence from the beginning', [], 'a keys ends at nothing of 12'],
    ['shown and lost entries', [12, 13], 'a keys ends at 13 of 12'],
  ];
  test.each(WRONG)('[LIVE14] finds %s', (_, positions, fault) => {
    const sightings = new Sightings();
    showing(sightings, 'a', positions);
    expect(sightings.audit(COMMITTED)).toContain(fault);
  });

  test.each([
    ['entries in another order than that of the commits', ['entry 2', 'entry 1']],
    ['an entry left out', ['entry 2']],
    ['an entry that was not committed', ['entry 1', 'another']],
  ])('[LIVE14] finds %s', (_, newest) => {
    const sightings = new Sightings();
    showing(sightings, 'a', [12]);
    sightings.begin('b');
    sightings.enter({ tab: 'b', read: 'rows', number: 1, position: 2, newest }, 0);
    expect(sightings.audit(COMMITTED)).toContain(
      `b rows shows ${newest.join(' ')} at 2, but entry 1 entry 2 were committed`,
    );
  });

  test('[LIVE14] finds a tab that begins with a state that another has seen change', () => {
    const sightings = new Sightings();
    showing(sightings, 'a', [5, 12]);
    showing(sightings, 'b', [11, 12]);
    expect(sightings.audit(COMMITTED)).toContain('b rows begins at 11, after a tab has shown 12');
  });

  test('[LIVE14] finds values that come in another order than they were shown in', () => {
    const sightings = new Sightings();
    showing(sightings, 'a', [12]);
    sightings.begin('b');
    for (const [i, number] of [2, 1].entries()) {
      const newest = newestAt('rows', i + 1);
      sightings.enter({ tab: 'b', read: 'rows', number, position: i + 1, newest }, 0);
    }
    expect(sightings.audit(COMMITTED)).toContain('b rows: value 2 came as 1');
  });

  test('[LIVE14] a live read that is silent for too long is named', async () => {
    const sightings = new Sightings();
    showing(sightings, 'a', [3]);
    show(sightings, 'a', 'rows', [12]);
    expect(await sightings.silent({ rows: 12, method: 4 }, 1)).toEqual([
      'a method is silent at 3, not at 4',
    ]);
  });

  test('[LIVE14] later results of live reads, and tabs that close, end the waiting for them', async () => {
    const sightings = new Sightings();
    showing(sightings, 'a', [3]);
    showing(sightings, 'b', [3]);
    const silent = sightings.silent({ rows: 4 }, 20_000);
    const newest = newestAt('rows', 4);
    sightings.enter({ tab: 'a', read: 'rows', number: 2, position: 4, newest }, 0);
    sightings.end('b');
    expect(await silent).toEqual([]);
  });

  test('[LIVE14] the longest time between two values leaves out pauses', () => {
    const sightings = new Sightings();
    showing(sightings, 'a', [1]);
    const next = (position: number, nowMs: number) =>
      sightings.enter(
        { tab: 'a', read: 'key', number: position, position, newest: newestAt('key', position) },
        nowMs,
      );
    next(2, 40);
    sightings.pause();
    next(3, 1000);
    next(4, 1030);
    expect(sightings.longestSilenceMs).toBe(40);
  });
});
