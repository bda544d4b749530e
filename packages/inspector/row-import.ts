// Writes the rows of a file into a table, in batches.
//
// Invariant: a batch is one statement, and so one transaction. Other calls may run between two batches. Rows that were
// written before a failure stay, unless the caller restores the bookmark of the moment before.

import type { StorageHandle } from '@ctx-storage/core/storage';
import type { ImportedColumn } from './column-kind.ts';
import type { RowFile, RowsRead } from './row-file.ts';
import { quoteName } from './tables.ts';

const BATCH_ROWS_MAX = 2000;
/**
 * The length of JSON after which a batch ends. It is far below the 2 MiB of a bound text, and is written in a few
 * milliseconds.
 */
const BATCH_LENGTH_MAX = 256 * 1024;

/** The error of an import that ended before the last row. */
export class ImportFailure extends Error {
  override readonly name = 'ImportFailure';
  readonly rowsWritten: number;
  /** The line at which the first batch that was not written begins. */
  readonly line: number;

  constructor(rowsWritten: number, line: number, options: ErrorOptions) {
    super(`The rows from line ${line} on were not written.`, options);
    this.rowsWritten = rowsWritten;
    this.line = line;
  }
}

/** Returns the statement that makes a table with these columns, unless there is a table of this name. */
export function createStatement(table: string, columns: readonly ImportedColumn[]): string {
  const declared = columns.map(({ name, kind }) => `${quoteName(name)} ${kind}`.trim());
  return `CREATE TABLE IF NOT EXISTS ${quoteName(table)} (${declared.join(', ')})`;
}

/** Returns the statement that inserts any number of rows, which are bound as one JSON text. */
export function insertStatement(table: string, columns: readonly ImportedColumn[]): string {
  const names = columns.map(({ name }) => quoteName(name)).join(', ');
  const values = columns.map((_, index) => `value ->> ${index}`).join(', ');
  return `INSERT INTO ${quoteName(table)} (${names}) SELECT ${values} FROM json_each(?)`;
}

/**
 * Imports the rows, and returns how many were written.
 *
 * @throws ImportFailure, whose cause is the error of the storage or the reason of the signal
 */
export async function importRows(
  storage: Pick<StorageHandle, 'sql'>,
  table: string,
  file: RowFile,
  signal: AbortSignal,
  onWritten: (rowsWritten: number) => void,
): Promise<number> {
  let rowsWritten = 0;
  let line = 1;
  const insert = insertStatement(table, file.columns);
  try {
    await storage.sql.exec(createStatement(table, file.columns)).ready;
    for await (const batch of file.batches(signal)) {
      for (const part of partsOf(batch)) {
        signal.throwIfAborted();
        line = part.line;
        await storage.sql.exec(insert, part.json).ready;
        rowsWritten += part.rowCount;
        onWritten(rowsWritten);
      }
    }
    return rowsWritten;
  } catch (cause) {
    throw new ImportFailure(rowsWritten, line, { cause });
  }
}

interface BatchPart {
  readonly json: string;
  readonly rowCount: number;
  readonly line: number;
}

function* partsOf({ rows, line }: RowsRead): Generator<BatchPart> {
  let texts: string[] = [];
  let length = 0;
  let first = line;
  for (const [index, row] of rows.entries()) {
    const text = JSON.stringify(row);
    texts.push(text);
    length += text.length;
    if (texts.length < BATCH_ROWS_MAX && length < BATCH_LENGTH_MAX && index < rows.length - 1) {
      continue;
    }
    yield { json: `[${texts.join(',')}]`, rowCount: texts.length, line: first };
    texts = [];
    length = 0;
    first = line + index + 1;
  }
}
