// Declares the methods of a contender that are measured. A contender that lacks a method leaves it out.

/** A value or a promise of it, so that a contender that answers at once is not made to wait. */
export type Answer<T> = T | PromiseLike<T>;

export type Entry = readonly [key: string, value: Uint8Array];

/** A row of table `u`. */
export interface NewRow {
  readonly a: string;
  readonly b: number;
  readonly c: number;
}

/** The options that a contender is opened with; the documentation of its library explains each field. */
export interface Configuration {
  readonly name: string;
  readonly variant?: string;
  readonly journal?: string;
}

export interface Store {
  put(key: string, value: Uint8Array): Answer<unknown>;
  get(key: string): Answer<Uint8Array | undefined>;
  /** Counts the entries whose keys begin with `k`, all of which must have reached the caller. */
  list?(): Answer<number>;
  /** Stores several entries in one transaction. */
  transaction?(entries: readonly Entry[]): Answer<unknown>;
  /** Replaces all rows of table `u`, in one transaction. */
  insert?(rows: readonly NewRow[]): Answer<unknown>;
  /** Reads the text of the row of table `u` with the highest id. */
  lastInserted?(): Answer<string>;
  /** Reads all rows of table `t` as objects. */
  scan?(): Answer<readonly { readonly a: string }[]>;
  /** Reads the text of one row of table `t`. */
  select?(id: number): Answer<string>;
  /** Finds the 20 documents of the best rank that contain a word. */
  search?(word: string): Answer<readonly unknown[]>;
  /** Counts the commits that were made; only some contenders know. */
  commits?(): Answer<number>;
  /** Stores the data to read: 1,000 entries, ROW_COUNT rows of `t`, DOCUMENT_COUNT documents. */
  fill(): Answer<unknown>;
}
