// Implements the cursor of one statement on a page. It pulls rows from the worker in batches.
//
// The cursor and all its views share one position. `break` in a loop keeps the position, as in the worker. The cursor is
// freed in the worker by close(), or after it was garbage collected, once all pulls have received their rows.
//
// A reader that needs a second batch usually needs all rows. From then on, the next batch is requested as soon as one
// arrives, so that the worker reads rows while the page makes objects of them.
//
// Invariant: a cursor ends without an error only after its last row, or after close(). No assertion keeps this: the
// worker, a peer, says which row is the last.

import { isStorageError, storageError } from '../../shared/contract/errors.ts';
import type { RemoteSqlCursor, SqlRow, SqlStorageValue } from '../../shared/contract/storage.ts';
import { connectionClosed } from '../../shared/wire/errors-on-wire.ts';
import type { RowBatch } from '../../shared/wire/results.ts';
import type { Abandoned, PageEnvironment } from '../leader/environment.ts';
import type { SessionCalls } from './session.ts';

/** The rows of the first batch: enough for most queries, and few if only the first row is needed. */
export const FIRST_ROWS = 100;

/** The rows of the second batch. A reader that needs more than one batch usually needs many rows. */
const SECOND_ROWS = 1000;

/** The rows of each later batch: few enough to read ahead, and enough to outweigh the cost of a message. */
const LATER_ROWS = 2500;

type Row = SqlStorageValue[];

/** Requests the next rows. */
type Pull = (cursor: number) => Promise<RowBatch>;

export class RemoteCursor<T extends object> implements RemoteSqlCursor<T> {
  readonly #rows: RowSource;

  constructor(
    calls: SessionCalls,
    first: Promise<RowBatch>,
    whenCollected: PageEnvironment['whenCollected'],
  ) {
    // The cursor is registered for garbage collection only if rows are left, because that takes longer than reading a row.
    this.#rows = new RowSource(calls, first, (rows) => whenCollected(this, rows));
  }

  get columnNames(): string[] {
    return this.#rows.columnNames;
  }

  get rowsRead(): number {
    return this.#rows.rowsRead;
  }

  get rowsWritten(): number {
    return this.#rows.rowsWritten;
  }

  get ready(): Promise<void> {
    return this.#rows.ready;
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    const row = await this.#rows.next();
    return row === undefined
      ? { done: true, value: undefined }
      : { done: false, value: this.#object(row) };
  }

  toArray(): Promise<T[]> {
    return this.#rows.rest((row) => this.#object(row));
  }

  async one(): Promise<T> {
    return this.#object(await this.#rows.one());
  }

  raw<U extends Row = Row>() {
    // Each method refers to the cursor, so that the cursor is not collected before its views.
    const source = () => this.#rows;
    return {
      async next(): Promise<IteratorResult<U, undefined>> {
        const row = await source().next();
        return row === undefined
          ? { done: true, value: undefined }
          : { done: false, value: row as U };
      },
      toArray: () => source().rest((row) => row as U),
      one: () => source().one() as Promise<U>,
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  close(): Promise<void> {
    return this.#rows.close();
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<T> {
    return {
      next: () => this.next(),
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  /** Makes an object of a row. As in the worker, it leaves out a column named __proto__, which raw() returns. */
  #object(row: Row): T {
    const { columnNames } = this;
    const object: SqlRow = {};
    for (let column = 0; column < columnNames.length; column++) {
      const name = columnNames[column]!;
      if (name !== '__proto__') object[name] = row[column] ?? null;
    }
    return object as T;
  }
}

/** The rows of a source before its first batch. The array is never modified. */
const NO_ROWS: Row[] = [];

/** Holds the position that all views share, and the rows that were pulled beyond it. */
class RowSource implements Abandoned {
  #columnNames: string[] | undefined;
  rowsRead = 0;
  rowsWritten = 0;
  readonly ready: Promise<void>;
  readonly #calls: SessionCalls;
  #generation = 0;
  #rows = NO_ROWS;
  #position = 0;
  /** The number of rows to request in the next batch. */
  #batchRows = SECOND_ROWS;
  /** The next batch, if it was requested ahead of need. */
  #ahead: Promise<RowBatch> | null = null;
  /** The worker's number of the cursor, or null if no rows are left in the worker. */
  #cursor: number | null = null;
  /** True if a signal has aborted while rows were left in the worker. */
  #wasAborted = false;
  /** Settles when the last pull ends; never rejects. Pulls run one after the other. */
  #lastPull: Promise<unknown> | undefined;
  #waiting = 0;

  /**
   * `opened` is called if rows are left in the worker after the first batch. It refers to the cursor, so it is dropped
   * afterwards.
   */
  constructor(calls: SessionCalls, first: Promise<RowBatch>, opened: (rows: RowSource) => void) {
    this.#calls = calls;
    this.ready = first.then((batch) => {
      this.#columnNames = batch.columnNames;
      this.#generation = calls.session.generation;
      this.#take(batch);
      if (this.#cursor !== null) opened(this);
    });
    // An error of a statement whose rows are not read is reported, unless it is only the end of the handle.
    first.catch((error) => {
      if (isEnd(error)) this.ready.catch(() => {});
    });
  }

  get columnNames(): string[] {
    this.#columnNames ??= [];
    return this.#columnNames;
  }

  next(): Promise<Row | undefined> {
    const isReady = this.#waiting === 0 && !this.#calls.signal?.aborted;
    const row = isReady ? this.#shift() : undefined;
    if (row !== undefined) return Promise.resolve(row);
    return this.#inTurn(async (pull) => {
      await this.#fill(1, pull);
      return this.#shift();
    });
  }

  rest<T>(convert: (row: Row) => T): Promise<T[]> {
    return this.#inTurn(async (pull) => {
      this.#throwIfAborted();
      const converted: T[] = [];
      for (;;) {
        const rows = this.#rows;
        for (let i = this.#position; i < rows.length; i++) converted.push(convert(rows[i]!));
        this.#position = rows.length;
        if (this.#cursor === null) return converted;
        await this.#fill(1, pull);
      }
    });
  }

  one(): Promise<Row> {
    return this.#inTurn(async (pull) => {
      await this.#fill(2, pull);
      const row = this.#shift();
      const isLast = this.#position === this.#rows.length;
      if (row !== undefined && isLast) return row;
      await this.#free();
      throw storageError(
        'CURSOR_ROWS',
        row === undefined
          ? 'one(): the query has no row left; use next() if that may happen.'
          : 'one(): the query has more than one row left; use toArray(), or LIMIT 1.',
      );
    });
  }

  /** Rejects if the statement failed, so that its error is not lost. */
  close(): Promise<void> {
    return this.#inTurn(() => this.#free());
  }

  /**
   * Frees the cursor in the worker after pending pulls, because the cursor was garbage collected. A pull keeps only this
   * source alive, so that may happen before the pull has its rows.
   */
  abandon(): void {
    this.close().catch(() => {}); // `ready` has resolved, and freeing never rejects
  }

  #inTurn<T>(work: (pull: Pull) => T | Promise<T>): Promise<T> {
    const { session } = this.#calls;
    this.#waiting += 1;
    // Rows of a read that was called before close() are still pulled after it.
    const isInTime = session.end === undefined;
    const end = session.operate();
    const pull: Pull = (cursor) =>
      isInTime ? session.goOn(() => this.#pull(cursor)) : this.#pull(cursor);
    const read = async () => {
      try {
        await this.ready;
        return await work(pull);
      } finally {
        this.#waiting -= 1;
        end();
      }
    };
    const result = this.#lastPull === undefined ? read() : this.#lastPull.then(read);
    this.#lastPull = result.catch(() => {}); // the caller of the pull receives the error
    return result;
  }

  /** Pulls until this many rows are available, or no more are left. */
  async #fill(count: number, pull: Pull): Promise<void> {
    this.#throwIfAborted();
    while (this.#rows.length - this.#position < count && this.#cursor !== null) {
      const batch = await (this.#ahead ?? pull(this.#cursor));
      this.#take(batch);
      this.#ahead = this.#cursor === null ? null : pull(this.#cursor);
      this.#ahead?.catch(() => {}); // the pull that needs it receives the error
    }
  }

  async #pull(cursor: number): Promise<RowBatch> {
    if (this.#calls.session.generation !== this.#generation) {
      throw connectionClosed('the rest of the rows is gone');
    }
    const rowCount = this.#batchRows;
    this.#batchRows = LATER_ROWS;
    try {
      return await this.#calls.call({ op: 'rows', cursor, rowCount });
    } catch (error) {
      this.#throwIfAborted();
      throw error;
    }
  }

  /** Throws after an abort, and frees the cursor, unless all rows have been received. */
  #throwIfAborted(): void {
    const { signal } = this.#calls;
    if (!signal?.aborted) return;
    if (this.#cursor !== null) {
      this.#wasAborted = true;
      void this.#free(); // `#free` never rejects.
    }
    if (this.#wasAborted) throw signal.reason;
  }

  #take({ cursor = null, rows = NO_ROWS, rowsRead, rowsWritten }: RowBatch): void {
    const left = this.#rows.slice(this.#position);
    this.#rows = left.length === 0 ? rows : [...left, ...rows];
    this.#position = 0;
    this.#cursor = cursor;
    this.rowsRead = rowsRead;
    this.rowsWritten = rowsWritten;
  }

  #shift(): Row | undefined {
    return this.#rows[this.#position] === undefined ? undefined : this.#rows[this.#position++];
  }

  async #free(): Promise<void> {
    const cursor = this.#cursor;
    this.#rows = NO_ROWS;
    this.#position = 0;
    this.#cursor = null;
    this.#ahead = null; // the worker answers the request before it closes the cursor
    if (cursor === null || this.#calls.session.generation !== this.#generation) return;
    // This fails only if the session has ended, which has closed the cursor.
    await this.#calls.call({ op: 'closeCursor', cursor }, null, null).catch(() => {});
  }
}

/** Returns true for the error of a closed handle, moment or connection. */
function isEnd(error: unknown): boolean {
  return isStorageError(error) && END_CODES.has(error.code);
}

const END_CODES: ReadonlySet<string> = new Set(['CONNECTION_CLOSED', 'MOMENT_CLOSED']);
