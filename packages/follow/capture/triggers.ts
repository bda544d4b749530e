// Writes the SQL of the triggers that record the changes of a table: they insert the key of each inserted, changed or
// deleted row into `_follow_note`.
//
// REPLACE deletes rows without firing triggers. So before a row is written, further triggers record all rows that have the
// same values in a unique index. `recursive_triggers` would fire triggers for REPLACE, but it would also change what the
// class's own triggers do.
//
// This file does not know when the triggers are created.

import {
  literal,
  type NotedTable,
  OWN_PREFIX,
  ROWID_NAMES,
  sqlName,
  type UniqueIndex,
} from './table-shape.ts';

/** The columns of `_follow_note` that hold the key of a row. */
export const NOTE_KEYS = ['k', 'k1', 'k2', 'k3'] as const;

/** Returns the statements that create the triggers of a table. */
export function triggersOf(shape: NotedTable): string[] {
  const { name, keys, hasRowid } = shape;
  const into = `INSERT INTO ${OWN_PREFIX}note (t, ${NOTE_KEYS.slice(0, keys.length).join(', ')})`;
  const note = (row: string) =>
    `${into} VALUES (${literal(name)}, ${keys.map((key) => `${row}.${sqlName(key)}`).join(', ')})`;
  const keyChanged = keys
    .map((key) => `OLD.${sqlName(key)} IS NOT NEW.${sqlName(key)}`)
    .join(' OR ');
  const keyNames = new Set([...keys, ...(hasRowid ? ROWID_NAMES : [])]);
  const trigger = (kind: string, event: string, body: readonly string[], condition = '') =>
    `CREATE TRIGGER ${sqlName(`${OWN_PREFIX}${kind}_${name}`)} ${event} ON ${sqlName(name)} ${condition} BEGIN ${body.join('; ')}; END`;
  return [
    ...replacedRowTriggers(shape, into, trigger),
    trigger('i', 'AFTER INSERT', [note('NEW')]),
    trigger('d', 'AFTER DELETE', [note('OLD')]),
    trigger('u', 'AFTER UPDATE', [note('NEW')]),
    trigger(
      'm',
      `AFTER UPDATE OF ${[...keyNames].map(sqlName).join(', ')}`,
      [note('OLD')],
      `WHEN ${keyChanged}`,
    ),
  ];
}

function replacedRowTriggers(
  { name, keys, hasRowid, uniques, defaulted, generated }: NotedTable,
  into: string,
  trigger: (kind: string, event: string, body: readonly string[]) => string,
): string[] {
  const indexedColumns = new Set<string>();
  const statements: string[] = [];
  for (const { columns } of uniques) {
    const isKey =
      columns.length === keys.length && columns.every(({ name: one }) => keys.includes(one));
    if (!hasRowid && isKey) continue; // The new row has the replaced row's key, and is itself recorded.
    const rowsWith = (same: readonly string[]) =>
      `${into} SELECT ${literal(name)}, ${keys.map(sqlName).join(', ')} FROM ${sqlName(name)} WHERE ${same.join(' AND ')}`;
    const same = ({ name: column, collation }: UniqueIndex['columns'][number]) =>
      `${sqlName(column)} = NEW.${sqlName(column)} COLLATE ${collation}`;
    statements.push(rowsWith(columns.map(same)));
    for (const { name: column } of columns) indexedColumns.add(column);
    // After these triggers have run, REPLACE replaces a NULL by the column's default. Then the new values are not known here,
    // so all rows with the same values in the other columns are recorded.
    const isComputed = columns.some((column) => generated.has(column.name));
    const defaultedColumns = defaulted.filter(
      (column) => isComputed || columns.some(({ name: one }) => one === column),
    );
    if (defaultedColumns.length === 0) continue;
    const knownColumns = columns.filter(
      ({ name: one }) => !defaultedColumns.includes(one) && !generated.has(one),
    );
    const isDefaultUsed = defaultedColumns
      .map((column) => `NEW.${sqlName(column)} IS NULL`)
      .join(' OR ');
    statements.push(rowsWith([`(${isDefaultUsed})`, ...knownColumns.map(same)]));
  }
  if (statements.length === 0) return [];
  const isOtherRow = keys.map((key) => `${sqlName(key)} IS NOT OLD.${sqlName(key)}`).join(' OR ');
  // A generated column changes when others change, so UPDATE OF cannot list the columns.
  const anyColumnMatters = [...indexedColumns].some((column) => generated.has(column));
  return [
    trigger('bi', 'BEFORE INSERT', statements),
    trigger(
      'bu',
      anyColumnMatters
        ? 'BEFORE UPDATE'
        : `BEFORE UPDATE OF ${[...indexedColumns].map(sqlName).join(', ')}`,
      statements.map((probe) => `${probe} AND (${isOtherRow})`),
    ),
  ];
}
