// The triggers that note the changes of a table: the key of each row that is inserted, changed or deleted.
//
// REPLACE deletes rows without telling triggers. So the rows that a new row may replace are noted before, by its values in
// each unique index. `recursive_triggers` would tell, but the class's own triggers would act differently.
//
// Does not know when they are made.

import {
  literal,
  type NotedTable,
  OWN_PREFIX,
  ROWID_NAMES,
  sqlName,
  type UniqueIndex,
} from './table-shape.ts';

/** The columns of a note, for keys. */
export const NOTE_KEYS = ['k', 'k1', 'k2', 'k3'] as const;

/** The statements that make the triggers of a table. Those of a table without unique indexes have no loop. */
export function triggersOf(shape: NotedTable): string[] {
  const { name, keys, hasRowid } = shape;
  const into = `INSERT INTO ${OWN_PREFIX}note (t, ${NOTE_KEYS.slice(0, keys.length).join(', ')})`;
  const note = (row: string) =>
    `${into} VALUES (${literal(name)}, ${keys.map((key) => `${row}.${sqlName(key)}`).join(', ')})`;
  const moved = keys.map((key) => `OLD.${sqlName(key)} IS NOT NEW.${sqlName(key)}`).join(' OR ');
  const keyNames = new Set([...keys, ...(hasRowid ? ROWID_NAMES : [])]);
  const trigger = (kind: string, event: string, body: readonly string[], condition = '') =>
    `CREATE TRIGGER ${sqlName(`${OWN_PREFIX}${kind}_${name}`)} ${event} ON ${sqlName(name)} ${condition} BEGIN ${body.join('; ')}; END`;
  return [
    ...probes(shape, into, trigger),
    trigger('i', 'AFTER INSERT', [note('NEW')]),
    trigger('d', 'AFTER DELETE', [note('OLD')]),
    trigger('u', 'AFTER UPDATE', [note('NEW')]),
    trigger(
      'm',
      `AFTER UPDATE OF ${[...keyNames].map(sqlName).join(', ')}`,
      [note('OLD')],
      `WHEN ${moved}`,
    ),
  ];
}

function probes(
  { name, keys, hasRowid, uniques, defaulted, generated }: NotedTable,
  into: string,
  trigger: (kind: string, event: string, body: readonly string[]) => string,
): string[] {
  const probed = new Set<string>();
  const found: string[] = [];
  for (const { columns } of uniques) {
    const isKey =
      columns.length === keys.length && columns.every(({ name: one }) => keys.includes(one));
    if (!hasRowid && isKey) continue; // the row that is replaced has the key of the new one
    const rowsWith = (same: readonly string[]) =>
      `${into} SELECT ${literal(name)}, ${keys.map(sqlName).join(', ')} FROM ${sqlName(name)} WHERE ${same.join(' AND ')}`;
    const same = ({ name: column, collation }: UniqueIndex['columns'][number]) =>
      `${sqlName(column)} = NEW.${sqlName(column)} COLLATE ${collation}`;
    found.push(rowsWith(columns.map(same)));
    for (const { name: column } of columns) probed.add(column);
    // REPLACE puts the default in the place of a NULL after these triggers have run.
    const isComputed = columns.some((column) => generated.has(column.name));
    const late = defaulted.filter(
      (column) => isComputed || columns.some(({ name: one }) => one === column),
    );
    if (late.length === 0) continue;
    const known = columns.filter(({ name: one }) => !late.includes(one) && !generated.has(one));
    const isLate = late.map((column) => `NEW.${sqlName(column)} IS NULL`).join(' OR ');
    found.push(rowsWith([`(${isLate})`, ...known.map(same)]));
  }
  if (found.length === 0) return [];
  const others = keys.map((key) => `${sqlName(key)} IS NOT OLD.${sqlName(key)}`).join(' OR ');
  // A generated column changes with others, which UPDATE OF does not know.
  const isAny = [...probed].some((column) => generated.has(column));
  return [
    trigger('bi', 'BEFORE INSERT', found),
    trigger(
      'bu',
      isAny ? 'BEFORE UPDATE' : `BEFORE UPDATE OF ${[...probed].map(sqlName).join(', ')}`,
      found.map((probe) => `${probe} AND (${others})`),
    ),
  ];
}
