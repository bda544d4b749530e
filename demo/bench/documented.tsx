// Shows the figures of the documents where the result will be, until this browser has a result.

import text from '../../docs/benchmarks.md?raw';
import { documentedRows, machineOf } from './documented-rows.ts';
import { RatioTable } from './ratio-table.tsx';

const rows = documentedRows(text);
const machine = machineOf(text);

export function Documented() {
  return (
    <RatioTable label="Figures of the documents" rows={rows}>
      <caption>
        From the documents, not from this machine. <span class="hint">{machine}</span>
      </caption>
    </RatioTable>
  );
}
