// Makes the content of a copy that of its original, from what has changed there.
//
// Rows that have changed are deleted before any is inserted, and nothing is replaced: two rows with one value of a unique
// column, of which the changes have only one, are an error here and not a row that is missing silently.
//
// Parts of a copy are read at different times, and two rows of them may have one value of a unique column. Of two such
// rows, one at least was written meanwhile, and is left out here: the changes since the first part have it.
//
// Invariant: it runs inside `replicate`, which undoes everything if it throws.
//
// Does not know positions, nor where the changes come from.

import type { Copy, Database, PreparedStatement } from '@ctx-storage/worker/engine';
import type { Changes, SchemaEntry, SentCell, TableChanges } from '../changes/changes.ts';
import { bytesOfText } from '../changes/exact-text.ts';

/** Everything but tables of this package, shadow tables, and what SQLite makes by itself. */
const OBJECTS =
  "SELECT name, sql FROM sqlite_master WHERE type = ?1 AND sql IS NOT NULL AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\' " +
  "AND name NOT LIKE '\\_follow\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
const HAS_SEQUENCES = "SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'";
/** What depends on others comes first. */
const DROPPED = ['view', 'trigger', 'index', 'table'] as const;
const CREATED = ['table', 'index', 'view', 'trigger'] as const;

/** @throws SQL: the changes do not fit the copy */
export function applyChanges(copy: Copy, changes: Changes): void {
  apply(copy, changes, changes.isWiped);
}

/** The parts of a copy, and the changes since its first part. @throws SQL: they do not fit */
export function applyCopy(copy: Copy, parts: Iterable<Changes>, changes: Changes): void {
  const written = new Map(changes.tables.map((table) => [table.name, writtenRows(table)]));
  for (const part of parts) {
    const tables = part.tables.map((table) => without(table, written.get(table.name)));
    apply(copy, { ...part, tables }, true);
  }
  apply(copy, changes, false);
}

/** Names of the keys of a table's rows that were written or deleted. */
function writtenRows({ keys, columns, rows, gone }: TableChanges): ReadonlySet<string> {
  const places = keys.map((key) => columns.indexOf(key));
  const written = rows.map((row) => places.map((place) => row[place]!));
  return new Set([...written, ...gone].map(keyName));
}

function without(table: TableChanges, written: ReadonlySet<string> | undefined): TableChanges {
  if (written === undefined) return table;
  const places = table.keys.map((key) => table.columns.indexOf(key));
  const isKept = (row: readonly SentCell[]) =>
    !written.has(keyName(places.map((place) => row[place]!)));
  return { ...table, rows: table.rows.filter(isKept) };
}

/** The same for equal keys: 1 and 1.0 are one key. */
function keyName(cells: readonly SentCell[]): string {
  const named = cells.map((cell) => {
    if (cell === null || typeof cell === 'string') return cell;
    return cell instanceof Uint8Array ? [...cell] : [String(cell), 0];
  });
  return JSON.stringify(named);
}

/** `isNew`: no row of the changes is there yet, as after a wipe. */
function apply({ database, kv }: Copy, changes: Changes, isNew: boolean): void {
  const { isWiped, schema, tables, sequences } = changes;
  if (isWiped) {
    dropOthers(database, []);
    kv.clear();
  }
  if (schema !== null) becomeSchema(database, schema);
  if (!isNew) for (const table of tables) removeRows(database, table);
  for (const table of tables) insertRows(database, table);
  kv.put(changes.kv);
  for (const key of changes.kvGone) kv.delete(key);
  if (isWiped || sequences !== null) setSequences(database, sequences ?? []);
}

function becomeSchema(database: Database, wanted: readonly SchemaEntry[]): void {
  dropOthers(database, wanted);
  const names = (type: SchemaEntry['type']) => objectsOf(database, type).map(({ name }) => name);
  for (const type of CREATED) {
    // A table that was dropped took its indexes and triggers along.
    const there = new Set(names(type));
    for (const object of wanted) {
      if (object.type === type && !there.has(object.name)) database.exec(object.sql, []);
    }
  }
}

/** Drops what is not wanted, or not as it is. */
function dropOthers(database: Database, wanted: readonly SchemaEntry[]): void {
  const kept = new Set(wanted.map(({ type, name, sql }) => `${type} ${name} ${sql}`));
  for (const type of DROPPED) {
    for (const { name, sql } of objectsOf(database, type)) {
      if (!kept.has(`${type} ${name} ${sql}`)) {
        database.exec(`DROP ${type} IF EXISTS ${quoted(name)}`, []);
      }
    }
  }
}

function objectsOf(database: Database, type: SchemaEntry['type']): Omit<SchemaEntry, 'type'>[] {
  const objects = [];
  const list = database.statement(OBJECTS);
  list.bindText(1, type);
  while (list.step()) objects.push({ name: list.columnText(0), sql: list.columnText(1) });
  return objects;
}

function removeRows(
  database: Database,
  { name, keys, columns, isWhole, rows, gone }: TableChanges,
): void {
  if (isWhole) {
    database.run(`DELETE FROM ${quoted(name)}`);
    return;
  }
  const where = keys.map((key, i) => `${quoted(key)} = ?${i + 1}`).join(' AND ');
  const remove = database.statement(`DELETE FROM ${quoted(name)} WHERE ${where}`);
  for (const row of gone) run(remove, row);
  const places = keys.map((key) => columns.indexOf(key));
  for (const row of rows) {
    run(
      remove,
      places.map((place) => row[place]!),
    );
  }
}

function insertRows(database: Database, { name, columns, rows }: TableChanges): void {
  const values = columns.map((_, i) => `?${i + 1}`);
  const insert = database.statement(
    `INSERT OR ABORT INTO ${quoted(name)} (${columns.map(quoted).join()}) VALUES (${values.join()})`,
  );
  for (const row of rows) run(insert, row);
}

function setSequences(database: Database, sequences: NonNullable<Changes['sequences']>): void {
  const exist = database.statement(HAS_SEQUENCES);
  const exists = exist.step();
  exist.reset();
  if (!exists) return;
  database.run('DELETE FROM sqlite_sequence');
  const insert = database.statement('INSERT INTO sqlite_sequence VALUES (?1, ?2)');
  for (const [table, sequence] of sequences) run(insert, [table, BigInt(sequence)]);
}

function run(statement: PreparedStatement, cells: readonly SentCell[]): void {
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

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
