// Applies the server's changes to the local copy.
//
// All changed rows are deleted before any is inserted, and no insert replaces a row. So if a new row has the same unique
// value as a row that the changes do not name, applying fails, instead of silently losing that row.
//
// The parts of a snapshot are read at different times, so two of their rows may have the same unique value. At least one of
// them was written meanwhile; rows that the changes since the first part name are omitted from the parts.
//
// Invariant: this code runs inside `replicate`, which rolls everything back if it throws.
//
// This file does not know positions, nor where the changes come from.

import { assert } from '@ctx-storage/core/errors';
import type { Copy, Database, PreparedStatement } from '@ctx-storage/worker/engine';
import type { Changes, SchemaEntry, SentCell, TableChanges } from '../changes/changes.ts';
import { bytesOfText } from '../changes/exact-text.ts';

/** Lists the class's own tables, indexes, views and triggers. */
const SCHEMA_SQL =
  "SELECT name, sql FROM sqlite_master WHERE type = ?1 AND sql IS NOT NULL AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\' " +
  "AND name NOT LIKE '\\_follow\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
const SELECT_SEQUENCE_TABLE = "SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'";
/** The order in which kinds of schema objects are dropped: a kind that depends on other kinds comes before them. */
const DROP_ORDER = ['view', 'trigger', 'index', 'table'] as const;
const CREATE_ORDER = ['table', 'index', 'view', 'trigger'] as const;

/** Applies an update. @throws SQL if the changes do not fit the copy */
export function applyChanges(copy: Copy, changes: Changes): void {
  apply(copy, changes, changes.isWiped);
}

/** Applies the parts of a snapshot, and the changes since its first part. @throws SQL if they do not fit together */
export function applyCopy(copy: Copy, parts: Iterable<Changes>, changes: Changes): void {
  const written = new Map(changes.tables.map((table) => [table.name, writtenRows(table)]));
  for (const part of parts) {
    const tables = part.tables.map((table) => withoutRows(table, written.get(table.name)));
    apply(copy, { ...part, tables }, true);
  }
  apply(copy, changes, false);
}

/** Returns the keys of a table's written and deleted rows, as texts. */
function writtenRows({ keys, columns, rows, gone }: TableChanges): ReadonlySet<string> {
  const places = keys.map((key) => columns.indexOf(key));
  const written = rows.map((row) => places.map((place) => row[place]!));
  return new Set([...written, ...gone].map(keyName));
}

function withoutRows(table: TableChanges, written: ReadonlySet<string> | undefined): TableChanges {
  if (written === undefined) return table;
  const places = table.keys.map((key) => table.columns.indexOf(key));
  const isKept = (row: readonly SentCell[]) =>
    !written.has(keyName(places.map((place) => row[place]!)));
  return { ...table, rows: table.rows.filter(isKept) };
}

/** Turns a row's key into a text. Equal keys have equal texts: 1 and 1.0 are one key. */
function keyName(cells: readonly SentCell[]): string {
  const named = cells.map((cell) => {
    if (cell === null || typeof cell === 'string') return cell;
    return cell instanceof Uint8Array ? [...cell] : [String(cell), 0];
  });
  return JSON.stringify(named);
}

/** Applies changes. If `isNew` is true, the copy has none of the changed rows yet. */
function apply({ database, kv }: Copy, changes: Changes, isNew: boolean): void {
  assert(database.inTransaction, 'changes were applied outside of a transaction');
  const { isWiped, schema, tables, sequences } = changes;
  if (isWiped) {
    dropUnwanted(database, []);
    kv.clear();
  }
  if (schema !== null) changeSchema(database, schema);
  if (!isNew) for (const table of tables) removeRows(database, table);
  for (const table of tables) insertRows(database, table);
  kv.put(changes.kv);
  for (const key of changes.kvGone) kv.delete(key);
  if (isWiped || sequences !== null) setSequences(database, sequences ?? []);
}

function changeSchema(database: Database, wanted: readonly SchemaEntry[]): void {
  dropUnwanted(database, wanted);
  const names = (type: SchemaEntry['type']) => objectsOf(database, type).map(({ name }) => name);
  for (const type of CREATE_ORDER) {
    // The list is read again for each type, because a dropped table took its indexes and triggers along.
    const existing = new Set(names(type));
    for (const object of wanted) {
      if (object.type === type && !existing.has(object.name)) database.exec(object.sql, []);
    }
  }
}

/** Drops every table, index, view and trigger that is not wanted, or has another text. */
function dropUnwanted(database: Database, wanted: readonly SchemaEntry[]): void {
  const wantedTexts = new Set(wanted.map(({ type, name, sql }) => `${type} ${name} ${sql}`));
  for (const type of DROP_ORDER) {
    for (const { name, sql } of objectsOf(database, type)) {
      if (!wantedTexts.has(`${type} ${name} ${sql}`)) {
        database.exec(`DROP ${type} IF EXISTS ${quoteName(name)}`, []);
      }
    }
  }
}

function objectsOf(database: Database, type: SchemaEntry['type']): Omit<SchemaEntry, 'type'>[] {
  const objects = [];
  const list = database.statement(SCHEMA_SQL);
  list.bindText(1, type);
  while (list.step()) objects.push({ name: list.columnText(0), sql: list.columnText(1) });
  return objects;
}

function removeRows(
  database: Database,
  { name, keys, columns, isWhole, rows, gone }: TableChanges,
): void {
  if (isWhole) {
    database.run(`DELETE FROM ${quoteName(name)}`);
    return;
  }
  const where = keys.map((key, i) => `${quoteName(key)} = ?${i + 1}`).join(' AND ');
  const remove = database.statement(`DELETE FROM ${quoteName(name)} WHERE ${where}`);
  for (const row of gone) runWith(remove, row);
  const places = keys.map((key) => columns.indexOf(key));
  for (const row of rows) {
    runWith(
      remove,
      places.map((place) => row[place]!),
    );
  }
}

function insertRows(database: Database, { name, columns, rows }: TableChanges): void {
  const values = columns.map((_, i) => `?${i + 1}`);
  const insert = database.statement(
    `INSERT OR ABORT INTO ${quoteName(name)} (${columns.map(quoteName).join()}) VALUES (${values.join()})`,
  );
  for (const row of rows) runWith(insert, row);
}

function setSequences(database: Database, sequences: NonNullable<Changes['sequences']>): void {
  const exist = database.statement(SELECT_SEQUENCE_TABLE);
  const exists = exist.step();
  exist.reset();
  if (!exists) return;
  database.run('DELETE FROM sqlite_sequence');
  const insert = database.statement('INSERT INTO sqlite_sequence VALUES (?1, ?2)');
  for (const [table, sequence] of sequences) runWith(insert, [table, BigInt(sequence)]);
}

function runWith(statement: PreparedStatement, cells: readonly SentCell[]): void {
  for (let i = 0; i < cells.length; i++) bind(statement, i + 1, cells[i]!);
  statement.step();
}

function bind(statement: PreparedStatement, index: number, cell: SentCell): void {
  if (cell === null) statement.bindNull(index);
  else if (typeof cell === 'number') statement.bindNumber(index, cell);
  else if (typeof cell === 'bigint') statement.bindInt64(index, cell);
  else if (typeof cell === 'string') bindText(statement, index, cell);
  else statement.bindBlob(index, cell);
}

function bindText(statement: PreparedStatement, index: number, sent: string): void {
  const bytes = bytesOfText(sent);
  if (bytes === null) statement.bindText(index, sent);
  else statement.bindTextBytes(index, bytes);
}

function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
