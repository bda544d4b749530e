// Defines the types of bulk calls, which store many rows or entries at once. Pages and processes with objects share them.

/** The source of a bulk call's rows or entries. It is read once, in order. */
export type BulkSource<T> = Iterable<T> | AsyncIterable<T>;

/** Options of bulk calls. */
export interface BulkOptions {
  /** Called after each slice with the number of rows or entries that were read so far. Nothing is stored yet. */
  onProgress?: (taken: number) => void;
}

/** The result of `sql.execMany`. */
export interface BulkResult {
  /** The number of rows of bindings that the statement ran with. */
  readonly count: number;
  readonly rowsRead: number;
  readonly rowsWritten: number;
}

/** A statement of `batch`: its text, and the bindings of its last statement, as `sql.exec` takes them. */
export type BatchStatement = readonly [query: string, ...bindings: unknown[]];
