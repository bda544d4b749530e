// Defines the types of the differences between two states of an object, for programs and for messages.

/** The columns of a row by name, as a query gives them. */
export type RowValues = Record<string, ArrayBuffer | string | number | null>;

/** A change of the schema: the SQL texts of a table, index, trigger or view; null in the state where it does not exist. */
export interface SchemaChange {
  readonly kind: 'schema';
  readonly type: 'table' | 'index' | 'view' | 'trigger';
  readonly name: string;
  /** The table to which the index, trigger or other object of the schema belongs. */
  readonly table: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** A change of the alarm: its times in milliseconds; null for no alarm. */
export interface AlarmChange {
  readonly kind: 'alarm';
  readonly before: number | null;
  readonly after: number | null;
}

/** A change of a key: its values; undefined in the state where it does not exist. */
export interface KeyChange {
  readonly kind: 'key';
  readonly key: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** A change of a row; null in the state where it does not exist. */
export interface RowChange {
  readonly kind: 'row';
  readonly table: string;
  /** The columns of the row's primary key; `{ rowid }` if the table has no primary key, or the row has NULL in it. */
  readonly key: RowValues;
  readonly before: RowValues | null;
  readonly after: RowValues | null;
}

/** A change of a table whose rows cannot be identified, such as a full-text index without content. */
export interface TableChange {
  readonly kind: 'table';
  readonly table: string;
}

export type StorageChange = SchemaChange | AlarmChange | KeyChange | RowChange | TableChange;

export interface ChangeCount {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

export interface ChangeCounts {
  readonly schema: number;
  readonly alarm: number;
  readonly keys: ChangeCount;
  /** The numbers of changed rows, by table. */
  readonly tables: Readonly<Record<string, ChangeCount>>;
  /** The changed tables whose rows cannot be identified. */
  readonly unnamed: readonly string[];
}

/**
 * The changes from one state to another one. Each iteration begins anew, and gives them in the same order: schema,
 * keys, alarm, then the tables by name and the rows of each by key.
 */
export interface StorageDiff extends AsyncIterable<StorageChange> {
  /** Counts the changes without transferring them. */
  count(): Promise<ChangeCounts>;
}

/**
 * A change that was not made. `changed`: the object has another value or row there by now. `rows`: a table was to be
 * removed or recreated, and its rows have changed. `unnamed`: the rows of the table cannot be identified. `constraint`: a unique index,
 * a foreign key or a check refuses the changes together, or a definition does not fit the object; `change` names its table
 * or the definition.
 */
export interface StorageConflict {
  readonly reason: 'changed' | 'rows' | 'unnamed' | 'constraint';
  readonly change: StorageChange;
  /** The row, the value or the time that the object has now; undefined for other changes, and for a missing key. */
  readonly now: unknown;
}

/** The error with code CONFLICT, which `revert` and `merge` throw. */
export interface ConflictError extends Error {
  readonly code: 'CONFLICT';
  /** The first 100 conflicts. */
  readonly conflicts: readonly StorageConflict[];
}

/** `ours`: the object keeps its own value. `theirs`: the change is made. */
export type MergeDecision = 'ours' | 'theirs';

export interface MergeOptions {
  /**
   * Decides each conflict except `constraint`. If it is a function, the function is called for each conflict in turn.
   *
   * @default nothing is changed, and the call rejects with CONFLICT
   */
  onConflict?:
    | MergeDecision
    | ((conflict: StorageConflict) => MergeDecision | PromiseLike<MergeDecision>);
}

/** Two moments whose changes are merged: each a bookmark or a time. */
export interface MergedMoments {
  from: string | Date;
  to: string | Date;
}

// ---- The types of the messages between page and worker.

/** A change in a message: the values of keys are serialized, and null where the key does not exist. */
export type WireChange =
  | SchemaChange
  | AlarmChange
  | RowChange
  | TableChange
  | {
      readonly kind: 'key';
      readonly key: string;
      readonly before: Uint8Array | null;
      readonly after: Uint8Array | null;
    };

/** A change that was not made, in a message. */
export interface WireConflict {
  readonly reason: 'changed' | 'rows' | 'unnamed' | 'constraint';
  readonly change: WireChange;
  /** The object's current row, or its current value of the key, serialized. */
  readonly now: unknown;
}

/** The result of a merge. If there are conflicts, nothing was changed. */
export interface MergeResult {
  /** The bookmark of the commit, or of the state in which conflicts were found; null if there was nothing to change. */
  readonly bookmark: string | null;
  /** The first conflicts. */
  readonly conflicts: readonly WireConflict[];
  readonly conflictCount: number;
}

/** The result of merging a branch. */
export interface BranchMergeResult extends MergeResult {
  /** The state of the branch that was merged. */
  readonly branchBookmark: string;
}

export interface ChangeBatch {
  readonly changes: WireChange[];
  readonly isLast: boolean;
}
