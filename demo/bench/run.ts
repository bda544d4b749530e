// Runs the benchmark in this page and keeps its state for the page to draw, from the start until all data is removed.
//
// Invariant: one tab of the origin runs at a time, because all of them store under the same names; however a run ends,
// its workers end before their data is removed.

import { signal } from '@preact/signals';
import { type Contender, OURS, SMALL_CONTENDERS } from './contenders.ts';
import { Ends } from './ends.ts';
import { type Circumstances, keepRun, readRun } from './kept-run.ts';
import { removeLeftovers } from './leftovers.ts';
import { openContender } from './openers.ts';
import { type PeerRow, peerRow } from './peer-row.ts';
import { measureRow, type Taker } from './rounds.ts';
import { type Place, ROWS, type Row } from './rows.ts';

const LOCK = 'ctx-storage-bench';

export const CONTENDERS: readonly Contender[] = Object.values(SMALL_CONTENDERS);

/** A row to measure, in one of the places where its work can run. */
export interface Wanted {
  readonly row: Row;
  readonly place: Place;
}

export const PLACE_LABELS: Readonly<Record<string, string>> = {
  page: 'from a page',
  class: 'by methods of a class',
  worker: 'in the worker',
};

export const ALL: readonly Wanted[] = (['page', 'class', 'worker'] as const).flatMap((place) =>
  ROWS.filter(({ places }) => places.includes(place)).map((row) => ({ row, place })),
);

export type Phase =
  | { readonly kind: 'idle' }
  | { readonly kind: 'running'; readonly said: string; readonly done: number; readonly of: number }
  | { readonly kind: 'stopping' }
  | { readonly kind: 'ended'; readonly how: 'done' | 'stopped'; readonly left: readonly string[] }
  | { readonly kind: 'busy' }
  | { readonly kind: 'failed'; readonly reason: string };

const kept = readRun();

export const phase = signal<Phase>({ kind: 'idle' });
export const results = signal<readonly PeerRow[]>(kept?.rows ?? []);
export const circumstances = signal<Circumstances | null>(kept?.circumstances ?? null);
/** The reasons why contenders do not take part, by the name of the contender. */
export const absent = signal<Readonly<Record<string, string>>>(kept?.absent ?? {});

class Stopped extends Error {}

let stopRun: () => void = () => {};
let earlierRemoved: Promise<void> = Promise.resolve();

/** Ends the current run; its measurements so far stay on the page. */
export function stop(): void {
  phase.value = { kind: 'stopping' };
  stopRun();
}

/** Measures these rows and reports the outcome in the signals of this module. */
export async function run(wanted: readonly Wanted[], roundCount: number): Promise<void> {
  phase.value = { kind: 'running', said: 'Opening…', done: 0, of: 1 };
  await earlierRemoved; // The removal holds the lock that the run asks for next.
  await navigator.locks.request(LOCK, { ifAvailable: true }, async (lock) => {
    if (lock === null) {
      phase.value = { kind: 'busy' };
      return;
    }
    phase.value = await attempt(wanted, roundCount).catch((error) => {
      return { kind: 'failed', reason: String(error) } as const;
    });
  });
}

/** Removes the data of a tab that was closed while it ran, unless another tab is running. */
export function removeEarlier(): void {
  earlierRemoved = navigator.locks.request(LOCK, { ifAvailable: true }, async (lock) => {
    if (lock !== null) await removeLeftovers();
  });
}

async function attempt(wanted: readonly Wanted[], roundCount: number): Promise<Phase> {
  await removeLeftovers();
  const ends = new Ends();
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  stopped.catch(() => {}); // prevents an unhandled rejection when nobody waits
  stopRun = () => reject(new Stopped());
  const noteHidden = () => {
    if (document.hidden) circumstances.value = { ...circumstances.value!, wasHidden: true };
  };
  results.value = [];
  absent.value = {};
  circumstances.value = {
    date: new Date().toISOString(),
    browser: navigator.userAgent,
    cores: navigator.hardwareConcurrency,
    rounds: roundCount,
    medium: null,
    wasHidden: document.hidden,
  };
  document.addEventListener('visibilitychange', noteHidden);
  let how: 'done' | 'stopped' = 'done';
  let left: readonly string[] = [];
  try {
    const takers = await openAll(ends, stopped);
    await measureAll(wanted, roundCount, takers);
    keepRun({ circumstances: circumstances.value, absent: absent.value, rows: results.value });
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
    how = 'stopped';
  } finally {
    document.removeEventListener('visibilitychange', noteHidden);
    ends.end();
    left = await removeLeftovers();
  }
  return { kind: 'ended', how, left };
}

async function openAll(ends: Ends, stopped: Promise<never>): Promise<Taker[]> {
  const takers: Taker[] = [];
  for (const [i, contender] of CONTENDERS.entries()) {
    const { name } = contender;
    phase.value = { kind: 'running', said: `Opening ${name}`, done: i, of: CONTENDERS.length };
    try {
      const { time, medium } = await Promise.race([openContender(contender, ends), stopped]);
      if (name === OURS) circumstances.value = { ...circumstances.value!, medium };
      takers.push({ name, time: (row, place) => Promise.race([time(row, place), stopped]) });
    } catch (error) {
      if (error instanceof Stopped) throw error;
      dropOut(name, error);
    }
  }
  return takers.map((taker) => ({ ...taker, time: untilItFails(taker) }));
}

/** Wraps a contender's timing so that a failure excludes it from the rest of the run, while the others go on. */
function untilItFails({ name, time }: Taker): Taker['time'] {
  return async (row, place) => {
    if (absent.value[name] !== undefined) return null;
    try {
      return await time(row, place);
    } catch (error) {
      if (error instanceof Stopped) throw error;
      dropOut(name, `${place}: ${row}: ${error}`);
      return null;
    }
  };
}

function dropOut(name: string, error: unknown): void {
  const [reason] = String(error).split('\n');
  absent.value = { ...absent.value, [name]: reason! };
}

async function measureAll(
  wanted: readonly Wanted[],
  roundCount: number,
  takers: readonly Taker[],
): Promise<void> {
  const roundsOfRow = roundCount + 1;
  for (const [i, { row, place }] of wanted.entries()) {
    const earlier = results.value;
    const said = `Row ${i + 1} of ${wanted.length}: ${row.name}, ${place}`;
    const of = wanted.length * roundsOfRow;
    phase.value = { kind: 'running', said, done: i * roundsOfRow, of };
    await measureRow(row, place, takers, roundCount, (measured, round) => {
      if (phase.value.kind !== 'running') return;
      phase.value = { kind: 'running', said, done: i * roundsOfRow + round + 1, of };
      if (measured.rounds.size > 0) results.value = [...earlier, peerRow(measured, CONTENDERS)];
    });
  }
}
