// What has changed in an object, as a cut or a part of a snapshot carries it, and how the server's side reads it.
//
// Changes are the present content of all rows and keys that were written, not a list of the writes: rows and keys with their values, or
// that they are gone. Applied twice, they give the same.
//
// Does not know how writes are noted, nor how changes are applied.

import type { Position } from '../protocol/messages.ts';

/**
 * A value of a column. A bigint is an INTEGER. A number is a REAL, and the affinity of its column may make it an
 * INTEGER: where none would, an INTEGER comes as a bigint, as one beyond 2^53 does in each column.
 */
export type SentCell = null | number | bigint | string | Uint8Array;

export interface TableChanges {
  readonly name: string;
  /** The columns that name a row: a name of the rowid, or the primary key of a table WITHOUT ROWID. */
  readonly keys: readonly string[];
  /** Those of `rows`. A name of the rowid comes first, unless a column of the table is the rowid. */
  readonly columns: readonly string[];
  /** `rows` are all rows of the table. */
  readonly isWhole: boolean;
  readonly rows: readonly (readonly SentCell[])[];
  /** Keys of rows that are not there any more. */
  readonly gone: readonly (readonly SentCell[])[];
}

/** As sqlite_master has it. */
export interface SchemaEntry {
  readonly type: 'table' | 'index' | 'trigger' | 'view';
  readonly name: string;
  readonly sql: string;
}

export interface Changes {
  /** The object was emptied (deleteAll, or a snapshot begins): nothing of before is left. */
  readonly isWiped: boolean;
  /** The whole schema, in the order of creation, if it changed. Applied before the rows. */
  readonly schema: readonly SchemaEntry[] | null;
  readonly tables: readonly TableChanges[];
  /** The whole content of sqlite_sequence, if a table changed and it exists. Applied after the rows. */
  readonly sequences: readonly (readonly [table: string, sequence: number | bigint])[] | null;
  /** Keys of the key-value storage, with their serialized values. */
  readonly kv: readonly (readonly [key: string, value: Uint8Array])[];
  readonly kvGone: readonly string[];
}

/** The object, to the server's side of the protocol. Each method reads the present state, uncommitted writes included. */
export interface ChangeSource {
  /** {id: 0, life: 0} if nothing was ever written. */
  head(): Position;
  /** The life of the note with this number; 0 of number 0 while every note is kept; null: there is no such note. */
  lifeAt(id: number): number | null;
  /** What was written after a position whose life is `lifeAt` of its number. */
  changesSince(position: Position): Changes;
  /** The whole object in parts of a bounded size; at least one. The first has `isWiped` and the schema. */
  snapshot(): Iterable<Changes>;
}
