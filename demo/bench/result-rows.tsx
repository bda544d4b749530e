// Shows the result: one table of ratios, and for each row the medians of all contenders as bars with their numbers.
//
// Invariant: every number that a bar shows is in the text of its table too.

import { LIMITS, OURS } from './contenders.ts';
import { inUnits, type PeerRow, ratioRow } from './peer-row.ts';
import { RatioTable } from './ratio-table.tsx';
import { CONTENDERS, PLACE_LABELS, results } from './run.ts';

const BAR_UNITS = 100;

export function Summary() {
  const rows = results.value;
  if (rows.length === 0) return null;
  return (
    <RatioTable label="Ratios" rows={rows.map(ratioRow)}>
      <caption class="visually-hidden">
        Ratios of {OURS} to the best durable peer and to the limit; below 1 is faster
      </caption>
    </RatioTable>
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
        {row.row} <span class="hint">{PLACE_LABELS[row.place]}</span>
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
