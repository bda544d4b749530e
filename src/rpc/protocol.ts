// The closed list of what a page may ask of the worker, as plain data.
//
// A page sends batches of calls in order; each call has its own outcome. Keys and values cross as
// they are stored: values are already serialized, so both sides agree byte for byte and nothing is
// cloned twice. No functions and no live objects ever cross.

import type { KeyRange } from '../contract/key-range.ts';
import type { SqlStorageValue } from '../contract/storage.ts';
import type { Outcome } from './errors-on-wire.ts';
import type { WireAddress } from './object-protocol.ts';

/** Most calls of one message, so that other tabs' messages come between. */
export const BATCH_CALLS_MAX = 512;

/** Most rows of one batch of a cursor. */
export const BATCH_ROWS_MAX = 1000;

/** One opened handle of one object; counts up in the worker. */
export type SessionId = number;

/** A stored value, serialized. */
export type ValueBytes = Uint8Array;

/** A binding of `sql.exec`, converted. */
export type SqlBinding = string | number | null | ArrayBuffer | ArrayBufferView;

/**
 * One operation on the object of a session.
 *
 * `unconfirmed` is the option allowUnconfirmed. `txn` marks an operation made on a transaction
 * object: it fails with TRANSACTION_ENDED once that transaction has ended. An operation without it
 * joins the transaction its own session holds, and waits for one that another session holds.
 */
export type Call = (
  | { readonly op: 'get'; readonly keys: readonly string[] }
  | {
      readonly op: 'put';
      readonly entries: readonly (readonly [string, ValueBytes])[];
      readonly unconfirmed: boolean;
    }
  | { readonly op: 'delete'; readonly keys: readonly string[]; readonly unconfirmed: boolean }
  | { readonly op: 'list'; readonly range: KeyRange }
  | { readonly op: 'deleteAll'; readonly unconfirmed: boolean }
  | { readonly op: 'getAlarm' }
  | { readonly op: 'setAlarm'; readonly timeMs: number; readonly unconfirmed: boolean }
  | { readonly op: 'deleteAlarm'; readonly unconfirmed: boolean }
  | { readonly op: 'sync' }
  | {
      readonly op: 'exec';
      readonly query: string;
      readonly bindings: readonly SqlBinding[];
      readonly rowCount: number;
    }
  | { readonly op: 'rows'; readonly cursor: number; readonly rowCount: number }
  | { readonly op: 'closeCursor'; readonly cursor: number }
  | { readonly op: 'databaseSize' }
  | { readonly op: 'begin' }
  | { readonly op: 'commit'; readonly txn: number }
  | { readonly op: 'rollback'; readonly txn: number }
  | { readonly op: 'getCurrentBookmark' }
  | { readonly op: 'getBookmarkForTime'; readonly timeMs: number }
  | { readonly op: 'onNextSessionRestoreBookmark'; readonly bookmark: string }
  | { readonly op: 'exportDatabase' }
  | {
      readonly op: 'importDatabase';
      readonly database: Uint8Array;
      readonly wal: Uint8Array | null;
    }
  | { readonly op: 'abort'; readonly reason: string }
) & { readonly txn?: number };

/** True for a call that is the only one of its message: it may wait long for others. */
export function travelsAlone({ op }: Call): boolean {
  return op === 'begin' || op === 'importDatabase';
}

/** Rows of a cursor, as arrays in the order of `columnNames`. */
export interface RowBatch {
  /** The open cursor, or null when the last row is in this batch. */
  readonly cursor: number | null;
  readonly columnNames: string[];
  readonly rows: SqlStorageValue[][];
  readonly rowsRead: number;
  readonly rowsWritten: number;
}

/** What each call gives back. */
export interface Results {
  /** Parallel to the keys asked for; null where there is none. */
  get: (ValueBytes | null)[];
  put: null;
  /** How many of the keys existed. */
  delete: number;
  list: [string, ValueBytes][];
  deleteAll: null;
  getAlarm: number | null;
  setAlarm: null;
  deleteAlarm: null;
  sync: null;
  exec: RowBatch;
  rows: RowBatch;
  closeCursor: null;
  databaseSize: number;
  /** The transaction's number, for `txn`. */
  begin: number;
  commit: null;
  rollback: null;
  getCurrentBookmark: string;
  getBookmarkForTime: string;
  onNextSessionRestoreBookmark: string;
  /** A plain SQLite file. */
  exportDatabase: Uint8Array<ArrayBuffer>;
  /** The bookmark that undoes it. */
  importDatabase: string;
  abort: null;
}

/** The call of one operation. */
export type CallOf<Op extends Call['op']> = Extract<Call, { readonly op: Op }>;

/**
 * What a worker exposes to a page.
 *
 * Every promise settles only after the flush that covers what was written before it (the output
 * gate), and none rejects: failures are outcomes. `begin` and
 * `importDatabase` may wait long, so they travel alone.
 */
export interface StorageHost {
  /**
   * Opens an object for this client, by its name or as an object of a class; recovers it when it is
   * the first handle on it.
   */
  open(target: string | WireAddress): Promise<Outcome<SessionId>>;
  /** Runs calls in order; outcomes are parallel to them. */
  execute(session: SessionId, calls: readonly Call[]): Promise<Outcome[]>;
  /** Ends a handle: its cursors are closed, its open transaction is rolled back. */
  close(session: SessionId): Promise<void>;
}
