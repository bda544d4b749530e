// Performs bulk calls on an object's storage synchronously: all of their statements or none.
//
// Invariant: an error names the row or statement that failed, and undoes the whole call.

import type { BulkResult } from '../../../src/shared/contract/bulk.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { type EntryChunk, entriesIn, rowsIn } from '../../../src/shared/wire/bulk.ts';
import type { FieldsOf } from '../../../src/shared/wire/operations.ts';
import type { RowBatch } from '../../../src/shared/wire/results.ts';
import { Cursor } from '../sql/cursor.ts';
import { sizeOfRow } from '../sql/statement.ts';
import type { Confirmation } from './commits.ts';
import type { ObjectStorage } from './object-storage.ts';

/** Maximum bytes of all rows that one batch returns, because they are one message. */
const RESULT_BYTES_MAX = 32 * 1024 * 1024;

export function execMany(
  storage: ObjectStorage,
  { query, width, chunks }: FieldsOf<'execMany'>,
): BulkResult {
  return storage.together(() => storage.execEach(query, rowsIn(chunks, width)));
}

export function execBatch(storage: ObjectStorage, { statements }: FieldsOf<'batch'>): RowBatch[] {
  let sizeBytes = 0;
  return storage.together(() =>
    statements.map(({ query, bindings }, index) => {
      try {
        const cursor = storage.exec(query, bindings);
        const { rows, isAtEnd } = Cursor.takeBatch(cursor, Infinity, RESULT_BYTES_MAX - sizeBytes);
        for (const row of rows) sizeBytes += sizeOfRow(row);
        if (!isAtEnd) Cursor.close(cursor);
        if (!isAtEnd || sizeBytes > RESULT_BYTES_MAX) throw tooLarge();
        const { columnNames, rowsRead, rowsWritten } = cursor;
        return { columnNames, rows, rowsRead, rowsWritten };
      } catch (error) {
        throw at(`batch: statement ${index}: `, error);
      }
    }),
  );
}

export function putMany(
  storage: ObjectStorage,
  chunks: readonly EntryChunk[],
  write: Confirmation,
): number {
  const entries = entriesIn(chunks);
  storage.put(entries, write);
  return entries.length;
}

function at(place: string, error: unknown): unknown {
  if (error instanceof Error) error.message = `${place}${error.message}`;
  return error;
}

function tooLarge(): Error {
  return storageError(
    'MESSAGE_TOO_LARGE',
    `the rows of the batch are more than ${RESULT_BYTES_MAX} bytes; read fewer, or read them with exec(), which gives them in parts.`,
  );
}
