// The type of a column, found from all its values, so that nothing is changed by being stored: a text becomes a number
// only if every text of its column is written as one.

/** As declared in SQL; '' keeps each value as it is. */
export type ColumnKind = 'INTEGER' | 'REAL' | 'TEXT' | '';

export interface ImportedColumn {
  readonly name: string;
  readonly kind: ColumnKind;
}

/** "007", "+1" and "1." are texts: as numbers, they would be written in another way. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The common type of a column's values. */
export class ColumnFacts {
  #integers = 0;
  #reals = 0;
  #texts = 0;

  /** A field of a text file; an empty one is no value. */
  seeText(text: string): void {
    if (text === '') return;
    if (!NUMBER.test(text)) this.#texts += 1;
    else this.#seeNumber(Number(text));
  }

  /** A value of JSON. */
  see(value: unknown): void {
    if (value === null || value === undefined) return;
    if (typeof value === 'boolean') this.#integers += 1;
    else if (typeof value === 'number') this.#seeNumber(value);
    else this.#texts += 1;
  }

  /** The type that keeps texts as texts if there are any. */
  get kind(): ColumnKind {
    const numbers = this.#integers + this.#reals;
    if (this.#texts > 0) return numbers > 0 ? '' : 'TEXT';
    if (this.#reals > 0) return 'REAL';
    return this.#integers > 0 ? 'INTEGER' : 'TEXT';
  }

  #seeNumber(value: number): void {
    if (Number.isSafeInteger(value)) this.#integers += 1;
    // A longer integer is not exact as a number.
    else if (Number.isInteger(value) || !Number.isFinite(value)) this.#texts += 1;
    else this.#reals += 1;
  }
}

/** Names that a table can have: none empty, none twice. */
export function columnNames(given: readonly string[]): string[] {
  const used = new Set<string>();
  return given.map((name, index) => {
    const base = name.trim() === '' ? `column_${index + 1}` : name.trim();
    let free = base;
    for (let number = 2; used.has(free.toLowerCase()); number += 1) free = `${base}_${number}`;
    used.add(free.toLowerCase());
    return free;
  });
}
