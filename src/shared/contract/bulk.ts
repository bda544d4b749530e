// Many rows or entries in one call, as types: the same on a page and in the process that runs the objects.

/** The source of a bulk call's rows or entries. It is read once, in order. */
export type BulkSource<T> = Iterable<T> | AsyncIterable<T>;

/** Options of bulk calls. */
export interface BulkOptions {
  /** Called with the number of rows or entries that were taken so far, after each slice. Nothing is stored yet. */
  onProgress?: (taken: number) => void;
}

/** The result of `sql.execMany`. */
export interface BulkResult {
  /** How many rows of bindings the statement ran with. */
  readonly count: number;
  readonly rowsRead: number;
  readonly rowsWritten: number;
}

/** A statement of `batch`: its text, and the bindings of its last statement, as `sql.exec` takes them. */
export type BatchStatement = readonly [query: string, ...bindings: unknown[]];
