// How each operation of the table is performed on an object's storage. A call arrives here from a
// page, checked, or from a method of `ctx.storage` or `txn`, converted.
//
// Operations on what belongs to a session (cursors, transactions of pages) or on the instance itself
// are performed by worker/sessions.

import type { Call, FieldsOf, OperationName, Results } from '../../src/contract/operations.ts';
import type { Confirmation } from './commits.ts';
import { type Moment, readOnly } from './moment.ts';
import type { ObjectStorage } from './object-storage.ts';
import { ValueCopies } from './value-copies.ts';

/** Operations on a session or on the instance. */
export type SessionOperation =
  | 'exec'
  | 'rows'
  | 'closeCursor'
  | 'begin'
  | 'commit'
  | 'rollback'
  | 'importDatabase'
  | 'openMoment'
  | 'closeMoment'
  | 'abort';

/** Operations on the storage alone. */
export type StorageOperation = Exclude<OperationName, SessionOperation>;

/** The object as it is, or an earlier moment of it. */
type KeyValueSource = Pick<ObjectStorage | Moment, 'get' | 'list'>;

type Performed<Op extends OperationName> = Results[Op] | Promise<Results[Op]>;

type Performers = {
  readonly [Op in StorageOperation]: (
    storage: ObjectStorage,
    fields: FieldsOf<Op>,
  ) => Performed<Op>;
};

const PERFORMERS: Performers = {
  get: valuesOf,
  put(storage, { entries, unconfirmed }) {
    storage.put(entries, confirmation(unconfirmed));
    return null;
  },
  delete: (storage, { keys, unconfirmed }) => storage.delete(keys, confirmation(unconfirmed)),
  list: entriesOf,
  deleteAll(storage) {
    storage.deleteAll();
    return null;
  },
  getAlarm: (storage) => storage.alarm,
  setAlarm(storage, { timeMs, unconfirmed }) {
    storage.setAlarm(timeMs, confirmation(unconfirmed));
    return null;
  },
  deleteAlarm(storage, { unconfirmed }) {
    storage.setAlarm(null, confirmation(unconfirmed));
    return null;
  },
  sync: (storage) => storage.durability()?.then(() => null) ?? null,
  databaseSize: (storage) => storage.databaseSize,
  getCurrentBookmark: (storage) => storage.currentBookmark(),
  getBookmarkForTime: (storage, { timeMs }) => storage.past.bookmarkForTime(timeMs),
  onNextSessionRestoreBookmark: (storage, { bookmark }) => storage.restoreAtNextStart(bookmark),
  history: (storage, { fromMs, toMs, before, limit }) =>
    storage.past.commits({
      fromMs: fromMs ?? Number.NEGATIVE_INFINITY,
      toMs: toMs ?? Number.POSITIVE_INFINITY,
      before,
      limit,
    }),
  exportDatabase: (storage) => storage.databaseBytes(),
};

/** The function that performs an operation. */
export function performerOf<Op extends StorageOperation>(op: Op): Performers[Op] {
  return PERFORMERS[op];
}

/** Performs a call; the result is a promise only if the operation has to wait. */
export function perform<Op extends StorageOperation>(
  storage: ObjectStorage,
  op: Op,
  fields: FieldsOf<Op>,
): Performed<Op> {
  return PERFORMERS[op](storage, fields);
}

/** Performs a call on an earlier moment. @throws READ_ONLY for anything but a read, MOMENT_CLOSED */
export function performAt(moment: Moment, call: Call): Results[OperationName] {
  switch (call.op) {
    case 'get':
      return valuesOf(moment, call);
    case 'list':
      return entriesOf(moment, call);
    case 'getAlarm':
      return moment.alarm;
    case 'databaseSize':
      return moment.databaseSize;
    case 'exportDatabase':
      return moment.databaseBytes();
    default:
      throw readOnly(call.op);
  }
}

function valuesOf(source: KeyValueSource, { keys }: FieldsOf<'get'>): Results['get'] {
  if (keys.length === 1) return [source.get(keys[0]!, copied) ?? null];
  const copies = new ValueCopies();
  const add = (value: Uint8Array) => {
    copies.add(value);
    return true;
  };
  const isFound = keys.map((key) => source.get(key, add) ?? false);
  const found = copies.take().values();
  return isFound.map((is) => (is ? found.next().value! : null));
}

function entriesOf(source: KeyValueSource, { range }: FieldsOf<'list'>): Results['list'] {
  const keys: string[] = [];
  const copies = new ValueCopies();
  const cursor = source.list(range);
  for (let entry = cursor.next(); entry !== undefined; entry = cursor.next()) {
    keys.push(entry.key);
    copies.add(entry.value);
  }
  return copies.take().map((value, i) => [keys[i]!, value]);
}

function confirmation(unconfirmed: boolean): Confirmation {
  return { confirmed: !unconfirmed };
}

// The bytes are a view of SQLite's memory.
function copied(value: Uint8Array): Uint8Array {
  return value.slice();
}
