// The changes of an object, which a cut (an update) or a part of a snapshot carries, and the interface by which the server
// reads them.
//
// Changes are not a list of writes. They have the present values of all rows and keys that were written, and the names of
// those that were deleted. So applying them twice has the same result as once.
//
// A snapshot consists of parts, each read at its own time, and of the changes since the position before the first part. A
// row or key in these changes overrides that of the parts. All other rows and keys were not written meanwhile, so it makes
// no difference when their part was read.
//
// This file does not know how writes are captured, nor how changes are applied.

import type { Position } from '../protocol/messages.ts';

/** The maximum number of key columns of a table WITHOUT ROWID (our choice: the table of notes has as many). */
export const KEY_COLUMNS_MAX = 4;

/**
 * A value of a column. A number is stored as a REAL, unless the affinity of its column makes it an INTEGER. A bigint is
 * stored as an INTEGER; it is used where the affinity would not do so, and beyond 2^53. A string is a text, in the form of
 * exact-text.ts.
 */
export type SentCell = null | number | bigint | string | Uint8Array;

export interface TableChanges {
  readonly name: string;
  /** The columns that identify a row: a name of the rowid, or the primary key of a table WITHOUT ROWID. */
  readonly keys: readonly string[];
  /** The columns of `rows`. A name of the rowid is the first, unless a column of the table is the rowid. */
  readonly columns: readonly string[];
  /** True if `rows` contains every row of the table. */
  readonly isWhole: boolean;
  readonly rows: readonly (readonly SentCell[])[];
  /** The keys of the rows that were deleted. */
  readonly gone: readonly (readonly SentCell[])[];
}

/** A table, index, trigger or view, with its text from sqlite_master. */
export interface SchemaEntry {
  readonly type: 'table' | 'index' | 'trigger' | 'view';
  readonly name: string;
  readonly sql: string;
}

export interface Changes {
  /** True if everything must be deleted first: `deleteAll` was called, or a snapshot begins. */
  readonly isWiped: boolean;
  /** The whole schema, in the order of creation; null if it has not changed. It is applied before the rows. */
  readonly schema: readonly SchemaEntry[] | null;
  readonly tables: readonly TableChanges[];
  /** The whole table sqlite_sequence; null if it does not exist or may not have changed. It is applied after the rows. */
  readonly sequences: readonly (readonly [table: string, sequence: number | bigint])[] | null;
  /** The written keys of the key-value storage, with their serialized values. */
  readonly kv: readonly (readonly [key: string, value: Uint8Array])[];
  /** The deleted keys of the key-value storage. */
  readonly kvGone: readonly string[];
}

/** The place where the next part of a snapshot begins: after a row of a table, or after a key of the key-value storage. */
export interface CopyPlace {
  /** The table that is being read; null if all tables were read, and the key-value storage follows. */
  readonly table: string | null;
  /** The key of the last row that was read, in the order of `TableChanges.keys`, or the last key; null if none was read. */
  readonly after: readonly SentCell[] | null;
  /** The approximate number of bytes of content that were sent before this place. */
  readonly sentBytes: number;
}

/** A part of a snapshot. */
export interface CopyPart {
  readonly changes: Changes;
  /** The place of the next part; null if this is the last one. */
  readonly next: CopyPlace | null;
}

/** Reads the changes of an object for its followers. Each method sees the present state, including uncommitted writes. */
export interface ChangeSource {
  /** Returns the present position; {id: 0, life: 0} if nothing was ever written. */
  head(): Position;
  /** Returns the life of the note with this number, null if there is none. Number 0 has life 0, until notes are deleted. */
  lifeAt(id: number): number | null;
  /**
   * Deletes the older half of the notes once there are too many, but none with the number that `oldest` returns or higher.
   * Must be called after `head`. `oldest` is called only if there are too many.
   */
  prune(oldest: () => number): void;
  /**
   * Returns the changes after a position, whose life must be the one that `lifeAt` returns for its number. Returns null
   * if the changes have more than about `bytesMax` bytes (at most one row or value beyond it is read), or if the notes
   * are damaged. A snapshot then brings the changes.
   */
  changesSince(position: Position, bytesMax: number): Changes | null;
  /**
   * Reads the part of a snapshot that begins at a place. For null, reads the first part, which has `isWiped` and the
   * schema. A part has at least one row or key, if any are left, and ends with the row or key that reaches `partBytes`.
   */
  copyPart(place: CopyPlace | null): CopyPart;
  /**
   * True if a snapshot that began at the position `from` can continue at a place: no table or other object of the schema has
   * changed since, and `deleteAll` was not called.
   */
  canContinueCopy(from: Position, place: CopyPlace | null): boolean;
}
