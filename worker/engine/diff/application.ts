// Applies the changes between two states of an object to its present state.
//
// `base` is the earlier of the two states, `theirs` the later one. A row is changed if the object still has the row of
// the base. If it already has the row of `theirs`, nothing is done. Otherwise there is a conflict. Triggers do not run,
// because the changes include their effects.
//
// Invariant: either every accepted change is made, or an error is thrown and the caller rolls back.

import { isStorageError } from '../../../src/shared/contract/errors.ts';
import { type Cell, integerCell, sameCell } from '../sql/cells.ts';
import type { Database } from '../sql/database.ts';
import { isHiddenName } from '../sql/reserved-names.ts';
import type { PreparedStatement } from '../sql/statement.ts';
import { ChangesetWriter } from './changeset.ts';
import type {
  HiddenDifference,
  RowDifference,
  SchemaDifference,
  StateDifference,
  StateDifferences,
} from './differences.ts';
import { contentKind, contentOfIndex } from './full-text.ts';
import { type FoundRow, quotedName, type Row, RowReader, sameStored } from './row-reader.ts';
import { largerOf, missingOf, type Sequences, sequencesOf, setSequences } from './sequences.ts';
import { type SchemaObject, type Shape, Shapes } from './shapes.ts';

/**
 * The reason of a conflict.
 * `changed`: the object's row or definition differs from the base.
 * `rows`: the table's rows differ from the base, so the table cannot be replaced.
 * `unnamed`: the table's rows cannot be read.
 * `constraint`: a constraint of the table refuses the change.
 */
export type ConflictReason = 'changed' | 'rows' | 'unnamed' | 'constraint';

export interface ChangeConflict {
  readonly reason: ConflictReason;
  readonly change: StateDifference;
  /** The object's present row, null if it has none; undefined if the change is not of a row. */
  readonly now: Row | null | undefined;
  readonly shape: Shape | null;
}

/** The error if a constraint refuses the changes, or a definition does not fit the object. */
export class RefusedChanges extends Error {
  readonly change: SchemaDifference | HiddenDifference;

  constructor(change: SchemaDifference | HiddenDifference) {
    super(change.table);
    this.change = change;
  }
}

interface RowStep {
  readonly shape: Shape;
  readonly change: RowDifference;
  readonly now: FoundRow | null;
}

export class Application {
  readonly conflicts: ChangeConflict[] = [];
  /** Names of the tables whose rows are changed. */
  readonly tables = new Set<string>();
  readonly #database: Database;
  readonly #differences: StateDifferences;
  readonly #shapes: Shapes;
  readonly #schema: SchemaDifference[] = [];
  readonly #rows: RowStep[] = [];
  readonly #ownSequences: Sequences;
  /** The numbers of AUTOINCREMENT tables, raised to those of the later state. A replaced table loses its own number. */
  readonly #sequences: Sequences;
  readonly #readers = new Map<string, RowReader>();
  /**
   * Tables to which changesets cannot be applied. Either a condition by key finds several rows, because it compares
   * columns otherwise than the key's index does; or a constraint has its own ON CONFLICT clause, and would replace or
   * skip rows.
   */
  readonly #withoutChangesets = new Set<Shape>();
  /** Tables with a unique index besides the key; two rows may exchange their values in it. */
  readonly #withUniqueIndex = new Set<Shape>();
  /** Tables that are created, dropped or replaced as a whole. */
  readonly #wholeTables = new Set<string>();

  constructor(database: Database, differences: StateDifferences) {
    this.#database = database;
    this.#differences = differences;
    this.#shapes = new Shapes(database, 'main');
    this.#ownSequences = sequencesOf(database, 'main', this.#shapes);
    this.#sequences = largerOf(this.#ownSequences, differences.raisedSequences());
  }

  /** True if there is nothing to change. */
  get isEmpty(): boolean {
    return (
      this.#rows.length === 0 &&
      this.#schema.length === 0 &&
      missingOf(this.#sequences, this.#ownSequences, this.#shapes).size === 0
    );
  }

  /**
   * Accepts a change, or notes its conflict. With `always`, the change is accepted in spite of a conflict, if possible.
   */
  add(change: StateDifference, always: boolean): void {
    if (change.kind === 'schema') this.#addSchema(change, always);
    else if (change.kind === 'row') this.#addRow(change, always);
    else if (!this.#isCreatedWithTable(change)) this.#refuse('unnamed', change);
  }

  /** Skips a change that is in conflict; with a table's definition, also skips the table's rows. */
  leaveOut(change: StateDifference): void {
    if (change.kind === 'schema' && change.type === 'table') this.#wholeTables.add(change.name);
  }

  /** Makes the accepted changes. @throws RefusedChanges */
  run(): void {
    const drops = this.#schema.filter(({ before }) => before !== null);
    const creates = this.#schema.filter(({ after }) => after !== null);
    const isTable = ({ type }: SchemaDifference) => type === 'table';
    const database = this.#database;
    const steps = this.#rows;
    for (const shape of new Set(steps.map((step) => step.shape))) {
      if (this.#shapes.hasOtherCollations(shape) || /conflict/i.test(shape.sql))
        this.#withoutChangesets.add(shape);
      if (this.#shapes.hasUnique(shape.name)) this.#withUniqueIndex.add(shape);
    }
    const isDirect = (step: RowStep) => step.change.key === null || this.#isReplaced(step);
    const [direct, keyed] = [steps.filter(isDirect), steps.filter((step) => !isDirect(step))];
    database.withoutTriggers(() => {
      const changesTables = this.#schema.some(isTable);
      database.withoutForeignKeys(changesTables || direct.length > 0, () => {
        for (const change of drops.filter((one) => !isTable(one))) this.#drop(change);
        for (const change of drops.filter(isTable)) this.#drop(change);
        for (const change of creates.filter(isTable)) this.#create(change);
        if (direct.length > 0) {
          // Delete rows by key first: a deleted row may have the rowid or a unique value of an inserted one.
          this.#applyKeyed(keyed, 'removals');
          this.#applyDirect(direct);
        }
        // Turn foreign keys off: a row cannot be written while the table to which its foreign key refers is dropped.
        this.#applyKeyed(keyed, direct.length === 0 ? 'all' : 'writes');
      });
      // Create views before triggers, because a trigger may belong to a view.
      for (const type of ['index', 'view', 'trigger'])
        for (const change of creates) if (change.type === type) this.#create(change);
      const shapes = new Shapes(database, 'main');
      this.#rebuildIndexes(shapes);
      setSequences(
        database,
        missingOf(this.#sequences, sequencesOf(database, 'main', shapes), shapes),
      );
      const table = changesTables || direct.length > 0 ? database.tableOfBrokenKey() : null;
      if (table !== null) throw new RefusedChanges({ kind: 'table', table });
    });
  }

  #addSchema(change: SchemaDifference, always: boolean): void {
    const { type, name, before, after } = change;
    const now = this.#shapes.objects.find((one) => one.type === type && one.name === name)?.sql;
    if ((now ?? null) === after) return;
    // Skip hidden tables: they are created with their first row, and an empty one may stay.
    if (isHiddenName(name)) return;
    if (type === 'table') this.#wholeTables.add(name);
    if ((now ?? null) !== before && !always) {
      this.#refuse('changed', change);
      return;
    }
    if (type === 'table' && !always && !this.#hasRowsOfBase(name)) {
      this.#refuse('rows', change);
      return;
    }
    this.tables.add(change.table);
    // The definition equals the base's, or is to be replaced.
    this.#schema.push({ ...change, before: now ?? null });
  }

  /** True if the table is created as a whole and its rows with it: they can be read, although they have no keys. */
  #isCreatedWithTable({ table }: HiddenDifference): boolean {
    const shape = this.#differences.shapeOf(1, table);
    return this.#wholeTables.has(table) && shape !== undefined && shape.kind !== 'virtual';
  }

  #addRow(change: RowDifference, always: boolean): void {
    const { table } = change;
    if (this.#wholeTables.has(table)) return;
    // A missing hidden table is created with its first row, so use its shape in the later state.
    const shape = this.#shapes.of(table) ?? (isHiddenName(table) ? change.shapes[1] : null);
    const theirs = change.shapes[1] ?? change.shapes[0]!;
    if (shape === null || shape.sql !== theirs.sql) {
      if (change.after === null && shape === null) return;
      this.#refuse('changed', change, null, shape);
      return;
    }
    const isNew = this.#shapes.of(table) === undefined;
    const now = isNew ? null : this.#readerOf(shape).like(change);
    if (sameStored(now?.cells ?? null, change.after, shape)) return;
    if (!always && !sameStored(now?.cells ?? null, change.before, shape)) {
      this.#refuse('changed', change, now?.cells ?? null, shape);
      return;
    }
    if (isNew && !this.#schema.some(({ name }) => name === table)) {
      this.#schema.push({
        kind: 'schema',
        type: 'table',
        name: table,
        table,
        before: null,
        after: shape.sql,
      });
    }
    this.tables.add(table);
    this.#rows.push({ shape, change, now });
  }

  #refuse(
    reason: ConflictReason,
    change: StateDifference,
    now?: Row | null,
    shape: Shape | null = null,
  ): void {
    this.conflicts.push({ reason, change, now, shape });
  }

  #readerOf(shape: Shape): RowReader {
    let reader = this.#readers.get(shape.name);
    if (reader === undefined) {
      reader = new RowReader(this.#database, 'main', shape);
      this.#readers.set(shape.name, reader);
    }
    return reader;
  }

  /** True if the table has the same rows as in the base. */
  #hasRowsOfBase(name: string): boolean {
    const shape = this.#shapes.of(name);
    if (shape === undefined) return true;
    const base = this.#differences.rowsOf(0, name);
    for (const row of this.#readerOf(shape).all()) {
      const { done, value } = base.next();
      if (done || !sameStored(row.cells, value.cells, shape)) return false;
    }
    return base.next().done === true;
  }

  #drop({ type, name }: SchemaDifference): void {
    this.#database.runOnce(`DROP ${type} ${quotedName(name)}`);
  }

  #create(change: SchemaDifference): void {
    const { type, name, after } = change;
    this.#define(after!, change);
    if (isHiddenName(name) || (type !== 'table' && type !== 'view')) return;
    if (type === 'table') this.#insertAll(name);
    for (const sql of this.#dependents(change)) this.#define(sql, change);
  }

  #define(sql: string, change: SchemaDifference): void {
    try {
      this.#database.runOnce(sql);
    } catch (error) {
      // The definition needs a table or column that the object lacks, or it is a unique index that its rows violate.
      if (isRefusal(error)) throw new RefusedChanges(change);
      throw error;
    }
  }

  /** Inserts the later state's rows of a table, unless other tables contain them, as with a full-text index. */
  #insertAll(table: string): void {
    const shape = this.#differences.shapeOf(1, table)!;
    const kind = contentKind(shape);
    if (kind !== 'content' && kind !== 'plain') return;
    for (const { cells, rowid } of this.#differences.rowsOf(1, table))
      this.#insert(shape, cells, rowid);
  }

  /** Returns the indexes and triggers that are dropped with a table or view, and that no change creates again. */
  #dependents({ name, before }: SchemaDifference): string[] {
    const objects =
      before === null ? this.#differences.objectsOf(1, name) : this.#shapes.objectsOf(name);
    const isChange = ({ type, name }: SchemaObject) =>
      this.#schema.some((one) => one.type === type && one.name === name);
    return objects.flatMap((one) => (one.sql === null || isChange(one) ? [] : [one.sql]));
  }

  /**
   * Changes rows by statements: rows without a primary key, rows of virtual tables, and rows of unsuited tables. ON
   * CONFLICT clauses of constraints are overruled.
   */
  #applyDirect(steps: readonly RowStep[]): void {
    for (const step of steps) {
      const { shape, change, now } = step;
      if (now === null || (change.after !== null && !this.#isReplaced(step))) continue;
      const [condition, key] =
        shape.rowid === null
          ? [this.#readerOf(shape).byKey, now.key!]
          : [`${shape.rowid} = ?`, [integerCell(now.rowid!)]];
      const statement = this.#database.statement(
        `DELETE FROM ${quotedName(shape.name)} WHERE ${condition}`,
      );
      write(statement, shape, key);
    }
    for (const step of steps) {
      const { shape, change, now } = step;
      if (change.after === null || now === null || this.#isReplaced(step)) continue;
      const names = storedNames(shape);
      const statement = this.#database.statement(
        `UPDATE OR ABORT ${quotedName(shape.name)} SET ${names.map((name) => `${name} = ?`).join(', ')} WHERE ${shape.rowid} = ?`,
      );
      const cells = [...storedCells(change.after, shape), integerCell(now.rowid!)];
      write(statement, shape, cells);
    }
    // A row with a key may get any rowid, so insert it last, when the rowids of the others are taken.
    const takesAny = ({ change }: RowStep) => change.key !== null;
    for (const isLast of [false, true]) {
      for (const step of steps) {
        const { shape, change, now } = step;
        if (change.after === null || (now !== null && !this.#isReplaced(step))) continue;
        if (takesAny(step) === isLast)
          this.#insert(shape, change.after, isLast ? null : change.rowid);
      }
    }
  }

  /**
   * True if the row must be deleted and inserted again, because it cannot be updated by its key, or only after others.
   */
  #isReplaced({ shape, change }: RowStep): boolean {
    if (shape.kind === 'virtual' || this.#withoutChangesets.has(shape)) return true;
    return change.key === null && this.#withUniqueIndex.has(shape);
  }

  #insert(shape: Shape, row: Row, rowid: bigint | null): void {
    const names = storedNames(shape);
    const cells: Cell[] = [...storedCells(row, shape)];
    if (rowid !== null) {
      names.unshift(shape.rowid!);
      cells.unshift(integerCell(rowid));
    }
    const places = names.map(() => '?').join(', ');
    const statement = this.#database.statement(
      `INSERT OR ABORT INTO ${quotedName(shape.name)} (${names.join(', ')}) VALUES (${places})`,
    );
    write(statement, shape, cells);
  }

  /** Applies changesets of rows with keys; `part` chooses deletions (also of replaced rows), writes, or both. */
  #applyKeyed(steps: readonly RowStep[], part: 'all' | 'removals' | 'writes'): void {
    const writer = new ChangesetWriter();
    const byTable = new Map<Shape, RowStep[]>();
    for (const step of steps) {
      const ofTable = byTable.get(step.shape);
      if (ofTable === undefined) byTable.set(step.shape, [step]);
      else ofTable.push(step);
    }
    for (const [shape, ofTable] of byTable) {
      writer.table(shape);
      // Delete all rows before inserting any.
      const mustReplace = ({ change, now }: RowStep) =>
        this.#withUniqueIndex.has(shape) || !sameKeyCells(change.after!, now!.cells, shape);
      for (const step of ofTable) {
        const { change, now } = step;
        if (part === 'writes' || now === null) continue;
        if (change.after === null || mustReplace(step)) writer.delete(now.cells, shape);
      }
      for (const step of ofTable) {
        const { change, now } = step;
        if (part === 'removals' || change.after === null) continue;
        if (now === null || mustReplace(step)) writer.insert(change.after, shape);
        else writer.update(now.cells, change.after, shape);
      }
    }
    const changeset = writer.bytes();
    const refusal = this.#database.applyChangeset(changeset);
    if (refusal === null) return;
    const table = refusal.table ?? this.#tableBrokenBy(changeset);
    throw new RefusedChanges({ kind: 'table', table });
  }

  /**
   * Finds the table whose foreign key refused a changeset, which SQLite does not report: applies the changeset without
   * foreign keys and searches for broken ones. The caller rolls back.
   */
  #tableBrokenBy(changeset: Uint8Array): string {
    const database = this.#database;
    database.withoutForeignKeys(true, () => void database.applyChangeset(changeset));
    return database.tableOfBrokenKey() ?? '';
  }

  /** Rebuilds full-text indexes of other tables' content, because the triggers that update them did not run. */
  #rebuildIndexes(shapes: Shapes): void {
    for (const name of shapes.tables) {
      const shape = shapes.of(name)!;
      if (contentKind(shape) !== 'others') continue;
      const source = contentOfIndex(shape);
      const isView = shapes.objects.some((one) => one.type === 'view' && one.name === source);
      if (!isView && !this.tables.has(source)) continue;
      const quoted = quotedName(name);
      // Run this as user SQL, because the storage's own statements must not run views.
      this.#database.exec(`INSERT INTO ${quoted} (${quoted}) VALUES ('rebuild')`, []);
    }
  }
}

function storedNames({ columns }: Shape): string[] {
  return columns.filter(({ isStored }) => isStored).map(({ name }) => quotedName(name));
}

function storedCells(row: Row, { columns }: Shape): Row {
  return row.filter((_, i) => columns[i]!.isStored);
}

function sameKeyCells(one: Row, other: Row, { columns }: Shape): boolean {
  return columns.every(({ keyPlace }, i) => keyPlace === 0 || sameCell(one[i]!, other[i]!));
}

function isRefusal(error: unknown): boolean {
  return isStorageError(error) && (error.code === 'SQL' || error.code === 'SQL_FORBIDDEN');
}

/** Runs a statement that must change one row. */
function write(statement: PreparedStatement, { name }: Shape, bindings: Row): void {
  bindings.forEach((cell, i) => void statement.bindCell(i + 1, cell));
  try {
    statement.step();
  } catch (error) {
    if (isStorageError(error) && error.code === 'SQL' && /constraint/i.test(error.message)) {
      throw new RefusedChanges({ kind: 'table', table: name });
    }
    throw error;
  }
}
