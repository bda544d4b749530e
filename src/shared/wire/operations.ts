// The table of operations on an object's storage: for each, who performs it, the fields of its call with their
// checks, whether it may be repeated, its result, and the method that programs call it by. Pages, the worker
// and the checks of messages are all driven by it.
//
// Invariant: a call is plain data. Values cross as they are stored, already serialized, so that both
// sides agree byte for byte. Functions and live objects never cross. No assertion keeps this: the peer's calls are
// checked (typed errors), and the types have no field for anything else.
//
// This file does not know how an operation is performed or sent. Each of its three performers has a table of functions,
// which is typed by this one, so that an operation without a function does not compile:
// worker/engine/storage/perform.ts, and page-session.ts and host-operations.ts in worker/objects/sessions.

import * as field from '../contract/arguments.ts';
import {
  checkArgumentCount,
  convertEntries,
  convertKey,
  convertKeys,
  convertOptions,
  convertReadOptions,
  convertString,
  convertWriteOptions,
  type Entry,
  eachOf,
  isEntries,
  type ValueBytes,
} from '../contract/arguments.ts';
import { checkBindings } from '../contract/bindings.ts';
import {
  checkBranchId,
  checkBranchName,
  checkBranchNameOrNull,
  convertBranchName,
} from '../contract/branch-arguments.ts';
import type { BulkResult } from '../contract/bulk.ts';
import type { CallFlag } from '../contract/call-flag.ts';
import type {
  BranchMergeResult,
  ChangeBatch,
  ChangeCounts,
  MergeResult,
} from '../contract/changes.ts';
import { checkDecisions } from '../contract/decisions.ts';
import { storageError } from '../contract/errors.ts';
import { checkCommitCount, convertHistoryOptions } from '../contract/history-options.ts';
import { compareKeys } from '../contract/key-order.ts';
import { checkKeyRange, convertListOptions } from '../contract/list-options.ts';
import { checkReverted } from '../contract/reverted-commits.ts';
import { checkStatements } from '../contract/sql-statements.ts';
import { checkMoment, checkStateName } from '../contract/state-name.ts';
import {
  checkAlarmTime,
  checkTimeOrNull,
  convertAlarmTime,
  convertTimestamp,
} from '../contract/times.ts';
import { decodeValue, encodeValue } from '../values/value.ts';
import { entryChunks, rowChunks, rowWidth } from './bulk.ts';
import {
  type Checked,
  type FieldChecks,
  type MethodOwner,
  type OperationRow,
  operation,
  type Performer,
} from './operation-row.ts';
import type { BranchFacts, CommitFacts, OpenedDiff, OpenedMoment, RowBatch } from './results.ts';

export type { MethodOwner } from './operation-row.ts';

export const OPERATIONS = {
  /** Results in the values, in the order of the keys; null for a key that does not exist. */
  get: operation<(ValueBytes | null)[]>()({
    by: 'storage',
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
  put: operation<null>()({
    by: 'storage',
    effect: 'write',
    fields: { entries: field.entries, unconfirmed: field.boolean },
    method: { on: 'transaction', fields: putFields, returns: nothing },
  }),
  /** Results in the number of deleted keys that existed. */
  delete: operation<number>()({
    by: 'storage',
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
  list: operation<[string, ValueBytes][]>()({
    by: 'storage',
    effect: 'read',
    fields: { range: checkKeyRange },
    method: {
      on: 'transaction',
      fields: ([options]) => ({ range: convertListOptions('list', options) }),
      returns: (found) => new Map(found.map(([key, bytes]) => [key, decodeValue(bytes)])),
    },
  }),
  deleteAll: operation<null>()({
    by: 'storage',
    effect: 'write',
    fields: { unconfirmed: field.boolean },
    method: {
      on: 'storage',
      fields: ([options]) => ({ unconfirmed: isUnconfirmed('deleteAll', options) }),
      returns: nothing,
    },
  }),
  getAlarm: operation<number | null>()({
    by: 'storage',
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
  setAlarm: operation<null>()({
    by: 'storage',
    effect: 'write',
    fields: { timeMs: checkAlarmTime, unconfirmed: field.boolean },
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
  deleteAlarm: operation<null>()({
    by: 'storage',
    effect: 'write',
    fields: { unconfirmed: field.boolean },
    method: {
      on: 'transaction',
      fields: ([options]) => ({ unconfirmed: isUnconfirmed('deleteAlarm', options) }),
      returns: nothing,
    },
  }),
  // The operation is a write, because it reports on writes that a lost worker may not have stored.
  sync: operation<null>()({
    by: 'storage',
    effect: 'write',
    fields: {},
    method: { on: 'storage', fields: () => ({}), returns: nothing },
  }),
  getCurrentBookmark: operation<string>()({
    by: 'storage',
    effect: 'read',
    fields: {},
    method: { on: 'storage', needsSqlBackend: true, fields: () => ({}) },
  }),
  getBookmarkForTime: operation<string>()({
    by: 'storage',
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
  onNextSessionRestoreBookmark: operation<string>()({
    by: 'storage',
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
  cancelRestore: operation<boolean>()({
    by: 'storage',
    effect: 'write',
    fields: {},
    method: { on: 'page', fields: () => ({}) },
  }),
  /** Results in commits, the newest first. */
  history: operation<CommitFacts[]>()({
    by: 'storage',
    effect: 'read',
    fields: {
      fromMs: checkTimeOrNull,
      toMs: checkTimeOrNull,
      before: field.stringOrNull,
      limit: checkCommitCount,
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
  // These operations are reads: the cursors and moments that they open and close end with the worker.
  openMoment: operation<OpenedMoment>()({
    by: 'session',
    effect: 'read',
    fields: { bookmark: field.stringOrNull, timeMs: checkTimeOrNull },
  }),
  closeMoment: operation<null>()({
    by: 'session',
    effect: 'read',
    fields: { id: field.numberOf },
    isBound: true,
  }),
  openDiff: operation<OpenedDiff>()({
    by: 'session',
    effect: 'read',
    fields: { from: checkStateName, to: checkStateName, skip: field.numberOf },
  }),
  nextChanges: operation<ChangeBatch>()({
    by: 'session',
    effect: 'read',
    fields: { diff: field.numberOf },
    isBound: true,
  }),
  countChanges: operation<ChangeCounts>()({
    by: 'session',
    effect: 'read',
    fields: { diff: field.numberOf },
    isBound: true,
  }),
  closeDiff: operation<null>()({
    by: 'session',
    effect: 'read',
    fields: { diff: field.numberOf },
    isBound: true,
  }),
  // The operation is a write, because a kept branch may have been made although the worker was lost.
  fork: operation<BranchFacts>()({
    by: 'session',
    effect: 'write',
    fields: {
      bookmark: field.stringOrNull,
      timeMs: checkTimeOrNull,
      name: checkBranchNameOrNull,
      isKept: field.boolean,
      sends: field.boolean,
    },
  }),
  /** Results in the kept branches. */
  branches: operation<BranchFacts[]>()({
    by: 'session',
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
  /** Results in false if no branch has this name. */
  deleteBranch: operation<boolean>()({
    by: 'session',
    effect: 'write',
    fields: { name: checkBranchName },
    method: {
      on: 'page',
      fields(args) {
        checkArgumentCount('deleteBranch', args.length, 1);
        return { name: convertBranchName('deleteBranch', args[0]) };
      },
    },
  }),
  /** Results in the bookmark that undoes the promotion. */
  promote: operation<string>()({
    by: 'host',
    effect: 'write',
    fields: { branch: checkBranchId },
    travelsAlone: true,
  }),
  revert: operation<MergeResult>()({
    by: 'storage',
    effect: 'write',
    fields: { bookmarks: checkReverted },
  }),
  merge: operation<MergeResult>()({
    by: 'storage',
    effect: 'write',
    fields: { from: checkMoment, to: checkMoment, decisions: checkDecisions },
  }),
  // `bookmark` is the state of the branch to merge; null means the current one.
  mergeBranch: operation<BranchMergeResult>()({
    by: 'host',
    effect: 'write',
    fields: {
      branch: checkBranchId,
      bookmark: field.stringOrNull,
      decisions: checkDecisions,
    },
    travelsAlone: true,
  }),
  /** Results in a plain SQLite file. */
  exportDatabase: operation<Uint8Array<ArrayBuffer>>()({
    by: 'storage',
    effect: 'read',
    fields: {},
    method: { on: 'page', fields: () => ({}) },
  }),
  /** Results in the bookmark that undoes the import. */
  importDatabase: operation<string>()({
    by: 'host',
    effect: 'write',
    fields: { database: field.bytes, wal: field.bytesOrNull },
    travelsAlone: true,
  }),
  /** Results in the bookmark that undoes the restore. */
  restore: operation<string>()({
    by: 'host',
    effect: 'write',
    fields: { bookmark: field.stringOrNull, timeMs: checkTimeOrNull },
    travelsAlone: true,
  }),
  abort: operation<null>()({
    by: 'session',
    isBoundary: true,
    effect: 'write',
    fields: { reason: field.string },
  }),
  databaseSize: operation<number>()({ by: 'storage', effect: 'read', fields: {} }),
  exec: operation<RowBatch>()({
    by: 'session',
    effect: 'write',
    fields: { query: field.string, bindings: checkBindings, rowCount: field.rowCount },
  }),
  rows: operation<RowBatch>()({
    by: 'session',
    effect: 'read',
    fields: { cursor: field.numberOf, rowCount: field.rowCount },
    isBound: true,
  }),
  closeCursor: operation<null>()({
    by: 'session',
    effect: 'read',
    fields: { cursor: field.numberOf },
    isBound: true,
  }),
  execMany: operation<BulkResult>()({
    by: 'storage',
    effect: 'write',
    fields: { query: field.string, width: rowWidth, chunks: rowChunks },
  }),
  /** Results in the rows of each statement, in their order. */
  batch: operation<RowBatch[]>()({
    by: 'storage',
    effect: 'write',
    fields: { statements: checkStatements },
  }),
  /** Results in the number of entries. */
  putMany: operation<number>()({
    by: 'storage',
    effect: 'write',
    fields: { chunks: entryChunks, unconfirmed: field.boolean },
  }),
  // The operation is a read, because the transaction that it began has ended with the worker. The page numbers its
  // transactions, so that it can send calls of a transaction together with its beginning.
  /** Results in the number of the transaction, for `txn`. */
  begin: operation<number>()({
    by: 'session',
    isBoundary: true,
    effect: 'read',
    fields: { number: field.numberOf },
    travelsAlone: true,
  }),
  commit: operation<null>()({
    by: 'session',
    isBoundary: true,
    effect: 'write',
    fields: { txn: field.numberOf },
  }),
  rollback: operation<null>()({
    by: 'session',
    isBoundary: true,
    effect: 'write',
    fields: { txn: field.numberOf },
  }),
};

type Table = typeof OPERATIONS;

export type OperationName = keyof Table;

/** The operations of one performer. */
export type OperationBy<By extends Performer> = {
  [Op in OperationName]: Table[Op]['by'] extends By ? Op : never;
}[OperationName];

/** The result of each operation. */
export type Results = {
  [Op in OperationName]: ReturnType<NonNullable<Table[Op]['result']>>;
};

/** The result of an operation. It is a promise only if the operation has to wait. */
export type Performed<Op extends OperationName> = Results[Op] | Promise<Results[Op]>;

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

/** The checked fields of a call. */
export type FieldsOf<Op extends OperationName> = Checked<Table[Op]['fields']>;

/**
 * The call of one operation. `txn` is the transaction to which the call belongs: the call fails with TRANSACTION_ENDED
 * once the transaction has ended. A call without `txn` joins the transaction that its own session holds, and waits for
 * another session's transaction.
 */
export type CallOf<Op extends OperationName> = { readonly op: Op } & FieldsOf<Op> & {
    readonly txn?: number;
    /** The earlier moment that the call reads; without it, the call reads the present state of the object. */
    readonly moment?: number;
    /** Present if the call can be cancelled. */
    readonly flag?: CallFlag;
    /** The label of the commit that the call makes. */
    readonly label?: string;
  };

/** An operation on the object of a session, as plain data. */
export type Call = CallBy<Performer>;

/** The call of an operation of one performer. */
export type CallBy<By extends Performer> = { [Op in OperationBy<By>]: CallOf<Op> }[OperationBy<By>];

/** The type of any row, for code that treats all operations alike. */
export type AnyOperation = OperationRow<FieldChecks, unknown, Performer, MethodOwner>;

/** The row of an operation. */
export function operationOf(op: OperationName): AnyOperation {
  return OPERATIONS[op];
}

/** Whether this performer performs the call. */
export function isBy<By extends Performer>(call: Call, performer: By): call is CallBy<By> & Call {
  return OPERATIONS[call.op].by === performer;
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
