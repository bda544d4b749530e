// Applies the changes between two states of an object to the object as it is now.
//
// `base` is the earlier of the two states, `theirs` the later one. A change applies where the object still has what the
// base had; where it has what `theirs` has, nothing is to be done; anything else is a conflict. Triggers do not run,
// because what they did is part of the changes.
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
 * `changed`: the object has something else than the base. `rows`: the table has other rows than the base, so it cannot
 * be made again. `unnamed`: its rows cannot be read. `constraint`: a constraint of the table refuses the change.
 */
export type ConflictReason = 'changed' | 'rows' | 'unnamed' | 'constraint';

export interface ChangeConflict {
  readonly reason: ConflictReason;
  readonly change: StateDifference;
  /** What the object has, of a row; undefined for other changes. */
  readonly now: Row | null | undefined;
  readonly shape: Shape | null;
}

/** A constraint refuses the changes together, or a definition does not fit the object. */
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
  /** Tables whose rows it changes. */
  readonly tables = new Set<string>();
  readonly #database: Database;
  readonly #differences: StateDifferences;
  readonly #shapes: Shapes;
  readonly #schema: SchemaDifference[] = [];
  readonly #rows: RowStep[] = [];
  readonly #ownSequences: Sequences;
  /** With the larger numbers of the later state. A table that is made again loses its own number. */
  readonly #sequences: Sequences;
  readonly #readers = new Map<string, RowReader>();
  /**
   * Tables that no changeset is applied to: a condition by key finds several rows, since SQLite compares the columns and
   * not the index; or a constraint itself decides its conflicts, and would replace or leave out rows.
   */
  readonly #unsuited = new Set<Shape>();
  /** Tables with a unique index beside the key: two rows may exchange values of it. */
  readonly #unique = new Set<Shape>();
  /** Tables that are made, removed or made again as a whole. */
  readonly #whole = new Set<string>();

  constructor(database: Database, differences: StateDifferences) {
    this.#database = database;
    this.#differences = differences;
    this.#shapes = new Shapes(database, 'main');
    this.#ownSequences = sequencesOf(database, 'main', this.#shapes);
    this.#sequences = largerOf(this.#ownSequences, differences.raisedSequences());
  }

  /** True if nothing is to be done. */
  get isEmpty(): boolean {
    return (
      this.#rows.length === 0 &&
      this.#schema.length === 0 &&
      missingOf(this.#sequences, this.#ownSequences, this.#shapes).size === 0
    );
  }

  /** Takes one change, or notes its conflict. `always`: it is made in any case, if it can be. */
  add(change: StateDifference, always: boolean): void {
    if (change.kind === 'schema') this.#addSchema(change, always);
    else if (change.kind === 'row') this.#addRow(change, always);
    else if (!this.#isWithSchema(change)) this.#refuse('unnamed', change);
  }

  /** Leaves out a change that is in conflict; with a definition, the rows that come with it. */
  leaveOut(change: StateDifference): void {
    if (change.kind === 'schema' && change.type === 'table') this.#whole.add(change.name);
  }

  /** Makes the changes that were taken. @throws RefusedChanges */
  run(): void {
    const drops = this.#schema.filter(({ before }) => before !== null);
    const creates = this.#schema.filter(({ after }) => after !== null);
    const isTable = ({ type }: SchemaDifference) => type === 'table';
    const database = this.#database;
    const steps = this.#rows;
    for (const shape of new Set(steps.map((step) => step.shape))) {
      if (this.#shapes.hasOtherCollations(shape) || /conflict/i.test(shape.sql))
        this.#unsuited.add(shape);
      if (this.#shapes.hasUnique(shape.name)) this.#unique.add(shape);
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
          // A row that goes, and is named by its key, may have the rowid or the unique value of a row to come.
          this.#applyKeyed(keyed, 'removals');
          this.#applyDirect(direct);
        }
        // A child cannot be written while its foreign key is enforced, and the table of its parents is dropped.
        this.#applyKeyed(keyed, direct.length === 0 ? 'all' : 'writes');
      });
      // A trigger may be of a view.
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
    // A hidden table is made with its first row, and an empty one may stay.
    if (isHiddenName(name)) return;
    if (type === 'table') this.#whole.add(name);
    if ((now ?? null) !== before && !always) {
      this.#refuse('changed', change);
      return;
    }
    if (type === 'table' && !always && !this.#hasRowsOfBase(name)) {
      this.#refuse('rows', change);
      return;
    }
    this.tables.add(change.table);
    // It is as the base has it, or is to be replaced.
    this.#schema.push({ ...change, before: now ?? null });
  }

  /** Its rows are made with the table: all of them can be read, though not told apart. */
  #isWithSchema({ table }: HiddenDifference): boolean {
    const shape = this.#differences.shapeOf(1, table);
    return this.#whole.has(table) && shape !== undefined && shape.kind !== 'virtual';
  }

  #addRow(change: RowDifference, always: boolean): void {
    const { table } = change;
    if (this.#whole.has(table)) return;
    // A hidden table that is missing has no rows, and is made with the first.
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

  /** True if the table's rows are those that it had in the base. */
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
      // It is of a table or column that the object has not, or an index that its rows do not allow.
      if (isRefusal(error)) throw new RefusedChanges(change);
      throw error;
    }
  }

  /** Inserts the rows of a table of the later state, unless other tables keep them, as those of a full-text index. */
  #insertAll(table: string): void {
    const shape = this.#differences.shapeOf(1, table)!;
    const kind = contentKind(shape);
    if (kind !== 'content' && kind !== 'plain') return;
    for (const { cells, rowid } of this.#differences.rowsOf(1, table))
      this.#insert(shape, cells, rowid);
  }

  /** Indexes and triggers that go with a table or view, and that no change makes: those of the object, if it has it. */
  #dependents({ name, before }: SchemaDifference): string[] {
    const objects =
      before === null ? this.#differences.objectsOf(1, name) : this.#shapes.objectsOf(name);
    const isChange = ({ type, name }: SchemaObject) =>
      this.#schema.some((one) => one.type === type && one.name === name);
    return objects.flatMap((one) => (one.sql === null || isChange(one) ? [] : [one.sql]));
  }

  /**
   * Rows that a changeset cannot name, without a primary key or of virtual tables, and those of unsuited tables. A
   * constraint's own decision of conflicts does not count.
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
    // A row that has a key takes any rowid, which must not be that of another one.
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

  /** Its row is taken out and put in again, by statements: SQLite cannot update it by its key, or not before others. */
  #isReplaced({ shape, change }: RowStep): boolean {
    if (shape.kind === 'virtual' || this.#unsuited.has(shape)) return true;
    return change.key === null && this.#unique.has(shape);
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

  /** `removals`: of rows that go or are replaced. */
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
      // All are taken out before any is put in.
      const mustReplace = ({ change, now }: RowStep) =>
        this.#unique.has(shape) || !sameKeyCells(change.after!, now!.cells, shape);
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

  /** The table whose foreign key refused it, which SQLite does not tell: the caller rolls back, so it is applied. */
  #tableBrokenBy(changeset: Uint8Array): string {
    const database = this.#database;
    database.withoutForeignKeys(true, () => void database.applyChangeset(changeset));
    return database.tableOfBrokenKey() ?? '';
  }

  /** A full-text index of another table's content is made again: the triggers that keep it did not run. */
  #rebuildIndexes(shapes: Shapes): void {
    for (const name of shapes.tables) {
      const shape = shapes.of(name)!;
      if (contentKind(shape) !== 'others') continue;
      const source = contentOfIndex(shape);
      const isView = shapes.objects.some((one) => one.type === 'view' && one.name === source);
      if (!isView && !this.tables.has(source)) continue;
      const quoted = quotedName(name);
      // As a program would: the storage's own statements run no view.
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

/** Runs a statement that changes a row. */
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
