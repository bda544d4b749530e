// Writes rows as CSV or JSON for other programs. Bytes become hexadecimal digits.

import type { SqlStorageValue } from '@ctx-storage/core/storage';
import { guardedText } from './formula-guard.ts';

export type RowFormat = 'csv' | 'json';

type Row = readonly SqlStorageValue[];

/** The length of text that is collected before it becomes a part of the file. */
const PART_LENGTH = 256 * 1024;

/** Writes a field of CSV. NULL is empty, a text has quotes if it needs them, and no text is a formula. */
export function csvField(value: SqlStorageValue): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return hexOf(value);
  const text = guardedText(value);
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csvLine(row: Row): string {
  return `${row.map(csvField).join(',')}\r\n`;
}

function jsonRow(columns: readonly string[], row: Row): string {
  const members = columns.map((name, index) => {
    const value = row[index] ?? null;
    return [name, value instanceof ArrayBuffer ? hexOf(value) : value] as const;
  });
  return JSON.stringify(Object.fromEntries(members));
}

/** Makes the file of these rows. `onRow` is called at times with the number of rows so far. */
export async function rowsAsFile(
  format: RowFormat,
  columns: () => readonly string[],
  rows: AsyncIterable<Row> | Iterable<Row>,
  onRow: (count: number) => void = () => {},
): Promise<Blob> {
  const parts: Blob[] = [];
  let text = format === 'csv' ? '' : '[\n';
  let count = 0;
  for await (const row of rows) {
    if (format === 'csv') text += count === 0 ? csvLine(columns()) + csvLine(row) : csvLine(row);
    else text += `${count === 0 ? '' : ',\n'}${jsonRow(columns(), row)}`;
    count += 1;
    if (text.length < PART_LENGTH) continue;
    parts.push(new Blob([text]));
    text = '';
    onRow(count);
  }
  if (format === 'csv' && count === 0) text = csvLine(columns());
  if (format === 'json') text += '\n]\n';
  const type = format === 'csv' ? 'text/csv' : 'application/json';
  return new Blob([...parts, text], { type });
}

/** Lets the browser download a file. */
export function saveFile(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}

function hexOf(bytes: ArrayBuffer): string {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
