// What a live read has read: keys, ranges of keys, tables, the alarm.
//
// Invariant: never too little. What cannot be named is `everything`.

import { isEmptyRange, type KeyRange } from '../../src/contract/key-range.ts';
import type { TableSet } from '../sql/query-tables.ts';

export class ReadSet {
  readonly #keys = new Set<string>();
  readonly #ranges: KeyRange[] = [];
  readonly #tables = new Set<string>();
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

  get hasAlarm(): boolean {
    return this.#alarm;
  }

  get hasEverything(): boolean {
    return this.#everything;
  }
}
