// The measured methods of a contender, each as it offers them best; a method that it lacks is
// missing.

/** A value, or the promise of one: a contender that answers at once is not made to wait. */
export type Answer<T> = T | PromiseLike<T>;

export type Entry = readonly [key: string, value: Uint8Array];

/** A row of table `u`. */
export interface NewRow {
  readonly a: string;
  readonly b: number;
  readonly c: number;
}

/** How a contender is opened; its page documents each field. */
export interface Configuration {
  readonly name: string;
  readonly variant?: string;
  readonly journal?: string;
}

export interface Store {
  put(key: string, value: Uint8Array): Answer<unknown>;
  get(key: string): Answer<Uint8Array | undefined>;
  /** The number of entries whose keys begin with `k`; all of them must have reached the caller. */
  list?(): Answer<number>;
  /** Several entries in one transaction. */
  transaction?(entries: readonly Entry[]): Answer<unknown>;
  /** Replaces all rows of table `u`, in one transaction. */
  insert?(rows: readonly NewRow[]): Answer<unknown>;
  /** The text of the row of table `u` with the highest id. */
  lastInserted?(): Answer<string>;
  /** All rows of table `t`, as objects. */
  scan?(): Answer<readonly { readonly a: string }[]>;
  /** The text of one row of table `t`. */
  select?(id: number): Answer<string>;
  /** The first 20 documents that contain a word, by rank. */
  search?(word: string): Answer<readonly unknown[]>;
  /** How many commits were made, of a contender that can tell. */
  commits?(): Answer<number>;
  /** Stores the data to read: 1,000 entries, ROW_COUNT rows of `t`, DOCUMENT_COUNT documents. */
  fill(): Answer<unknown>;
}
