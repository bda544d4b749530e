// The rows of one statement on a page, pulled from the worker in batches.
//
// The cursor and all its views share one position. `break` in a loop keeps the position, as in the
// worker. The cursor is freed in the worker by close(), or after it is collected, once every pull
// that was made has its rows.
//
// A reader that has taken a second batch reads on: from then on, the next one is asked for when one
// arrives, so that the worker reads rows while the page makes objects of them.
//
// Invariant: a cursor ends without an error only after its last row, or after close().

import { isStorageError, storageError } from '../../shared/contract/errors.ts';
import type { RemoteSqlCursor, SqlRow, SqlStorageValue } from '../../shared/contract/storage.ts';
import { connectionClosed } from '../../shared/wire/errors-on-wire.ts';
import type { RowBatch } from '../../shared/wire/operations.ts';
import type { Abandoned, PageEnvironment } from '../leader/environment.ts';
import type { SessionCalls } from './session.ts';

/** Rows of the first batch: enough for most queries, and few if only the first row is wanted. */
export const FIRST_ROWS = 100;

/** Rows of the second batch: a reader that wants more rows wants many. */
const SECOND_ROWS = 1000;

/** Rows of each later batch: few enough that several overlap, and many beside the cost of a message. */
const LATER_ROWS = 2500;

type Row = SqlStorageValue[];

/** Asks for the next rows. */
type Pull = (cursor: number) => Promise<RowBatch>;

export class RemoteCursor<T extends object> implements RemoteSqlCursor<T> {
  readonly #rows: RowSource;

  constructor(
    calls: SessionCalls,
    first: Promise<RowBatch>,
    whenCollected: PageEnvironment['whenCollected'],
  ) {
    // Most statements leave nothing to free, and to watch a cursor costs more than to read a row.
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

  // As in the worker, a column named __proto__ does not become a key; raw() returns it.
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

/** The rows of a source before its first batch. Never changed. */
const NO_ROWS: Row[] = [];

/** The shared position, and the rows pulled beyond it. */
class RowSource implements Abandoned {
  #columnNames: string[] | undefined;
  rowsRead = 0;
  rowsWritten = 0;
  readonly ready: Promise<void>;
  readonly #calls: SessionCalls;
  #generation = 0;
  #rows = NO_ROWS;
  #position = 0;
  /** Rows of the next batch. */
  #batchRows = SECOND_ROWS;
  /** The batch after this one, if it was asked for before it is needed. */
  #ahead: Promise<RowBatch> | null = null;
  /** The worker's number of the cursor, or null if no rows are left in the worker. */
  #cursor: number | null = null;
  /** True after an abort while rows were left in the worker. */
  #isCut = false;
  /** Pulls run one after the other; settles when the last one ends, and never rejects. */
  #turn: Promise<unknown> | undefined;
  #waiting = 0;

  /**
   * `opened` is called if rows are left in the worker after the first batch. It refers to the cursor, and is kept no longer
   * than until then.
   */
  constructor(calls: SessionCalls, first: Promise<RowBatch>, opened: (rows: RowSource) => void) {
    this.#calls = calls;
    this.ready = first.then((batch) => {
      this.#columnNames = batch.columnNames;
      this.#generation = calls.session.generation;
      this.#take(batch);
      if (this.#cursor !== null) opened(this);
    });
    // A failed statement that nobody reads is reported; the end of its handle is not its failure.
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
      this.#throwIfCut();
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
   * Frees the cursor in the worker after the pulls under way, without a caller that waits. A pull
   * keeps only this source alive, so the cursor may be collected before the pull has its rows.
   */
  abandon(): void {
    this.close().catch(() => {}); // `ready` has resolved, and freeing never rejects
  }

  #inTurn<T>(work: (pull: Pull) => T | Promise<T>): Promise<T> {
    const { session } = this.#calls;
    this.#waiting += 1;
    // The rows of a read that was called before close() are pulled after it, too.
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
    const result = this.#turn === undefined ? read() : this.#turn.then(read);
    this.#turn = result.catch(() => {}); // the caller of the pull receives the error
    return result;
  }

  // Pulls until this many rows are available, or none is left.
  async #fill(count: number, pull: Pull): Promise<void> {
    this.#throwIfCut();
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
      this.#throwIfCut();
      throw error;
    }
  }

  /** Frees the cursor after an abort, unless all its rows are here. */
  #throwIfCut(): void {
    const { signal } = this.#calls;
    if (!signal?.aborted) return;
    if (this.#cursor !== null) {
      this.#isCut = true;
      void this.#free(); // never rejects
    }
    if (this.#isCut) throw signal.reason;
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
    this.#ahead = null; // the worker answers it before it closes the cursor
    if (cursor === null || this.#calls.session.generation !== this.#generation) return;
    // Fails only if the session has ended, which closed the cursor.
    await this.#calls.call({ op: 'closeCursor', cursor }, null, null).catch(() => {});
  }
}

/** True for the end of the handle, moment or connection that the statement was sent over. */
function isEnd(error: unknown): boolean {
  return isStorageError(error) && ENDS.has(error.code);
}

const ENDS: ReadonlySet<string> = new Set(['CONNECTION_CLOSED', 'MOMENT_CLOSED']);
