// What has changed in an object, as a cut or a part of a snapshot carries it, and how the server's side reads it.
//
// Changes are the present content of all rows and keys that were written, not a list of the writes: rows and keys with their values, or
// that they are gone. Applied twice, they give the same.
//
// A copy is made of parts, each of which is read at its own time, and of the changes since the position before the first
// part. Rows and keys of these changes are to be taken from them: all others of the parts were not written meanwhile, so
// they are as they were at that position, whenever they were read.
//
// Does not know how writes are noted, nor how changes are applied.

import type { Position } from '../protocol/messages.ts';

/** Most key columns of a table WITHOUT ROWID: the notes have as many (our choice). */
export const KEY_COLUMNS_MAX = 4;

/**
 * A value of a column. A bigint is an INTEGER. A number is a REAL, and the affinity of its column may make it an
 * INTEGER: where none would, an INTEGER comes as a bigint, as one beyond 2^53 does in each column. A string is a text
 * (exact-text.ts).
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

/** Where the next part of a copy begins: after a row of a table, or after a key of the key-value storage. */
export interface CopyPlace {
  /** Null: all tables were read, and keys are. */
  readonly table: string | null;
  /** Of the last row, in the order of `TableChanges.keys`, or the last key alone; null: none was read. */
  readonly after: readonly SentCell[] | null;
  /** Bytes of content before it, about. */
  readonly sentBytes: number;
}

export interface CopyPart {
  readonly changes: Changes;
  /** Null: there are no more. */
  readonly next: CopyPlace | null;
}

/** The object, to the server's side of the protocol. Each method reads the present state, uncommitted writes included. */
export interface ChangeSource {
  /** {id: 0, life: 0} if nothing was ever written. */
  head(): Position;
  /** The life of the note with this number; 0 of number 0 while every note is kept; null: there is no such note. */
  lifeAt(id: number): number | null;
  /** Forgets the oldest notes beyond a bound, half of them at once; none from the one with this number on. After `head`. */
  prune(oldest: number): void;
  /** What was written after a position whose life is `lifeAt` of its number. */
  changesSince(position: Position): Changes;
  /**
   * The part of a copy at a place; null: the first, which has `isWiped` and the schema. Has one row or key at least, and
   * ends soon after `partBytes`.
   */
  copyPart(place: CopyPlace | null): CopyPart;
  /** Whether a copy that began at this position can go on there: its tables are the same ones, and nothing was emptied. */
  canGoOn(from: Position, place: CopyPlace | null): boolean;
}
