// The table of operations on an object's storage: for each, the fields of its call with their checks,
// whether it may be repeated, its result, and the method that programs call it by. Pages, the worker
// and the checks of messages are all driven by it.
//
// Invariant: a call is plain data. Values cross as they are stored, already serialized, so that both
// sides agree byte for byte. Functions and live objects never cross.
//
// Does not know: how an operation is performed (worker/engine/storage/perform.ts) or sent (src/shared/wire).

import * as field from '../contract/arguments.ts';
import {
  checkArgumentCount,
  convertAlarmTime,
  convertBranchName,
  convertEntries,
  convertHistoryOptions,
  convertKey,
  convertKeys,
  convertListOptions,
  convertOptions,
  convertReadOptions,
  convertString,
  convertTimestamp,
  convertWriteOptions,
  type Entry,
  eachOf,
  type FieldCheck,
  isEntries,
  type ValueBytes,
} from '../contract/arguments.ts';
import type { BulkResult } from '../contract/bulk.ts';
import type { CallFlag } from '../contract/call-flag.ts';
import type {
  BranchMergeResult,
  ChangeBatch,
  ChangeCounts,
  MergeResult,
} from '../contract/changes.ts';
import { storageError } from '../contract/errors.ts';
import { compareKeys } from '../contract/key-order.ts';
import type { CommitAuthor, SqlStorageValue } from '../contract/storage.ts';
import { decodeValue, encodeValue } from '../values/value.ts';
import { entryChunks, rowChunks, rowWidth } from './bulk.ts';

/** The result of each operation. */
export interface Results {
  /** Parallel to the keys; null for a key that does not exist. */
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
  execMany: BulkResult;
  /** Parallel to the statements. */
  batch: RowBatch[];
  /** How many entries were stored. */
  putMany: number;
  databaseSize: number;
  /** The transaction's number, for `txn`. */
  begin: number;
  commit: null;
  rollback: null;
  getCurrentBookmark: string;
  getBookmarkForTime: string;
  onNextSessionRestoreBookmark: string;
  cancelRestore: boolean;
  /** The newest first. */
  history: CommitFacts[];
  openMoment: OpenedMoment;
  closeMoment: null;
  openDiff: OpenedDiff;
  nextChanges: ChangeBatch;
  countChanges: ChangeCounts;
  closeDiff: null;
  fork: BranchFacts;
  /** Those that are kept. */
  branches: BranchFacts[];
  /** False: there was none of this name. */
  deleteBranch: boolean;
  /** The bookmark that undoes it. */
  promote: string;
  revert: MergeResult;
  merge: MergeResult;
  mergeBranch: BranchMergeResult;
  /** A plain SQLite file. */
  exportDatabase: Uint8Array<ArrayBuffer>;
  /** The bookmark that undoes the import. */
  importDatabase: string;
  /** The bookmark that undoes the restore. */
  restore: string;
  abort: null;
}

/** One commit, as the log knows it. */
export interface CommitFacts {
  readonly bookmark: string;
  readonly timeMs: number;
  readonly bytes: number;
  readonly pageCount: number;
  readonly isRestore: boolean;
  readonly isPromote: boolean;
  readonly by?: CommitAuthor;
}

/** A branch of an object. */
export interface BranchFacts {
  readonly id: string;
  readonly name: string | null;
  /** The moment of the origin that it began with. */
  readonly bookmark: string;
  readonly createdMs: number;
  readonly isKept: boolean;
}

/** An earlier moment that a session has opened. */
export interface OpenedMoment {
  /** Its number, for `moment` of calls. */
  readonly moment: number;
  readonly bookmark: string;
}

/** Two states that a session compares. */
export interface OpenedDiff {
  /** Its number, for `diff` of calls. */
  readonly diff: number;
  /** Both states, by their bookmarks; null: the beginning of the branch. */
  readonly from: field.StateName;
  readonly to: field.StateName;
}

/**
 * Rows of a cursor, as arrays in the order of `columnNames`. A statement without columns, such as most
 * that write, has neither: many of them travel in one message, and each list costs as much as a number of
 * their rows.
 */
export interface RowBatch {
  /** The open cursor. Absent or null: the last row is in this batch. */
  readonly cursor?: number | null;
  readonly columnNames?: string[];
  readonly rows?: SqlStorageValue[][];
  readonly rowsRead: number;
  readonly rowsWritten: number;
}

export type OperationName = keyof Results;

type FieldChecks = Readonly<Record<string, FieldCheck<unknown>>>;

type Checked<Checks extends FieldChecks> = {
  readonly [Name in keyof Checks]: ReturnType<Checks[Name]>;
};

/** One row of the table. */
interface Operation<
  Checks extends FieldChecks,
  Result,
  Owner extends MethodOwner = never,
  Effect extends 'read' | 'write' = 'read' | 'write',
> {
  /**
   * A `read` has no effect, and is sent again if the worker is lost before it answers. A `write`
   * may have taken effect, so it rejects instead.
   */
  readonly effect: Effect;
  readonly fields: Checks;
  /** Present if the operation is a method of the same name. */
  readonly method?: Method<Checked<Checks>, Result, Owner>;
  /** It names something that only the worker it was created in has. */
  readonly isBound?: true;
  /** It is the only call of its message, because it may wait long for other sessions. */
  readonly travelsAlone?: true;
}

/** How programs call an operation. */
interface Method<Fields, Result, Owner extends MethodOwner> {
  readonly on: Owner;
  /** It throws WRONG_BACKEND for classes on the key-value backend. */
  readonly needsSqlBackend?: true;
  /** The fields for these arguments; serializes values, so that later changes are not stored. */
  fields(args: readonly unknown[]): Fields;
  /** The method's result. @default the result itself */
  returns?(result: Result, args: readonly unknown[], fields: Fields): unknown;
}

/**
 * Which objects have the method: `transaction`, the storage and the `txn` of a transaction; `storage`,
 * the storage only; `page`, only the storage of a page.
 */
export type MethodOwner = 'transaction' | 'storage' | 'page';

/** One function, so that each row's types are inferred and compared. */
function operation<
  Checks extends FieldChecks,
  Result,
  Effect extends 'read' | 'write',
  Owner extends MethodOwner = never,
>(row: Operation<Checks, Result, Owner, Effect>): Operation<Checks, Result, Owner, Effect> {
  return row;
}

export const OPERATIONS = {
  get: operation({
    effect: 'read',
    fields: { keys: field.keys },
    method: {
      on: 'transaction',
      fields(args) {
        checkArgumentCount('get', args.length, 1);
        const keys = convertKeys('get', args[0]);
        convertReadOptions('get', args[1]);
        if (keys.kind === 'one') return { keys: [keys.key] };
        return { keys: [...new Set(keys.keys)].sort(compareKeys) };
      },
      returns(values, args, { keys }) {
        if (!isMany(args)) return values[0] ? decodeValue(values[0]) : undefined;
        const found = new Map<string, unknown>();
        for (const [i, key] of keys.entries()) {
          const bytes = values[i];
          if (bytes) found.set(key, decodeValue(bytes));
        }
        return found;
      },
    },
  }),
  put: operation({
    effect: 'write',
    fields: { entries: field.entries, unconfirmed: field.boolean },
    method: { on: 'transaction', fields: putFields, returns: nothing },
  }),
  delete: operation({
    effect: 'write',
    fields: { keys: field.keys, unconfirmed: field.boolean },
    method: {
      on: 'transaction',
      fields(args) {
        checkArgumentCount('delete', args.length, 1);
        const keys = convertKeys('delete', args[0]);
        const unconfirmed = isUnconfirmed('delete', args[1]);
        return { keys: keys.kind === 'one' ? [keys.key] : keys.keys, unconfirmed };
      },
      returns: (count, args) => (isMany(args) ? count : count === 1),
    },
  }),
  list: operation({
    effect: 'read',
    fields: { range: field.range },
    method: {
      on: 'transaction',
      fields: ([options]) => ({ range: convertListOptions('list', options) }),
      returns: (found) => new Map(found.map(([key, bytes]) => [key, decodeValue(bytes)])),
    },
  }),
  deleteAll: operation({
    effect: 'write',
    fields: { unconfirmed: field.boolean },
    method: {
      on: 'storage',
      fields: ([options]) => ({ unconfirmed: isUnconfirmed('deleteAll', options) }),
      returns: nothing,
    },
  }),
  getAlarm: operation({
    effect: 'read',
    fields: {},
    method: {
      on: 'transaction',
      fields([options]) {
        convertReadOptions('getAlarm', options);
        return {};
      },
    },
  }),
  setAlarm: operation({
    effect: 'write',
    fields: { timeMs: field.alarmTime, unconfirmed: field.boolean },
    method: {
      on: 'transaction',
      fields(args) {
        checkArgumentCount('setAlarm', args.length, 1);
        const timeMs = convertAlarmTime('setAlarm', args[0]);
        return { timeMs, unconfirmed: isUnconfirmed('setAlarm', args[1]) };
      },
      returns: nothing,
    },
  }),
  deleteAlarm: operation({
    effect: 'write',
    fields: { unconfirmed: field.boolean },
    method: {
      on: 'transaction',
      fields: ([options]) => ({ unconfirmed: isUnconfirmed('deleteAlarm', options) }),
      returns: nothing,
    },
  }),
  // A write, because it reports on writes that a lost worker may not have stored.
  sync: operation({
    effect: 'write',
    fields: {},
    method: { on: 'storage', fields: () => ({}), returns: nothing },
  }),
  getCurrentBookmark: operation({
    effect: 'read',
    fields: {},
    method: { on: 'storage', needsSqlBackend: true, fields: () => ({}) },
  }),
  getBookmarkForTime: operation({
    effect: 'read',
    fields: { timeMs: field.number },
    method: {
      on: 'storage',
      needsSqlBackend: true,
      fields(args) {
        checkArgumentCount('getBookmarkForTime', args.length, 1);
        return { timeMs: convertTimestamp('getBookmarkForTime', args[0]) };
      },
    },
  }),
  onNextSessionRestoreBookmark: operation({
    effect: 'write',
    fields: { bookmark: field.string },
    method: {
      on: 'storage',
      needsSqlBackend: true,
      fields(args) {
        checkArgumentCount('onNextSessionRestoreBookmark', args.length, 1);
        return { bookmark: convertString('onNextSessionRestoreBookmark', args[0]) };
      },
    },
  }),
  cancelRestore: operation({
    effect: 'write',
    fields: {},
    method: { on: 'page', fields: () => ({}) },
  }),
  history: operation({
    effect: 'read',
    fields: {
      fromMs: field.timeOrNull,
      toMs: field.timeOrNull,
      before: field.stringOrNull,
      limit: field.commitCount,
    },
    method: {
      on: 'page',
      fields: ([options]) => convertHistoryOptions('history', options),
      returns: (commits) =>
        commits.map(({ timeMs, pageCount, bookmark, bytes, isRestore, isPromote, by }) => ({
          bookmark,
          time: new Date(timeMs),
          bytes,
          pages: pageCount,
          isRestore,
          isPromote,
          ...(by && { by }),
        })),
    },
  }),
  // Reads: cursors and moments that they open and close end with the worker.
  openMoment: operation({
    effect: 'read',
    fields: { bookmark: field.stringOrNull, timeMs: field.timeOrNull },
  }),
  closeMoment: operation({ effect: 'read', fields: { id: field.numberOf }, isBound: true }),
  openDiff: operation({
    effect: 'read',
    fields: { from: field.stateName, to: field.stateName, skip: field.numberOf },
  }),
  nextChanges: operation({ effect: 'read', fields: { diff: field.numberOf }, isBound: true }),
  countChanges: operation({ effect: 'read', fields: { diff: field.numberOf }, isBound: true }),
  closeDiff: operation({ effect: 'read', fields: { diff: field.numberOf }, isBound: true }),
  // A write, because one that is kept may have been made when the worker was lost.
  fork: operation({
    effect: 'write',
    fields: {
      bookmark: field.stringOrNull,
      timeMs: field.timeOrNull,
      name: field.branchNameOrNull,
      isKept: field.boolean,
      sends: field.boolean,
    },
  }),
  branches: operation({
    effect: 'read',
    fields: {},
    method: {
      on: 'page',
      fields: () => ({}),
      returns: (found) =>
        found.map(({ name, bookmark, createdMs }) => ({
          name: name ?? '',
          bookmark,
          created: new Date(createdMs),
        })),
    },
  }),
  deleteBranch: operation({
    effect: 'write',
    fields: { name: field.branchName },
    method: {
      on: 'page',
      fields(args) {
        checkArgumentCount('deleteBranch', args.length, 1);
        return { name: convertBranchName('deleteBranch', args[0]) };
      },
    },
  }),
  promote: operation({
    effect: 'write',
    fields: { branch: field.checkBranchId },
    travelsAlone: true,
  }),
  revert: operation({ effect: 'write', fields: { bookmarks: field.revertedCommits } }),
  merge: operation({
    effect: 'write',
    fields: { from: field.moment, to: field.moment, decisions: field.decisions },
  }),
  // `bookmark`: the state of the branch; null: that of now.
  mergeBranch: operation({
    effect: 'write',
    fields: {
      branch: field.checkBranchId,
      bookmark: field.stringOrNull,
      decisions: field.decisions,
    },
    travelsAlone: true,
  }),
  exportDatabase: operation({
    effect: 'read',
    fields: {},
    method: { on: 'page', fields: () => ({}) },
  }),
  importDatabase: operation({
    effect: 'write',
    fields: { database: field.bytes, wal: field.bytesOrNull },
    travelsAlone: true,
  }),
  restore: operation({
    effect: 'write',
    fields: { bookmark: field.stringOrNull, timeMs: field.timeOrNull },
    travelsAlone: true,
  }),
  abort: operation({ effect: 'write', fields: { reason: field.string } }),
  databaseSize: operation({ effect: 'read', fields: {} }),
  exec: operation({
    effect: 'write',
    fields: { query: field.string, bindings: field.bindings, rowCount: field.rowCount },
  }),
  rows: operation({
    effect: 'read',
    fields: { cursor: field.numberOf, rowCount: field.rowCount },
    isBound: true,
  }),
  closeCursor: operation({ effect: 'read', fields: { cursor: field.numberOf }, isBound: true }),
  execMany: operation({
    effect: 'write',
    fields: { query: field.string, width: rowWidth, chunks: rowChunks },
  }),
  batch: operation({ effect: 'write', fields: { statements: field.statements } }),
  putMany: operation({
    effect: 'write',
    fields: { chunks: entryChunks, unconfirmed: field.boolean },
  }),
  // A read, because the transaction that it began has ended with the worker.
  // The page numbers its transactions, so that it can send calls of one with its beginning.
  begin: operation({ effect: 'read', fields: { number: field.numberOf }, travelsAlone: true }),
  commit: operation({ effect: 'write', fields: { txn: field.numberOf } }),
  rollback: operation({ effect: 'write', fields: { txn: field.numberOf } }),
} satisfies { readonly [Op in OperationName]: Operation<FieldChecks, Results[Op], MethodOwner> };

type Table = typeof OPERATIONS;

/** The operations without an effect. */
export type ReadName = {
  [Op in OperationName]: Table[Op]['effect'] extends 'read' ? Op : never;
}[OperationName];

type OwnerOf<Op extends OperationName> = NonNullable<Table[Op]['method']>['on'];

/** The operations that are methods of these objects. */
export type MethodName<Owner extends MethodOwner> = {
  [Op in OperationName]: [OwnerOf<Op>] extends [never]
    ? never
    : OwnerOf<Op> extends Owner
      ? Op
      : never;
}[OperationName];

/** The fields of a call, checked. */
export type FieldsOf<Op extends OperationName> = Checked<Table[Op]['fields']>;

/**
 * The call of one operation. `txn` is the transaction it belongs to: the call fails with
 * TRANSACTION_ENDED once that has ended. A call without `txn` joins the transaction that its own
 * session holds, and waits for another session's.
 */
export type CallOf<Op extends OperationName> = { readonly op: Op } & FieldsOf<Op> & {
    readonly txn?: number;
    /** The earlier moment that it reads; without it, the object as it is. */
    readonly moment?: number;
    /** Present if the call can be cancelled. */
    readonly flag?: CallFlag;
    /** Of the commit that it makes. */
    readonly label?: string;
  };

/** One operation on the object of a session, as plain data. */
export type Call = { [Op in OperationName]: CallOf<Op> }[OperationName];

/** Any row, for code that treats all operations alike. */
export type AnyOperation = Operation<FieldChecks, unknown, MethodOwner>;

/** The row of an operation. */
export function operationOf(op: OperationName): AnyOperation {
  return OPERATIONS[op];
}

/** A method of the table. */
export type AnyMethod = NonNullable<AnyOperation['method']>;

/**
 * Gives a class the methods that the table describes for the owners. Like methods of any class, they
 * are properties of its prototype that are not enumerable.
 */
export function defineMethods<Owner extends MethodOwner>(
  prototype: object,
  owners: readonly Owner[],
  create: (
    op: MethodName<Owner>,
    method: AnyMethod,
  ) => (this: never, ...args: unknown[]) => unknown,
): void {
  for (const [op, { method }] of Object.entries<AnyOperation>(OPERATIONS)) {
    if (method === undefined || !owners.some((owner) => owner === method.on)) continue;
    const value = create(op as MethodName<Owner>, method);
    Object.defineProperty(value, 'name', { value: op, configurable: true });
    Object.defineProperty(prototype, op, { value, writable: true, configurable: true });
  }
}

function putFields(args: readonly unknown[]): {
  readonly entries: readonly Entry[];
  readonly unconfirmed: boolean;
} {
  checkArgumentCount('put', args.length, 1);
  if (isEntries(args[0])) {
    const unconfirmed = isUnconfirmed('put', args[1]);
    if (args[2] !== undefined) convertOptions('put', args[2]);
    return { entries: eachOf(convertEntries('put', args[0]), encodeEntry), unconfirmed };
  }
  const key = convertKey('put', args[0]);
  const unconfirmed = isUnconfirmed('put', args[2]);
  if (args[1] === undefined) {
    throw storageError(
      'INVALID_ARGUMENT',
      'put: the value is undefined; store null, or delete the key.',
    );
  }
  return { entries: [encodeEntry([key, args[1]])], unconfirmed };
}

function encodeEntry([key, value]: readonly [string, unknown]): Entry {
  return [key, encodeValue('put', key, value)];
}

function isUnconfirmed(operation: string, options: unknown): boolean {
  return convertWriteOptions(operation, options).allowUnconfirmed;
}

/** True if the first argument is an array of keys, which decides the shape of the result. */
function isMany([keys]: readonly unknown[]): boolean {
  return Array.isArray(keys);
}

function nothing(): undefined {
  return undefined;
}
