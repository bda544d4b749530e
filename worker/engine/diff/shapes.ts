// The schema of one state: its tables with their keys, and the trees of its indexes.
//
// Tables that SQLite keeps for itself (statistics, sequences) are no part of it. A table that keeps the content of a
// virtual table belongs to that.

import type { Database } from '../sql/database.ts';
import { shadowNames } from './full-text.ts';
import type { Collation, KeyColumn, KeyColumns } from './key-order.ts';
import type { Tree } from './state-pages.ts';

/** `main`, or the name by which a database is attached. */
export type SchemaName = 'main' | 'earlier';

export interface SchemaObject {
  readonly type: 'table' | 'index' | 'view' | 'trigger';
  readonly name: string;
  readonly table: string;
  readonly root: number;
  /** Null for the index of a constraint. */
  readonly sql: string | null;
}

export interface TableColumn {
  readonly name: string;
  /** Place in the primary key, from 1 on; 0: it is not part of it. */
  readonly keyPlace: number;
  /** Stored, and not generated. */
  readonly isStored: boolean;
}

/** `rowid`: a table with rowids; `keyed`: without; `virtual`: of a module, which has shadows. */
export interface Shape {
  readonly kind: 'rowid' | 'keyed' | 'virtual';
  readonly name: string;
  readonly sql: string;
  readonly root: number;
  readonly columns: readonly TableColumn[];
  /** By which name a row's number is read; null: columns have all of them. Null for `keyed`, too. */
  readonly rowid: string | null;
  /** The columns of the primary key, in its order; without one, none. A column may occur with several collations. */
  readonly key: readonly string[];
  /** How the index of the key compares its columns, which may be otherwise than the columns themselves do. */
  readonly order: KeyColumns;
  /** Of a `virtual` table: the tables that keep its content. */
  readonly shadows: readonly string[];
}

const SQLITES_OWN = /^sqlite_/i;
const BINARY: KeyColumn = { collation: 'BINARY', isDescending: false };
const ROWID_NAMES = ['rowid', '_rowid_', 'oid'];

export class Shapes {
  readonly objects: readonly SchemaObject[];
  readonly #database: Database;
  readonly #schema: SchemaName;
  readonly #kinds = new Map<string, { readonly type: string; readonly isKeyed: boolean }>();
  readonly #shapes = new Map<string, Shape>();
  /** By the name of the virtual table that they belong to. */
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
    // SQLite's own mark of a shadow asks which table of the name is virtual, in any of the attached databases.
    for (const { name, sql } of this.objects) {
      const shadows = shadowNames({ name, sql: sql ?? '' }).filter((one) => this.#kinds.has(one));
      this.#shadows.set(name, shadows);
    }
    this.#shadowNames = new Set([...this.#shadows.values()].flat());
  }

  /** The names of the tables that have rows of their own, in order. */
  get tables(): string[] {
    const names = this.objects
      .filter(({ type, name }) => type === 'table' && !SQLITES_OWN.test(name))
      .map(({ name }) => name)
      .filter((name) => !this.isShadow(name));
    return names.sort();
  }

  isShadow(name: string): boolean {
    return this.#shadowNames.has(name);
  }

  /** Undefined if there is no such table. */
  of(name: string): Shape | undefined {
    const known = this.#shapes.get(name);
    if (known !== undefined) return known;
    const object = this.objects.find((one) => one.type === 'table' && one.name === name);
    if (object === undefined) return undefined;
    const shape = this.#shapeOf(object);
    this.#shapes.set(name, shape);
    return shape;
  }

  /** A table or view, and all that belongs to it. */
  objectsOf(name: string): SchemaObject[] {
    return this.objects.filter(({ table }) => table === name);
  }

  /** The trees of all indexes, and of all tables but those named. */
  treesExcept(names: ReadonlySet<string>): Tree[] {
    const trees: Tree[] = [];
    for (const { type, name, table, root } of this.objects) {
      if (root === 0 || names.has(name)) continue;
      if (type === 'index') {
        trees.push({ root, order: this.#orderOf(name, !this.#kinds.get(table)!.isKeyed) });
      } else if (type === 'table' && !SQLITES_OWN.test(name)) {
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

  /** True if a column of the primary key compares otherwise than its index: then it is equal in several rows. */
  hasOtherCollations({ name, key, order }: Shape): boolean {
    return (
      this.#primaryOf(name) !== undefined &&
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
    const index = this.#primaryOf(name);
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
   * The columns by which the entries of an index are in order: `whole`: with the columns that only make them
   * unique.
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

  /** Undefined: the table has no primary key, or that is its rowid. */
  #primaryOf(table: string): string | undefined {
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
