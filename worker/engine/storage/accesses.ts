// The reads and writes of an object's storage, noted while the object has live reads.
//
// A transaction collects its writes. A rollback discards that, a commit keeps it, and the flush that
// makes it durable hands it over, together with everything committed by then.
//
// Invariant: while nobody watches, nothing is noted, and a write costs one comparison more.
//
// Does not know live reads: it is told when one runs.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { compareBytes } from '../../../src/shared/contract/key-order.ts';
import { isEmptyRange, type KeyRange } from '../../../src/shared/contract/key-range.ts';
import { encodeText } from '../../../src/shared/contract/utf8.ts';
import type { Database } from '../sql/database.ts';
import type { LookupKey, TableRows } from '../sql/point-lookup.ts';
import type { TableSet } from '../sql/query-tables.ts';

/** The database's functions for this module. */
export type WatchedDatabase = Pick<Database, 'onQuery' | 'onRow' | 'refusesWrites'>;

export class Accesses {
  readonly #database: WatchedDatabase;
  #onFlushed: ((writes: WriteSet) => void) | undefined;
  #reads: ReadSet | undefined;
  /** Why nothing may be written; undefined: it may. */
  #refusal: (() => Error) | undefined;
  /** Of the open transaction, and of commits that are not handed over. */
  #open: WriteSet | undefined;
  #committed: WriteSet | undefined;

  constructor(database: WatchedDatabase) {
    this.#database = database;
  }

  /** From now on, notes writes, and reports them after the flush that covers them. */
  watch(onFlushed: (writes: WriteSet) => void): void {
    this.#onFlushed = onFlushed;
    this.#database.onQuery = ({ reads, writes, rows, byRow }) => {
      if (rows !== undefined) this.#reads?.addRows(rows);
      else this.#reads?.addTables(reads);
      if (writes === 'all' || writes.size > 0) this.writes?.addTables(writes, byRow);
    };
    this.#database.onRow = (table, key) => this.writes?.addRow(table, key);
  }

  /** The object has live reads, which wait for writes. */
  get isWatched(): boolean {
    return this.#onFlushed !== undefined;
  }

  /** There are no live reads any more. */
  unwatch(): void {
    this.#onFlushed = undefined;
    this.#database.onQuery = undefined;
    this.#database.onRow = undefined;
    this.#open = undefined;
    this.#committed = undefined;
  }

  /** Notes in `reads` all that is read, and refuses writes, until the result is called. */
  collect(reads: ReadSet): () => void {
    this.#reads = reads;
    this.#database.refusesWrites = readOnly;
    return () => {
      this.#reads = undefined;
      this.#database.refusesWrites = this.#refusal;
    };
  }

  /** Where to note reads; undefined: there are no live reads. */
  get reads(): ReadSet | undefined {
    return this.#reads;
  }

  /** Where to note writes; undefined: there are no live reads. */
  get writes(): WriteSet | undefined {
    if (this.#onFlushed === undefined) return undefined;
    return (this.#open ??= new WriteSet());
  }

  /** From now on nothing may be written, for this reason; undefined: it may again. */
  set refusal(refusal: (() => Error) | undefined) {
    this.#refusal = refusal;
    this.#database.refusesWrites = refusal;
  }

  /** Called before every write. @throws LIVE_READ_ONLY, or the refusal */
  checkWrite(): void {
    if (this.#reads !== undefined) throw readOnly();
    if (this.#refusal !== undefined) throw this.#refusal();
  }

  committed(): void {
    const written = this.#open;
    if (written === undefined) return;
    this.#open = undefined;
    if (this.#committed === undefined) this.#committed = written;
    else this.#committed.addAll(written);
  }

  /** The transaction was rolled back, as a whole. */
  rolledBack(): void {
    this.#open = undefined;
  }

  flushed(): void {
    const written = this.#committed;
    if (written === undefined) return;
    this.#committed = undefined;
    this.#onFlushed?.(written);
  }
}

function readOnly(): Error {
  return storageError(
    'LIVE_READ_ONLY',
    'A live read tried to write. It runs again after every commit that concerns it, so it may only ' +
      'read; write in a method that is called without live().',
  );
}

/**
 * The keys, ranges of keys and tables that a live read has read, and whether it read the alarm. Never too little:
 * accesses without names are `everything`.
 */
export class ReadSet {
  readonly #keys = new Set<string>();
  readonly #ranges: KeyRange[] = [];
  readonly #tables = new Set<string>();
  readonly #rows = new Map<string, Set<LookupKey>>();
  #alarm = false;
  #everything = false;

  addKey(key: string): void {
    this.#keys.add(key);
  }

  addRange(range: KeyRange): void {
    if (!isEmptyRange(range)) this.#ranges.push(range);
  }

  addTables(tables: TableSet): void {
    if (tables === 'all') this.#everything = true;
    else for (const table of tables) this.#tables.add(table);
  }

  /** Of the table only these rows, whether they exist or not. */
  addRows({ table, keys }: TableRows): void {
    const rows = this.#rows.get(table) ?? new Set();
    for (const key of keys) rows.add(key);
    this.#rows.set(table, rows);
  }

  addAlarm(): void {
    this.#alarm = true;
  }

  /** It depends on every commit. */
  addEverything(): void {
    this.#everything = true;
  }

  get keys(): ReadonlySet<string> {
    return this.#keys;
  }

  get ranges(): readonly KeyRange[] {
    return this.#ranges;
  }

  get tables(): ReadonlySet<string> {
    return this.#tables;
  }

  get rows(): ReadonlyMap<string, ReadonlySet<LookupKey>> {
    return this.#rows;
  }

  get hasAlarm(): boolean {
    return this.#alarm;
  }

  get hasEverything(): boolean {
    return this.#everything;
  }
}

/** So many keys are remembered one by one. */
export const KEYS_MAX = 10_000;

/**
 * The keys and tables that transactions have written, and whether they changed the alarm; or everything. Never too
 * little. Too much only makes a live read run once more in vain, so beyond a number of keys or rows, all of them count as written.
 */
export class WriteSet {
  readonly #keys = new Set<string>();
  readonly #tables = new Set<string>();
  /** The rows that were written of a table: some, or all of them. */
  readonly #rows = new Map<string, Set<LookupKey> | 'all'>();
  #allKeys = false;
  #alarm = false;
  #everything = false;
  /** The keys as bytes, in order; undefined: to be made. */
  #sorted: readonly Uint8Array[] | undefined;

  addKey(key: string): void {
    if (this.#allKeys) return;
    this.#sorted = undefined;
    this.#keys.add(key);
    if (this.#keys.size <= KEYS_MAX) return;
    this.#keys.clear();
    this.#allKeys = true;
  }

  /** `byRow`: those of the tables whose rows are added one by one. */
  addTables(tables: TableSet, byRow?: ReadonlySet<string>): void {
    if (tables === 'all') {
      this.#everything = true;
      return;
    }
    for (const table of tables) {
      this.#tables.add(table);
      if (byRow?.has(table) !== true) this.#rows.set(table, 'all');
    }
  }

  addRow(table: string, key: LookupKey | 'all'): void {
    const rows = this.#rows.get(table) ?? new Set();
    if (rows === 'all') return;
    if (key !== 'all') rows.add(key);
    this.#rows.set(table, key === 'all' || rows.size > KEYS_MAX ? 'all' : rows);
  }

  addAlarm(): void {
    this.#alarm = true;
  }

  addEverything(): void {
    this.#everything = true;
  }

  /** Adds the writes of the other transaction. */
  addAll(other: WriteSet): void {
    for (const key of other.#keys) this.addKey(key);
    for (const table of other.#tables) this.#tables.add(table);
    for (const [table, rows] of other.#rows) {
      if (rows === 'all') this.#rows.set(table, 'all');
      else for (const key of rows) this.addRow(table, key);
    }
    this.#allKeys ||= other.#allKeys;
    this.#alarm ||= other.#alarm;
    this.#everything ||= other.#everything;
  }

  get isEmpty(): boolean {
    const hasAny = this.#allKeys || this.#alarm || this.#everything;
    return !hasAny && this.#keys.size === 0 && this.#tables.size === 0;
  }

  /** True when the result of a read may have changed. */
  meets(reads: ReadSet): boolean {
    if (this.isEmpty) return false;
    if (this.#everything || reads.hasEverything) return true;
    if (this.#alarm && reads.hasAlarm) return true;
    if (this.#allKeys && (reads.keys.size > 0 || reads.ranges.length > 0)) return true;
    return (
      haveCommon(this.#tables, reads.tables) ||
      this.#hasRowOf(reads.rows) ||
      haveCommon(this.#keys, reads.keys) ||
      (this.#keys.size > 0 && reads.ranges.some((range) => this.#hasKeyIn(range)))
    );
  }

  #hasRowOf(reads: ReadSet['rows']): boolean {
    for (const [table, keys] of reads) {
      const rows = this.#rows.get(table);
      if (rows === 'all' || (rows !== undefined && haveCommon(rows, keys))) return true;
    }
    return false;
  }

  #hasKeyIn({ start, end }: KeyRange): boolean {
    this.#sorted ??= [...this.#keys].map(encodeText).sort(compareBytes);
    const keys = this.#sorted;
    let from = 0;
    let to = keys.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (compareBytes(keys[middle]!, start) < 0) from = middle + 1;
      else to = middle;
    }
    const first = keys[from];
    return first !== undefined && (end === null || compareBytes(first, end) < 0);
  }
}

function haveCommon<T>(some: ReadonlySet<T>, others: ReadonlySet<T>): boolean {
  const [fewer, more] = some.size < others.size ? [some, others] : [others, some];
  for (const name of fewer) if (more.has(name)) return true;
  return false;
}
