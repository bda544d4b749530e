// Finds the type of an imported column from all its values. No value may change when it is stored, so texts become
// numbers only if every text of the column is written as a number.

/** The type of a column as SQL declares it; '' keeps each value as it is. */
export type ColumnKind = 'INTEGER' | 'REAL' | 'TEXT' | '';

export interface ImportedColumn {
  readonly name: string;
  readonly kind: ColumnKind;
}

/** Matches texts that are written exactly as SQLite writes the number. "007", "+1" and "1." stay texts. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Counts the types of a column's values to find their common type. */
export class ColumnTypeCounter {
  #integers = 0;
  #reals = 0;
  #texts = 0;

  /** Counts a field of a text file. An empty field counts as NULL. */
  addText(text: string): void {
    if (text === '') return;
    if (!NUMBER.test(text)) this.#texts += 1;
    else this.#addNumber(Number(text));
  }

  /** Counts a value of JSON. */
  add(value: unknown): void {
    if (value === null || value === undefined) return;
    if (typeof value === 'boolean') this.#integers += 1;
    else if (typeof value === 'number') this.#addNumber(value);
    else this.#texts += 1;
  }

  /** The type of the column. It keeps texts as texts if there are any. */
  get kind(): ColumnKind {
    const numbers = this.#integers + this.#reals;
    if (this.#texts > 0) return numbers > 0 ? '' : 'TEXT';
    if (this.#reals > 0) return 'REAL';
    return this.#integers > 0 ? 'INTEGER' : 'TEXT';
  }

  #addNumber(value: number): void {
    if (Number.isSafeInteger(value)) this.#integers += 1;
    // An integer beyond 2^53 would lose digits as a number, so it stays text.
    else if (Number.isInteger(value) || !Number.isFinite(value)) this.#texts += 1;
    else this.#reals += 1;
  }
}

/** Makes names of columns for a table: none is empty, and none occurs twice. */
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
