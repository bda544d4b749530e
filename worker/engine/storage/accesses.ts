// The reads and writes of an object's storage, noted while the object has live reads.
//
// A transaction collects its writes. A rollback discards the collected writes, and a commit keeps them. The flush that
// makes the commit durable passes them to the live reads, together with those of all commits so far.
//
// Invariant: without live reads, nothing is noted, and a write costs one comparison more.
//
// Does not know live reads: the caller says when the first one begins and the last one ends, and passes the set of each
// read with its operations (access-policy.ts).

import { compareBytes } from '../../../src/shared/contract/key-order.ts';
import { isEmptyRange, type KeyRange } from '../../../src/shared/contract/key-range.ts';
import { encodeText } from '../../../src/shared/contract/utf8.ts';
import type { Database } from '../sql/database.ts';
import type { LookupKey, TableRows } from '../sql/point-lookup.ts';
import type { QueryReads, QueryWatcher } from '../sql/query-policy.ts';
import type { QueryAccess, TableSet } from '../sql/query-tables.ts';
import type { ToldRow } from '../sql/row-watch.ts';

/** The database's functions for this module. */
export type WatchedDatabase = Pick<Database, 'forgetTables'>;

/** The table that lists the tables. */
const SCHEMA: ReadonlySet<string> = new Set(['sqlite_master']);

export class Accesses {
  readonly #database: WatchedDatabase;
  /** The notes of writes; undefined while there are no live reads. */
  notes: WriteNotes | undefined;

  constructor(database: WatchedDatabase) {
    this.#database = database;
  }

  /** Begins to note writes, and reports them after the flush that covers them. */
  watch(onFlushed: (writes: WriteSet) => void): void {
    this.notes = new WriteNotes(onFlushed);
    this.#database.forgetTables();
  }

  /** Called when there are no live reads any more: stops noting. */
  unwatch(): void {
    this.notes = undefined;
    this.#database.forgetTables();
  }
}

/** The writes of the open transaction, and the writes of commits that no flush has reported yet. */
export class WriteNotes implements QueryWatcher {
  readonly #onFlushed: (writes: WriteSet) => void;
  #open: WriteSet | undefined;
  #committed: WriteSet | undefined;

  constructor(onFlushed: (writes: WriteSet) => void) {
    this.#onFlushed = onFlushed;
  }

  /** The set to which the next write is added. */
  get writes(): WriteSet {
    return (this.#open ??= new WriteSet());
  }

  onQuery({ reads: tables, writes, rows, byRow }: QueryAccess, reads?: QueryReads | null): void {
    if (rows !== undefined) reads?.addRows(rows);
    else reads?.addTables(tables);
    if (writes === 'all' || writes.size > 0) this.writes.addTables(writes, byRow);
  }

  readonly onRow: ToldRow = (table, key) => this.writes.addRow(table, key);

  /** Called when a hidden table was created: a query that lists the tables may have changed. */
  tableCreated(): void {
    this.writes.addTables(SCHEMA);
  }

  committed(): void {
    const written = this.#open;
    if (written === undefined) return;
    this.#open = undefined;
    if (this.#committed === undefined) this.#committed = written;
    else this.#committed.addAll(written);
  }

  /** Called when the whole transaction was rolled back. */
  rolledBack(): void {
    this.#open = undefined;
  }

  flushed(): void {
    const written = this.#committed;
    if (written === undefined) return;
    this.#committed = undefined;
    this.#onFlushed(written);
  }
}

/**
 * The keys, ranges of keys and tables that a live read has read, and whether it read the alarm. The set never lacks an
 * access: accesses that cannot be named count as a read of everything.
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

  /** Adds only these rows of a table, whether they exist or not. */
  addRows({ table, keys }: TableRows): void {
    const rows = this.#rows.get(table) ?? new Set();
    for (const key of keys) rows.add(key);
    this.#rows.set(table, rows);
  }

  addAlarm(): void {
    this.#alarm = true;
  }

  /** Notes that the read depends on every commit. */
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

/** Maximum number of keys or rows that are remembered one by one. */
export const KEYS_MAX = 10_000;

/**
 * The keys and tables that transactions have written, and whether they changed the alarm; or everything. The set never
 * lacks a write. Additional entries only make a live read run once more in vain, so beyond KEYS_MAX keys or rows, all
 * count as written.
 */
export class WriteSet {
  readonly #keys = new Set<string>();
  readonly #tables = new Set<string>();
  /** The written rows of each table: their keys, or `all`. */
  readonly #rows = new Map<string, Set<LookupKey> | 'all'>();
  #allKeys = false;
  #alarm = false;
  #everything = false;
  /** The keys as bytes, in order; undefined until they are needed. */
  #sorted: readonly Uint8Array[] | undefined;

  addKey(key: string): void {
    if (this.#allKeys) return;
    this.#sorted = undefined;
    this.#keys.add(key);
    if (this.#keys.size <= KEYS_MAX) return;
    this.#keys.clear();
    this.#allKeys = true;
  }

  /** Adds written tables with all their rows, except for tables in `byRow`, whose rows are added one by one. */
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

  /** Adds all writes of another set. */
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

  /** True if the writes may have changed the result of a live read. */
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
