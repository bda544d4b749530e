// Chooses the columns, points and scale of a chart of rows.

import type { SqlStorageValue } from '@ctx-storage/core/storage';

export interface ChartPoint {
  readonly label: string;
  readonly value: number;
}

/**
 * Returns the columns that have only numbers. The first column is omitted if other columns remain, because it labels
 * the rows.
 */
export function chartColumns(
  columns: readonly string[],
  rows: readonly (readonly SqlStorageValue[])[],
): number[] {
  const numeric = columns
    .map((_, index) => index)
    .filter((index) => {
      const values = rows.map((row) => row[index] ?? null).filter((value) => value !== null);
      return values.length > 0 && values.every((value) => typeof value === 'number');
    });
  return numeric.length > 1 && numeric[0] === 0 ? numeric.slice(1) : numeric;
}

/** Returns at most `most` points of a column, evenly spread over the rows. A row without a value has no point. */
export function chartPoints(
  rows: readonly (readonly SqlStorageValue[])[],
  column: number,
  most: number,
): ChartPoint[] {
  const step = Math.max(1, Math.ceil(rows.length / most));
  return rows
    .filter((row, index) => index % step === 0 && typeof row[column] === 'number')
    .map((row, index) => {
      const label = column === 0 ? index + 1 : row[0];
      return {
        label: label instanceof ArrayBuffer ? 'BLOB' : String(label ?? 'NULL'),
        value: row[column] as number,
      };
    });
}

/** Returns round numbers for the scale. They reach from the smallest value to the largest, and include 0. */
export function ticksOf(values: readonly number[], most = 4): number[] {
  const low = values.reduce((least, value) => Math.min(least, value), 0);
  const high = values.reduce((greatest, value) => Math.max(greatest, value), 0);
  if (low === high || !Number.isFinite(high - low)) return [0, 1];
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough)!;
  const first = Math.floor(low / step);
  const last = Math.ceil(high / step);
  return Array.from({ length: last - first + 1 }, (_, i) =>
    Number(((first + i) * step).toPrecision(12)),
  );
}
