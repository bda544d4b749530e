// Reads the schema of one state: its tables with their keys, and the trees of its indexes.
//
// SQLite's own tables (statistics, sequences) are left out. Shadow tables with the content of a virtual table belong to
// that table.

import type { Database } from '../sql/database.ts';
import { shadowNames } from './full-text.ts';
import type { Collation, KeyColumn, KeyColumns } from './key-order.ts';
import type { Tree } from './state-pages.ts';

/** The schema of a state on the connection: `main`, or the name of the attached database. */
export type SchemaName = 'main' | 'earlier';

export interface SchemaObject {
  readonly type: 'table' | 'index' | 'view' | 'trigger';
  readonly name: string;
  readonly table: string;
  readonly root: number;
  /** The definition; null for the index of a constraint. */
  readonly sql: string | null;
}

export interface TableColumn {
  readonly name: string;
  /** Position in the primary key, counted from 1; 0 if the column does not belong to it. */
  readonly keyPlace: number;
  /** True if the column is stored, not generated. */
  readonly isStored: boolean;
}

/** A table: `rowid` with rowids, `keyed` without, or `virtual`, whose content may lie in shadow tables. */
export interface Shape {
  readonly kind: 'rowid' | 'keyed' | 'virtual';
  readonly name: string;
  readonly sql: string;
  readonly root: number;
  readonly columns: readonly TableColumn[];
  /** The name by which the rowid is read; null if columns have all its names, or the table has no rowids. */
  readonly rowid: string | null;
  /**
   * The columns of the primary key, in its order; empty if there is none. A column may occur with several collations.
   */
  readonly key: readonly string[];
  /** The collations of the key's index, which may differ from those of the columns. */
  readonly order: KeyColumns;
  /** The shadow tables with the content of a `virtual` table. */
  readonly shadows: readonly string[];
}

const INTERNAL_TABLE = /^sqlite_/i;
const BINARY: KeyColumn = { collation: 'BINARY', isDescending: false };
const ROWID_NAMES = ['rowid', '_rowid_', 'oid'];

export class Shapes {
  readonly objects: readonly SchemaObject[];
  readonly #database: Database;
  readonly #schema: SchemaName;
  readonly #kinds = new Map<string, { readonly type: string; readonly isKeyed: boolean }>();
  readonly #shapes = new Map<string, Shape>();
  /** The shadow tables by the name of their virtual table. */
  readonly #shadows = new Map<string, readonly string[]>();
  readonly #shadowNames: ReadonlySet<string>;

  constructor(database: Database, schema: SchemaName) {
    this.#database = database;
    this.#schema = schema;
    this.objects = this.#rows(
      `SELECT type, name, tbl_name, rootpage, sql FROM ${schema}.sqlite_schema`,
      [],
    ).map(
      ([type, name, table, root, sql]) =>
        ({ type, name, table, root: Number(root), sql }) as SchemaObject,
    );
    const kinds = `SELECT name, type, wr FROM pragma_table_list WHERE schema = '${schema}'`;
    for (const [name, type, wr] of this.#rows(kinds, [])) {
      this.#kinds.set(name!, { type: type!, isKeyed: wr === '1' });
    }
    // SQLite's own flag for shadow tables cannot be used: it looks for a virtual table of the name in all attached
    // databases.
    for (const { name, sql } of this.objects) {
      const shadows = shadowNames({ name, sql: sql ?? '' }).filter((one) => this.#kinds.has(one));
      this.#shadows.set(name, shadows);
    }
    this.#shadowNames = new Set([...this.#shadows.values()].flat());
  }

  /** The names of all tables except shadow tables, in order. */
  get tables(): string[] {
    const names = this.objects
      .filter(({ type, name }) => type === 'table' && !INTERNAL_TABLE.test(name))
      .map(({ name }) => name)
      .filter((name) => !this.isShadow(name));
    return names.sort();
  }

  isShadow(name: string): boolean {
    return this.#shadowNames.has(name);
  }

  /** Returns a table; undefined if it does not exist. */
  of(name: string): Shape | undefined {
    const known = this.#shapes.get(name);
    if (known !== undefined) return known;
    const object = this.objects.find((one) => one.type === 'table' && one.name === name);
    if (object === undefined) return undefined;
    const shape = this.#shapeOf(object);
    this.#shapes.set(name, shape);
    return shape;
  }

  /** Returns a table or view with its indexes and triggers. */
  objectsOf(name: string): SchemaObject[] {
    return this.objects.filter(({ table }) => table === name);
  }

  /** Returns the trees of all indexes, and of all tables except those named. */
  treesExcept(names: ReadonlySet<string>): Tree[] {
    const trees: Tree[] = [];
    for (const { type, name, table, root } of this.objects) {
      if (root === 0 || names.has(name)) continue;
      if (type === 'index') {
        trees.push({ root, order: this.#orderOf(name, !this.#kinds.get(table)!.isKeyed) });
      } else if (type === 'table' && !INTERNAL_TABLE.test(name)) {
        const shape = this.of(name)!;
        trees.push({ root, order: shape.kind === 'keyed' ? shape.order : null });
      }
    }
    return trees;
  }

  /** True if the table has a unique index besides its primary key. */
  hasUnique(table: string): boolean {
    const list = `SELECT 1 FROM pragma_index_list(?1, '${this.#schema}') WHERE "unique" AND origin <> 'pk'`;
    return this.#rows(list, [table]).length > 0;
  }

  /** True if a column of the primary key compares otherwise than its index; then several rows may look equal. */
  hasOtherCollations({ name, key, order }: Shape): boolean {
    return (
      this.#primaryIndexOf(name) !== undefined &&
      key.some((column, i) => {
        const own = this.#database.collationOf(this.#schema, name, column);
        return own.toUpperCase() !== order[i]!.collation;
      })
    );
  }

  #shapeOf({ name, sql, root }: SchemaObject): Shape {
    const { type, isKeyed } = this.#kinds.get(name) ?? { type: 'table', isKeyed: false };
    const xinfo = `SELECT name, pk, hidden FROM pragma_table_xinfo(?1, '${this.#schema}')`;
    const columns = this.#rows(xinfo, [name])
      .filter(([, , hidden]) => hidden !== '1')
      .map(([column, pk, hidden]) => ({
        name: column!,
        keyPlace: Number(pk),
        isStored: hidden === '0',
      }));
    const index = this.#primaryIndexOf(name);
    const rowidKey = columns.filter(({ keyPlace }) => keyPlace > 0).map((column) => column.name);
    const key = index === undefined ? rowidKey : this.#keyOf(index);
    const names = new Set(columns.map((column) => column.name.toLowerCase()));
    return {
      kind: type === 'virtual' ? 'virtual' : isKeyed ? 'keyed' : 'rowid',
      name,
      sql: sql ?? '',
      root,
      columns,
      rowid: isKeyed ? null : (ROWID_NAMES.find((one) => !names.has(one)) ?? null),
      key,
      order: index === undefined ? key.map(() => BINARY) : this.#orderOf(index, false),
      shadows: this.#shadows.get(name) ?? [],
    };
  }

  /**
   * Returns the columns by which the entries of an index are sorted. `whole` includes the columns that only make the
   * entries unique.
   */
  #orderOf(index: string, whole: boolean): KeyColumn[] {
    const xinfo = `SELECT coll, "desc" FROM pragma_index_xinfo(?1, '${this.#schema}')${whole ? '' : ' WHERE key = 1'}`;
    return this.#rows(xinfo, [index]).map(([collation, isDescending]) => ({
      collation: (collation ?? 'BINARY').toUpperCase() as Collation,
      isDescending: isDescending === '1',
    }));
  }

  #keyOf(index: string): string[] {
    const xinfo = `SELECT name FROM pragma_index_xinfo(?1, '${this.#schema}') WHERE key = 1`;
    return this.#rows(xinfo, [index]).map(([name]) => name!);
  }

  /** Returns the index of a table's primary key; undefined if there is none, or the key is the rowid. */
  #primaryIndexOf(table: string): string | undefined {
    const list = `SELECT name FROM pragma_index_list(?1, '${this.#schema}') WHERE origin = 'pk'`;
    return this.#rows(list, [table])[0]?.[0] ?? undefined;
  }

  #rows(sql: string, bindings: readonly string[]): (string | null)[][] {
    const statement = this.#database.statement(sql);
    bindings.forEach((text, i) => void statement.bindText(i + 1, text));
    const rows: (string | null)[][] = [];
    while (statement.step()) {
      const row: (string | null)[] = [];
      for (let column = 0; column < statement.columnCount; column++) {
        row.push(statement.columnIsNull(column) ? null : statement.columnText(column));
      }
      rows.push(row);
    }
    return rows;
  }
}
