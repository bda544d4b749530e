// Reads rows of one table in one state, by rowid or by primary key.
//
// Two rows are versions of the same row if their primary keys are equal; without a primary key, or with NULL in it, if
// their rowids are equal. Keys are compared as the key's index compares them, which may differ from the columns.

import { type Cell, integerCell, isNull, sameCell } from '../sql/cells.ts';
import type { Database } from '../sql/database.ts';
import type { PreparedStatement } from '../sql/statement.ts';
import type { RowKey } from './changed-keys.ts';
import type { SchemaName, Shape } from './shapes.ts';

/** The cells of a row, in the order of the table's columns in that state. */
export type Row = readonly Cell[];

/** A row that was read, with its key and its rowid. */
export interface FoundRow {
  readonly cells: Row;
  readonly key: Row | null;
  readonly rowid: bigint | null;
}

/** The key and the rowid by which a row is found. */
type NamedRow = Pick<FoundRow, 'key' | 'rowid'>;

/** Reads rows of one table in one state. */
export class RowReader {
  readonly #database: Database;
  readonly #schema: SchemaName;
  readonly #shape: Shape;
  readonly #columns: string;
  readonly #keyPlaces: readonly number[];

  constructor(database: Database, schema: SchemaName, shape: Shape) {
    this.#database = database;
    this.#schema = schema;
    this.#shape = shape;
    const names = shape.columns.map(({ name }) => quotedName(name));
    this.#columns = [...(shape.rowid === null ? [] : [shape.rowid]), ...names].join(', ');
    this.#keyPlaces = shape.key.map((name) => shape.columns.findIndex((one) => one.name === name));
  }

  /** Reads the row with a rowid or a primary key; returns null if there is none. */
  at(key: RowKey): FoundRow | null {
    if (typeof key !== 'bigint') return this.#findRow(this.byKey, key);
    return this.#findRow(`${this.#shape.rowid} = ?`, [integerCell(key)]);
  }

  /** Reads this state's version of a row; returns null if there is none. */
  like(row: NamedRow): FoundRow | null {
    if (isNamed(row)) return this.#findRow(this.byKey, row.key);
    if (row.rowid === null || this.#shape.rowid === null) return null;
    const same = this.at(row.rowid);
    return same === null || isNamed(same) ? null : same;
  }

  /** True if the table has rows without a key, which only a rowid identifies. */
  get hasUnnamed(): boolean {
    const statement = this.#database.statement(
      `SELECT EXISTS (SELECT 1 FROM ${this.#from} a WHERE ${this.#isUnnamed('a')})`,
    );
    statement.step();
    const has = statement.columnNumber(0) === 1;
    statement.reset();
    return has;
  }

  *all(): Generator<FoundRow> {
    yield* this.#rows(`${this.#select} ORDER BY ${this.#order}`);
  }

  /** Lists the rows for which the other state has no row that is equal in the columns that both store. */
  *unlike(other: RowReader): Generator<FoundRow> {
    const columns = this.#shape.columns
      .filter(({ name, isStored }) => isStored && other.#stores(name))
      .map(({ name }) => quotedName(name));
    const equal = columns.map(
      (name) =>
        `a.${name} IS b.${name} COLLATE BINARY AND typeof(a.${name}) = typeof(b.${name}) ` +
        // 0.0 and -0.0 compare as equal, but atan2 tells them apart.
        `AND (a.${name} IS NOT 0.0 OR atan2(0.0, a.${name}) IS atan2(0.0, b.${name}))`,
    );
    const exists = (same: readonly string[]) =>
      `EXISTS (SELECT 1 FROM ${other.#from} b WHERE ${[...same, ...equal].join(' AND ')})`;
    const found: string[] = [];
    if (this.#shape.key.length > 0) {
      found.push(
        exists(this.#key.map(({ name, collation }) => `a.${name} = b.${name} ${collation}`)),
      );
    }
    const [rowid, otherRowid] = [this.#shape.rowid, other.#shape.rowid];
    if (rowid !== null && otherRowid !== null) {
      const isSame = `a.${rowid} = b.${otherRowid}`;
      found.push(exists([isSame, this.#isUnnamed('a'), other.#isUnnamed('b')]));
    }
    yield* this.#rows(
      `${this.#select} a WHERE NOT (${found.join(' OR ')}) ORDER BY ${this.#order}`,
    );
  }

  #stores(name: string): boolean {
    return this.#shape.columns.some((column) => column.isStored && column.name === name);
  }

  get #from(): string {
    return `${this.#schema}.${quotedName(this.#shape.name)}`;
  }

  get #select(): string {
    return `SELECT ${this.#columns} FROM ${this.#from}`;
  }

  get #order(): string {
    const { rowid } = this.#shape;
    if (rowid !== null) return rowid;
    return this.#key.map(({ name, collation }) => `${name} ${collation}`).join(', ');
  }

  get #key(): { readonly name: string; readonly collation: string }[] {
    const { key, order } = this.#shape;
    return key.map((name, i) => ({
      name: quotedName(name),
      collation: `COLLATE ${order[i]!.collation}`,
    }));
  }

  /** Returns the SQL condition that a row of this alias has no key, or NULL in it. */
  #isUnnamed(alias: string): string {
    const { key } = this.#shape;
    if (key.length === 0) return '1';
    return `(${key.map((name) => `${alias}.${quotedName(name)} IS NULL`).join(' OR ')})`;
  }

  /** The SQL condition that finds a row by its key, with one parameter for each column of the key. */
  get byKey(): string {
    return this.#key.map(({ name, collation }) => `${name} = ? ${collation}`).join(' AND ');
  }

  #findRow(where: string, key: Row): FoundRow | null {
    const statement = this.#database.statement(`${this.#select} WHERE ${where}`);
    key.forEach((cell, i) => void statement.bindCell(i + 1, cell));
    const row = statement.step() ? this.#row(statement) : null;
    statement.reset();
    return row;
  }

  *#rows(sql: string): Generator<FoundRow> {
    const statement = this.#database.statement(sql);
    try {
      while (statement.step()) yield this.#row(statement);
    } finally {
      statement.reset();
    }
  }

  #row(statement: PreparedStatement): FoundRow {
    const { columns, rowid } = this.#shape;
    const offset = rowid === null ? 0 : 1;
    const cells = columns.map((_, i) => statement.columnCell(i + offset));
    const key = this.#keyPlaces.length === 0 ? null : this.#keyPlaces.map((place) => cells[place]!);
    return {
      cells,
      key,
      rowid: rowid === null ? null : statement.columnInt64(0),
    };
  }
}

/** True if the row has a key that no other row has. */
export function isNamed(row: NamedRow): row is NamedRow & { readonly key: Row } {
  return row.key !== null && !row.key.some(isNull);
}

/** True only if the keys' bytes prove, without asking SQLite, that both are versions of the same row. */
export function isSurelySame(one: FoundRow, other: FoundRow): boolean {
  if (isNamed(one) && isNamed(other))
    return one.key.every((cell, i) => sameCell(cell, other.key[i]!));
  return !isNamed(one) && !isNamed(other) && one.rowid === other.rowid;
}

/** True if two rows of one table are equal in all stored columns, or both are missing. */
export function sameStored(one: Row | null, other: Row | null, { columns }: Shape): boolean {
  if (one === null || other === null) return one === other;
  return columns.every(({ isStored }, i) => !isStored || sameCell(one[i]!, other[i]!));
}

export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
