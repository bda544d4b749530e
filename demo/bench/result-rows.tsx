// The result: one table of ratios, and for each row the medians of all, as bars with their numbers.
//
// Invariant: every number that a bar shows is in the text of its table too.

import { LIMITS, OURS } from './contenders.ts';
import { inUnits, type PeerRow } from './peer-row.ts';
import { CONTENDERS, results } from './run.ts';

const BAR_UNITS = 100;

const PLACES: Readonly<Record<string, string>> = {
  page: 'from a page',
  class: 'by methods of a class',
  worker: 'in the worker',
};

export function Summary() {
  const rows = results.value;
  if (rows.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region can be reached by keyboard
    <section class="grid-scroll bench-ratios" aria-label="Ratios" tabIndex={0}>
      <table class="grid">
        <caption class="visually-hidden">
          Ratios of {OURS} to the best durable peer and to the limit; below 1 is faster
        </caption>
        <thead>
          <tr>
            <th scope="col">Row</th>
            <th scope="col" class="cell-number">
              ours / peer
            </th>
            <th scope="col" class="cell-number">
              ours / limit
            </th>
            <th scope="col">Best durable peer</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              <th scope="row">
                {row.row} <span class="hint">{row.place}</span>
              </th>
              <td class="cell-number" data-faster={isFaster(row.toBestPeer)}>
                {ratio(row.toBestPeer)}
              </td>
              <td class="cell-number">{ratio(row.toLimit)}</td>
              <td>{row.bestPeer ?? '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export function ResultRows() {
  return (
    <div class="bench-rows">
      {results.value.map((row) => (
        <Bars key={keyOf(row)} row={row} />
      ))}
    </div>
  );
}

function Bars({ row }: { row: PeerRow }) {
  const measured = CONTENDERS.flatMap(({ name }) => {
    const time = row.microseconds[name];
    return time === undefined ? [] : [{ name, time }];
  });
  const longest = Math.max(...measured.map(({ time }) => time));
  return (
    <table class="bench-bars">
      <caption>
        {row.row} <span class="hint">{PLACES[row.place]}</span>
      </caption>
      <thead class="visually-hidden">
        <tr>
          <th scope="col">Who</th>
          <th scope="col">Bar</th>
          <th scope="col">Median</th>
        </tr>
      </thead>
      <tbody>
        {measured.map(({ name, time }) => (
          <tr key={name} data-kind={kindOf(name)}>
            <th scope="row">{name}</th>
            <td class="bench-bar">
              <svg viewBox={`0 0 ${BAR_UNITS} 1`} preserveAspectRatio="none" aria-hidden="true">
                <rect width={(time / longest) * BAR_UNITS} height="1" />
              </svg>
            </td>
            <td class="cell-number">{inUnits(time)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function kindOf(name: string): string {
  if (name === OURS) return 'ours';
  return name === LIMITS ? 'limit' : 'peer';
}

function keyOf({ place, row }: PeerRow): string {
  return `${place}: ${row}`;
}

function ratio(value: number | null): string {
  return value === null ? '–' : value.toFixed(2);
}

function isFaster(value: number | null): string | undefined {
  return value !== null && value < 1 ? '' : undefined;
}
