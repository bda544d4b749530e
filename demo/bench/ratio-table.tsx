// Shows a table of ratios, either of the last run in this browser or of the documents.

import type { ComponentChildren } from 'preact';
import type { RatioRow } from './peer-row.ts';

export function RatioTable(props: {
  readonly label: string;
  readonly rows: readonly RatioRow[];
  readonly children: ComponentChildren;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region can be reached by keyboard
    <section class="grid-scroll bench-ratios" aria-label={props.label} tabIndex={0}>
      <table class="grid">
        {props.children}
        <thead>
          <tr>
            <th scope="col">Row</th>
            <th scope="col" class="cell-number">
              ours
            </th>
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
          {props.rows.map(({ row, place, ours, toBestPeer, toLimit, bestPeer }) => (
            <tr key={`${place}: ${row}`}>
              <th scope="row">
                {row} <span class="hint">{place}</span>
              </th>
              <td class="cell-number">{ours}</td>
              <td
                class="cell-number"
                data-faster={Number.parseFloat(toBestPeer) < 1 ? '' : undefined}
              >
                {toBestPeer}
              </td>
              <td class="cell-number">{toLimit}</td>
              <td>{bestPeer}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
