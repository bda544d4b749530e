// The open cursors of one session of a page, which the page reads in batches of rows.
//
// Invariant: an open cursor keeps its instance in memory, and is forgotten when the instance ends. Once
// closed, nothing stays open: a query that still runs then delivers its first rows only.
// No assertion keeps this: pages end at any moment, so an end that comes again or late is no defect.

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { SqlStorageValue } from '../../../src/shared/contract/storage.ts';
import type { RowBatch } from '../../../src/shared/wire/results.ts';
import { Cursor } from '../../engine/sql/cursor.ts';
import type { Moment } from '../../engine/storage/moment.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';

/**
 * Maximum bytes in one batch of a cursor, so that both sides hold few large rows, however many rows a page asks for.
 */
const BATCH_BYTES_MAX = 1_048_576;

interface OpenCursor {
  readonly cursor: Cursor;
  /** The earlier moment that the cursor reads, which may be closed a turn before its cursors. */
  readonly moment: Moment | undefined;
  /** Lets the instance be evicted. */
  readonly release: () => void;
}

export class PageCursors {
  readonly #nextId: () => number;
  readonly #open = new Map<number, OpenCursor>();
  #isClosed = false;

  constructor(nextId: () => number) {
    this.#nextId = nextId;
  }

  /** Returns the first rows of a query's cursor, which stays open if more rows are left. */
  first(instance: ObjectInstance, cursor: Cursor, rowCount: number, moment?: Moment): RowBatch {
    const { rows, isAtEnd } = Cursor.takeBatch(cursor, rowCount, BATCH_BYTES_MAX);
    if (this.#isClosed) Cursor.close(cursor);
    if (isAtEnd || this.#isClosed) return batch(cursor, null, rows);
    const id = this.#nextId();
    const release = instance.context.retain(() => this.#open.delete(id));
    this.#open.set(id, { cursor, moment, release });
    return batch(cursor, id, rows);
  }

  /** Returns the next rows of an open cursor. @throws CURSOR_CLOSED, and errors of its query */
  next(id: number, rowCount: number): RowBatch {
    const open = this.#open.get(id);
    if (open === undefined || open.moment?.isClosed) {
      this.end(id);
      throw storageError(
        'CURSOR_CLOSED',
        'The cursor was closed, or its object was reset; run the query again.',
      );
    }
    // The cursor is also at its end if a row cannot be computed, because no row follows.
    let isAtEnd = true;
    try {
      const taken = Cursor.takeBatch(open.cursor, rowCount, BATCH_BYTES_MAX);
      isAtEnd = taken.isAtEnd;
      return batch(open.cursor, isAtEnd ? null : id, taken.rows);
    } finally {
      if (isAtEnd) this.end(id);
    }
  }

  /** Closes one cursor, if it is still open. */
  end(id: number): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    this.#open.delete(id);
    Cursor.close(open.cursor);
    open.release();
  }

  /** Closes all cursors, and opens no more. */
  close(): void {
    this.#isClosed = true;
    for (const id of this.#open.keys()) this.end(id);
  }
}

function batch(cursor: Cursor, id: number | null, rows: SqlStorageValue[][]): RowBatch {
  const { columnNames, rowsRead, rowsWritten } = cursor;
  if (columnNames.length === 0) return { rowsRead, rowsWritten };
  return { cursor: id, columnNames, rows, rowsRead, rowsWritten };
}
