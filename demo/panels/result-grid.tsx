// Rows as a table, with what SQLite tells apart kept apart: NULL, an empty text, a number, a BLOB.

import type { SqlStorageValue } from '../../src/index.ts';

const TEXT_LENGTH_MAX = 300;
const BLOB_BYTES_MAX = 12;

export interface ResultGridProps {
  readonly columnNames: readonly string[];
  readonly rows: readonly (readonly SqlStorageValue[])[];
}

export function ResultGrid({ columnNames, rows }: ResultGridProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards need to scroll a wide result
    <section class="grid-scroll" tabIndex={0} aria-label="Result">
      <table class="grid">
        <thead>
          <tr>
            <th class="grid-row-number" scope="col">
              <span class="visually-hidden">Row</span>
            </th>
            {columnNames.map((name, index) => (
              <th key={index} scope="col" class={isNumeric(rows, index) ? 'cell-number' : ''}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              <td class="grid-row-number">{index + 1}</td>
              {row.map((value, column) => (
                <Cell key={column} value={value} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

// Aligns the head of a column with its first value.
function isNumeric(rows: ResultGridProps['rows'], column: number): boolean {
  const first = rows.find((row) => row[column] !== null)?.[column];
  return typeof first === 'number';
}

function Cell({ value }: { value: SqlStorageValue }) {
  if (value === null) return <td class="cell-null">NULL</td>;
  if (typeof value === 'number') return <td class="cell-number">{String(value)}</td>;
  if (typeof value !== 'string') {
    return (
      <td class="cell-blob">
        BLOB {value.byteLength} B <span class="cell-hex">{hex(value)}</span>
      </td>
    );
  }
  if (value === '') return <td class="cell-null">''</td>;
  const rest = value.length - TEXT_LENGTH_MAX;
  return (
    <td class="cell-text">
      {rest > 0 ? `${value.slice(0, TEXT_LENGTH_MAX)}… (${rest} more)` : value}
    </td>
  );
}

function hex(buffer: ArrayBuffer): string {
  const bytes = new Uint8Array(buffer, 0, Math.min(buffer.byteLength, BLOB_BYTES_MAX));
  const text = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
  return buffer.byteLength > BLOB_BYTES_MAX ? `${text} …` : text;
}
