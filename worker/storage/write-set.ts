// What transactions have written: keys, tables, the alarm; or everything.
//
// Invariant: never too little. Too much only makes a live read run once more in vain, so beyond a number of
// keys, all keys count as written.

import { compareBytes } from '../../src/contract/key-order.ts';
import type { KeyRange } from '../../src/contract/key-range.ts';
import { encodeText } from '../../src/contract/utf8.ts';
import type { TableSet } from '../sql/query-tables.ts';
import type { ReadSet } from './read-set.ts';

/** So many keys are remembered one by one. */
export const KEYS_MAX = 10_000;

export class WriteSet {
  readonly #keys = new Set<string>();
  readonly #tables = new Set<string>();
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

  addTables(tables: TableSet): void {
    if (tables === 'all') this.#everything = true;
    else for (const table of tables) this.#tables.add(table);
  }

  addAlarm(): void {
    this.#alarm = true;
  }

  addEverything(): void {
    this.#everything = true;
  }

  /** Adds what the other transaction wrote. */
  addAll(other: WriteSet): void {
    for (const key of other.#keys) this.addKey(key);
    for (const table of other.#tables) this.#tables.add(table);
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
      haveCommon(this.#keys, reads.keys) ||
      (this.#keys.size > 0 && reads.ranges.some((range) => this.#hasKeyIn(range)))
    );
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

function haveCommon(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  const [fewer, more] = some.size < others.size ? [some, others] : [others, some];
  for (const name of fewer) if (more.has(name)) return true;
  return false;
}
