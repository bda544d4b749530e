// The figures of the documents, which stand where the result will be until this browser has one.

import text from '../../docs/benchmarks.md?raw';
import { documentedRows, machineOf } from './documented-rows.ts';

const rows = documentedRows(text);
const machine = machineOf(text);

export function Documented() {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region can be reached by keyboard
    <section class="grid-scroll bench-ratios" aria-label="Figures of the documents" tabIndex={0}>
      <table class="grid">
        <caption>
          From the documents, not from this machine. <span class="hint">{machine}</span>
        </caption>
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
          {rows.map(({ row, place, ours, toBestPeer, toLimit, bestPeer }) => (
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
