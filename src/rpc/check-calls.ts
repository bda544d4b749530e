// What a page's calls of storage may be when they reach the worker: the closed list of protocol.ts,
// every field of its exact type, and the limits that the page has checked already. A tab with other
// code than this package's sends what it likes.
//
// Keeps true: a call that passes can be performed; what is wrong with it beyond its form (a closed
// cursor, an ended transaction, bad SQL) is an outcome of performing it.

import { convertKey } from '../contract/arguments.ts';
import { storageError } from '../contract/errors.ts';
import type { KeyRange } from '../contract/key-range.ts';
import {
  ALARM_TIME_MS_MAX,
  KEYS_PER_CALL_MAX,
  VALUE_BYTES_MAX,
  VALUE_FRAME_BYTES_MAX,
} from '../contract/limits.ts';
import {
  checkAddress,
  checkArray,
  checkBoolean,
  checkBytes,
  checkFields,
  checkInteger,
  checkNumber,
  checkNumberOf,
  checkString,
  type Fields,
  malformed,
} from './check.ts';
import type { WireAddress } from './object-protocol.ts';
import {
  BATCH_CALLS_MAX,
  BATCH_ROWS_MAX,
  type Call,
  type SqlBinding,
  travelsAlone,
  type ValueBytes,
} from './protocol.ts';

/** Bindings of one statement: SQLite's own bound (SQLITE_MAX_VARIABLE_NUMBER). */
const BINDINGS_MAX = 32_766;

/** What is to be opened. @throws INVALID_ARGUMENT */
export function checkTarget(value: unknown): string | WireAddress {
  return typeof value === 'string' ? value : checkAddress(value);
}

/** A message of calls. @throws INVALID_ARGUMENT and the errors of limits; then none of it runs */
export function checkCalls(value: unknown): readonly Call[] {
  const calls = checkArray('calls', value, BATCH_CALLS_MAX).map(checkCall);
  if (calls.length > 1 && calls.some(travelsAlone)) {
    throw malformed('calls', 'one call only, as begin and importDatabase need');
  }
  return calls;
}

/** @throws INVALID_ARGUMENT, KEY_TOO_LARGE, TOO_MANY_KEYS, VALUE_TOO_LARGE */
export function checkCall(value: unknown): Call {
  const fields = checkFields('call', value);
  const op = checkString('op', fields.op);
  const check = CHECKS.get(op as Call['op']);
  if (check === undefined) throw malformed('op', 'one of the protocol');
  const checked = { op, ...check(fields) } as Call;
  if (fields.txn === undefined) return checked;
  return { ...checked, txn: checkNumberOf('txn', fields.txn) };
}

type FieldsOf<Op extends Call['op']> = Omit<Extract<Call, { readonly op: Op }>, 'op' | 'txn'>;

type Checks = { readonly [Op in Call['op']]: (fields: Fields) => FieldsOf<Op> };

const NOTHING = () => ({});

const BY_OPERATION: Checks = {
  get: ({ keys }) => ({ keys: checkKeys('get', keys) }),
  put: ({ entries, unconfirmed }) => ({
    entries: checkEntries(entries),
    unconfirmed: checkBoolean('unconfirmed', unconfirmed),
  }),
  delete: ({ keys, unconfirmed }) => ({
    keys: checkKeys('delete', keys),
    unconfirmed: checkBoolean('unconfirmed', unconfirmed),
  }),
  list: ({ range }) => ({ range: checkRange(range) }),
  deleteAll: ({ unconfirmed }) => ({ unconfirmed: checkBoolean('unconfirmed', unconfirmed) }),
  getAlarm: NOTHING,
  setAlarm: ({ timeMs, unconfirmed }) => ({
    timeMs: checkInteger('timeMs', timeMs, 1, ALARM_TIME_MS_MAX),
    unconfirmed: checkBoolean('unconfirmed', unconfirmed),
  }),
  deleteAlarm: ({ unconfirmed }) => ({ unconfirmed: checkBoolean('unconfirmed', unconfirmed) }),
  sync: NOTHING,
  exec: ({ query, bindings, rowCount }) => ({
    query: checkString('query', query),
    bindings: checkArray('bindings', bindings, BINDINGS_MAX).map(checkBinding),
    rowCount: checkRowCount(rowCount),
  }),
  rows: ({ cursor, rowCount }) => ({
    cursor: checkNumberOf('cursor', cursor),
    rowCount: checkRowCount(rowCount),
  }),
  closeCursor: ({ cursor }) => ({ cursor: checkNumberOf('cursor', cursor) }),
  databaseSize: NOTHING,
  begin: NOTHING,
  // Of these `txn` is the whole content, not the transaction that they join.
  commit: mustNameTransaction,
  rollback: mustNameTransaction,
  getCurrentBookmark: NOTHING,
  getBookmarkForTime: ({ timeMs }) => ({ timeMs: checkNumber('timeMs', timeMs) }),
  onNextSessionRestoreBookmark: ({ bookmark }) => ({ bookmark: checkString('bookmark', bookmark) }),
  exportDatabase: NOTHING,
  importDatabase: ({ database, wal }) => ({
    database: checkBytes('database', database),
    wal: wal === null ? null : checkBytes('wal', wal),
  }),
  abort: ({ reason }) => ({ reason: checkString('reason', reason) }),
};

/** A map, because any string may be asked for. */
const CHECKS = new Map(Object.entries(BY_OPERATION) as [Call['op'], (fields: Fields) => object][]);

function mustNameTransaction({ txn }: Fields): object {
  checkNumberOf('txn', txn);
  return {};
}

function checkKeys(operation: string, value: unknown): string[] {
  if (!Array.isArray(value)) throw malformed('keys', 'an array');
  checkCount(operation, value.length);
  return Array.from(value, (key) => checkKey(operation, key));
}

function checkEntries(value: unknown): [string, ValueBytes][] {
  if (!Array.isArray(value)) throw malformed('entries', 'an array');
  checkCount('put', value.length);
  return Array.from(value, (entry: unknown) => {
    const [key, bytes] = checkArray('entry', entry, 2);
    return [checkKey('put', key), checkValue(bytes)];
  });
}

function checkKey(operation: string, value: unknown): string {
  return convertKey(operation, checkString('key', value));
}

function checkValue(value: unknown): ValueBytes {
  const bytes = checkBytes('value', value);
  const { byteLength } = bytes;
  if (byteLength <= VALUE_BYTES_MAX + VALUE_FRAME_BYTES_MAX) return bytes;
  throw storageError(
    'VALUE_TOO_LARGE',
    `put: a serialized value is ${byteLength} bytes, at most ${VALUE_BYTES_MAX}; split it.`,
  );
}

// Bounds of a range may be longer than a key: an imported database may have such keys.
function checkRange(value: unknown): KeyRange {
  const { start, end, reverse, limit } = checkFields('range', value);
  return {
    start: checkBytes('start', start),
    end: end === null ? null : checkBytes('end', end),
    reverse: checkBoolean('reverse', reverse),
    limit: limit === null ? null : checkInteger('limit', limit, 1, 2 ** 31 - 1),
  };
}

function checkBinding(value: unknown): SqlBinding {
  const isBinding =
    value === null ||
    typeof value === 'string' ||
    typeof value === 'number' ||
    value instanceof ArrayBuffer ||
    ArrayBuffer.isView(value);
  if (isBinding) return value;
  throw malformed('binding', 'a string, a number, null, or bytes');
}

function checkRowCount(value: unknown): number {
  return checkInteger('rowCount', value, 1, BATCH_ROWS_MAX);
}

function checkCount(operation: string, count: number): void {
  if (count <= KEYS_PER_CALL_MAX) return;
  throw storageError(
    'TOO_MANY_KEYS',
    `${operation}: ${count} keys in one call, at most ${KEYS_PER_CALL_MAX}; split the call.`,
  );
}
