// Reads the largest rowid that each AUTOINCREMENT table ever had; SQLite stores them in the table sqlite_sequence.
//
// A diff does not list them. Invariant: a merge never lowers one, so that no id is used twice.

import { integerCell, integerOf } from '../sql/cells.ts';
import type { Database } from '../sql/database.ts';
import type { SchemaName, Shapes } from './shapes.ts';

const TABLE = 'sqlite_sequence';

export type Sequences = ReadonlyMap<string, bigint>;

/** The numbers by the name of the table. */
export function sequencesOf(database: Database, schema: SchemaName, shapes: Shapes): Sequences {
  const sequences = new Map<string, bigint>();
  if (!shapes.objects.some(({ name }) => name === TABLE)) return sequences;
  const statement = database.statement(`SELECT name, seq FROM ${schema}.${TABLE}`);
  while (statement.step()) {
    // Programs may write any values into this table.
    const sequence = integerOf(statement.columnCell(1));
    if (sequence !== null) sequences.set(statement.columnText(0), sequence);
  }
  return sequences;
}

/** Returns the larger number for each table. */
export function largerOf(one: Sequences, other: Sequences): Sequences {
  const larger = new Map(one);
  for (const [table, sequence] of other)
    if (sequence > (larger.get(table) ?? 0n)) larger.set(table, sequence);
  return larger;
}

/** Returns the wanted numbers that are larger than the present ones. */
export function missingOf(wanted: Sequences, present: Sequences, shapes: Shapes): Sequences {
  return new Map(
    [...wanted].filter(
      ([table, sequence]) =>
        sequence > (present.get(table) ?? 0n) &&
        /\bAUTOINCREMENT\b/i.test(shapes.of(table)?.sql ?? ''),
    ),
  );
}

export function setSequences(database: Database, sequences: Sequences): void {
  for (const [table, sequence] of sequences) {
    const remove = database.statement(`DELETE FROM ${TABLE} WHERE name = ?`);
    remove.bindText(1, table);
    remove.step();
    const insert = database.statement(`INSERT INTO ${TABLE} (name, seq) VALUES (?, ?)`);
    insert.bindText(1, table);
    insert.bindCell(2, integerCell(sequence));
    insert.step();
  }
}
