// Lists the differences between two states of a database: the schema, then hidden tables, then table by table in the
// order of keys.
//
// `main` is the later state; the other one is attached as `earlier`. The pages that differ say which rows to read
// (ChangedKeys); SQLite reads them by key, and their cells are compared byte for byte. If too many pages differ, or
// both states define a table differently, SQLite compares the whole table.
//
// Two rows are versions of the same row if their primary keys are equal; without a primary key, or with NULL in it, if
// their rowids are equal.
//
// Invariant: the order depends only on the two states, so that a list can be continued later.

import type { DatabaseFile } from '../file/file.ts';
import type { Database } from '../sql/database.ts';
import { isHiddenName } from '../sql/reserved-names.ts';
import { ChangedKeys, type RowKey } from './changed-keys.ts';
import { contentKind } from './full-text.ts';
import { KeyOrder } from './key-order.ts';
import {
  type FoundRow,
  isNamed,
  isSurelySame,
  type Row,
  RowReader,
  sameStored,
} from './row-reader.ts';
import { missingOf, type Sequences, sequencesOf } from './sequences.ts';
import { type SchemaName, type SchemaObject, type Shape, Shapes } from './shapes.ts';
import { StatePages, type Tree } from './state-pages.ts';
import {
  type ComparedTable,
  changedPages,
  type Pair,
  SIDES,
  touchedPages,
} from './touched-pages.ts';

/** A difference of a row; `before` or `after` is null if the row does not exist in that state. */
export interface RowDifference {
  readonly kind: 'row';
  readonly table: string;
  /** The table in each state; null if it does not exist there. */
  readonly shapes: readonly [before: Shape | null, after: Shape | null];
  /** The primary key; null if the row has none, or NULL in it. */
  readonly key: Row | null;
  readonly rowid: bigint | null;
  readonly before: Row | null;
  readonly after: Row | null;
}

export interface SchemaDifference {
  readonly kind: 'schema';
  readonly type: SchemaObject['type'];
  readonly name: string;
  readonly table: string;
  /** The definition's text in the earlier state; null if it does not exist there. */
  readonly before: string | null;
  readonly after: string | null;
}

/** A difference of a virtual table whose rows cannot be read. */
export interface HiddenDifference {
  readonly kind: 'table';
  readonly table: string;
}

export type StateDifference = RowDifference | SchemaDifference | HiddenDifference;

const NOT_COMPARED = /^sqlite_/i;

export class StateDifferences {
  readonly #database: Database;
  readonly #shapes: Pair<Shapes>;
  readonly #keyOrder: KeyOrder;
  readonly #states: Pair<StatePages>;
  readonly #pages: readonly number[] | null;
  #keys: ChangedKeys | null | undefined;

  /** `mayDiffer` lists the pages that may differ, counted from 0; null if any page may differ. */
  constructor(
    database: Database,
    files: Pair<Pick<DatabaseFile, 'read' | 'sizeBytes'>>,
    mayDiffer: Iterable<number> | null,
  ) {
    this.#database = database;
    this.#keyOrder = new KeyOrder(database);
    const [before, after] = files;
    this.#states = [new StatePages(before, this.#keyOrder), new StatePages(after, this.#keyOrder)];
    this.#pages = mayDiffer === null ? null : changedPages(this.#states, mayDiffer);
    const isSame = this.#pages?.length === 0;
    const later = new Shapes(database, 'main');
    this.#shapes = [isSame ? later : new Shapes(database, 'earlier'), later];
  }

  /** Lists all differences. The states must stay open meanwhile. */
  *all(): Generator<StateDifference> {
    if (this.#pages?.length === 0) return;
    yield* this.#ofSchema();
    const names = [...new Set([...this.#shapes[0].tables, ...this.#shapes[1].tables])].sort();
    const isHidden = (name: string) => (isHiddenName(name) ? 0 : 1);
    names.sort((a, b) => isHidden(a) - isHidden(b));
    for (const name of names) yield* this.#ofTable(name);
  }

  /** Reads the rows of a table in one state. */
  rowsOf(side: number, name: string): Generator<FoundRow> {
    return new RowReader(this.#database, schemaOf(side), this.shapeOf(side, name)!).all();
  }

  shapeOf(side: number, name: string): Shape | undefined {
    return this.#shapes[side]!.of(name);
  }

  /** Returns the numbers of AUTOINCREMENT tables that are larger in the later state. */
  raisedSequences(): Sequences {
    if (this.#pages?.length === 0) return new Map();
    const [before, after] = SIDES.map((side) =>
      sequencesOf(this.#database, schemaOf(side), this.#shapes[side]),
    ) as [Sequences, Sequences];
    return missingOf(after, before, this.#shapes[1]);
  }

  /** Returns a table of one state with its indexes and triggers. */
  objectsOf(side: number, name: string): SchemaObject[] {
    return this.#shapes[side]!.objectsOf(name);
  }

  *#ofSchema(): Generator<SchemaDifference> {
    const texts = this.#shapes.map(
      (shapes) =>
        new Map(
          shapes.objects
            .filter(({ name }) => !NOT_COMPARED.test(name) && !shapes.isShadow(name))
            .map((object) => [`${object.type} ${object.name}`, object] as const),
        ),
    );
    const [before, after] = texts as [Map<string, SchemaObject>, Map<string, SchemaObject>];
    for (const label of [...new Set([...before.keys(), ...after.keys()])].sort()) {
      const [old, now] = [before.get(label), after.get(label)];
      if (old?.sql === now?.sql) continue;
      const { type, name, table } = (now ?? old)!;
      yield {
        kind: 'schema',
        type,
        name,
        table,
        before: old?.sql ?? null,
        after: now?.sql ?? null,
      };
    }
  }

  *#ofTable(name: string): Generator<StateDifference> {
    const shapes = this.#shapes.map((one) =>
      one.isShadow(name) ? null : (one.of(name) ?? null),
    ) as [Shape | null, Shape | null];
    const [before, after] = shapes;
    if (before?.kind === 'virtual' || after?.kind === 'virtual')
      return yield* this.#ofVirtual(shapes);
    if (before === null || after === null) return yield* this.#allRows(shapes);
    if (!isComparable(before, after)) {
      yield* this.#allRows([before, null]);
      return yield* this.#allRows([null, after]);
    }
    if (this.#hidesRowids(before, 0) || this.#hidesRowids(after, 1)) {
      const mayDiffer = before.sql !== after.sql || this.#mayDiffer(name);
      if (mayDiffer) yield { kind: 'table', table: name };
      return;
    }
    const keys = before.sql === after.sql && hasKeysInPages(after) ? this.#changedKeys() : null;
    if (keys === null) yield* this.#scan([before, after]);
    else yield* this.#read([before, after], keys.of(this.#comparedTable(name)));
  }

  /** Lists the differences of a virtual table, whose content lies in its shadow tables. */
  *#ofVirtual([before, after]: Pair<Shape | null>): Generator<StateDifference> {
    const { name } = (after ?? before)!;
    const kind = contentKind((after ?? before)!);
    // Skip tables whose rows belong to other tables, where their differences are listed.
    if (kind === 'none' || kind === 'others') return;
    if (kind === 'hidden' || !before || !after || before.sql !== after.sql) {
      const differs = before === null || after === null || before.sql !== after.sql;
      if (kind === 'hidden') {
        if (differs || after!.shadows.some((shadow) => this.#mayDiffer(shadow))) {
          yield { kind: 'table', table: name };
        }
        return;
      }
      if (before !== null) yield* this.#allRows([before, null]);
      if (after !== null) yield* this.#allRows([null, after]);
      return;
    }
    const keys = this.#changedKeys();
    const content = `${name}_content`;
    if (keys !== null && kind === 'content') {
      return yield* this.#read([before, after], keys.of(this.#comparedTable(content)));
    }
    if (after.shadows.some((shadow) => this.#mayDiffer(shadow))) yield* this.#scan([before, after]);
  }

  /** Reads the rows of the keys in both states. */
  *#read(shapes: Pair<Shape>, keys: readonly RowKey[]): Generator<RowDifference> {
    const readers = shapes.map((shape, i) => new RowReader(this.#database, schemaOf(i), shape));
    const [before, after] = readers as [RowReader, RowReader];
    for (const key of keys) {
      const old = before.at(key);
      const now = after.at(key);
      if (old !== null && now !== null && isSurelySame(old, now)) {
        if (!sameStored(old.cells, now.cells, shapes[1])) yield this.#changeOf(shapes, old, now);
        continue;
      }
      // The row with the same primary key may have another rowid.
      if (old !== null) {
        const same = after.like(old);
        if (!sameStored(old.cells, same?.cells ?? null, shapes[1]))
          yield this.#changeOf(shapes, old, same);
      }
      if (now !== null && before.like(now) === null) yield this.#changeOf(shapes, null, now);
    }
  }

  #changeOf(
    shapes: Pair<Shape | null>,
    before: FoundRow | null,
    after: FoundRow | null,
  ): RowDifference {
    const found = (before ?? after)!;
    return {
      kind: 'row',
      table: (shapes[0] ?? shapes[1])!.name,
      shapes,
      key: isNamed(found) ? found.key : null,
      rowid: found.rowid,
      before: before?.cells ?? null,
      after: after?.cells ?? null,
    };
  }

  /** Lists every row of a table that exists in only one state, as removed or added. */
  *#allRows(shapes: Pair<Shape | null>): Generator<RowDifference> {
    const side = shapes[0] === null ? 1 : 0;
    const reader = new RowReader(this.#database, schemaOf(side), shapes[side]!);
    for (const row of reader.all()) {
      yield this.#changeOf(shapes, side === 0 ? row : null, side === 1 ? row : null);
    }
  }

  /** Compares whole tables: first the rows that are gone or changed, then the added ones. */
  *#scan(shapes: Pair<Shape>): Generator<RowDifference> {
    const readers = shapes.map((shape, i) => new RowReader(this.#database, schemaOf(i), shape));
    const [before, after] = readers as [RowReader, RowReader];
    for (const row of before.unlike(after)) yield this.#changeOf(shapes, row, after.like(row));
    for (const row of after.unlike(before)) {
      if (before.like(row) === null) yield this.#changeOf(shapes, null, row);
    }
  }

  /** True if columns hide the table's rowids, and it has rows without a key. */
  #hidesRowids(shape: Shape, side: number): boolean {
    if (shape.kind !== 'rowid' || shape.rowid !== null) return false;
    return new RowReader(this.#database, schemaOf(side), shape).hasUnnamed;
  }

  #mayDiffer(name: string): boolean {
    const keys = this.#changedKeys();
    return keys === null || keys.of(this.#comparedTable(name)).length > 0;
  }

  #comparedTable(name: string): ComparedTable {
    const trees = this.#shapes.map((shapes) => treeOf(shapes.of(name)!));
    return { name, trees: trees as unknown as Pair<Tree> };
  }

  /** Finds the keys of changed rows; returns null if too many pages differ. */
  #changedKeys(): ChangedKeys | null {
    if (this.#keys !== undefined) return this.#keys;
    if (this.#pages === null) return (this.#keys = null);
    const [before, after] = this.#shapes;
    const tables = after.objects
      .filter(({ name, sql }) => sql !== null && before.of(name)?.sql === sql)
      .map(({ name }) => this.#comparedTable(name));
    const names = new Set(tables.map(({ name }) => name));
    const touched = touchedPages(this.#states, this.#pages, tables);
    if (touched === null) return (this.#keys = null);
    const changed = new Set(this.#pages);
    const others = () => after.treesExcept(names);
    return (this.#keys = new ChangedKeys(
      this.#states,
      this.#keyOrder,
      touched,
      changed,
      tables,
      others,
    ));
  }
}

/** True if both tables have the same key, so that their rows can be matched. */
function isComparable(before: Shape, after: Shape): boolean {
  const keys = [before, after].map(({ key, order }) => [key, order.map((one) => one.collation)]);
  return JSON.stringify(keys[0]) === JSON.stringify(keys[1]);
}

/** True if the table's pages contain keys by which its rows can be read. */
function hasKeysInPages({ kind, rowid }: Shape): boolean {
  return kind === 'keyed' || rowid !== null;
}

function treeOf({ root, kind, order }: Shape): Tree {
  return { root, order: kind === 'keyed' ? order : null };
}

function schemaOf(side: number): SchemaName {
  return side === 0 ? 'earlier' : 'main';
}
