// The figures of the documents, which stand where the result will be until this browser has one.

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
