// How each operation of the table is performed on an object's storage. A call arrives here from a
// page, checked, or from a method of `ctx.storage` or `txn`, converted.
//
// Operations on what belongs to a session (cursors, transactions of pages) or on the instance itself
// are performed by worker/sessions.

import type { FieldsOf, OperationName, Results } from '../../src/contract/operations.ts';
import type { Confirmation, ObjectStorage } from './object-storage.ts';

/** Operations on a session or on the instance. */
export type SessionOperation =
  | 'exec'
  | 'rows'
  | 'closeCursor'
  | 'begin'
  | 'commit'
  | 'rollback'
  | 'importDatabase'
  | 'abort';

/** Operations on the storage alone. */
export type StorageOperation = Exclude<OperationName, SessionOperation>;

type Performed<Op extends OperationName> = Results[Op] | Promise<Results[Op]>;

type Performers = {
  readonly [Op in StorageOperation]: (
    storage: ObjectStorage,
    fields: FieldsOf<Op>,
  ) => Performed<Op>;
};

const PERFORMERS: Performers = {
  get: (storage, { keys }) => keys.map((key) => storage.get(key, copied) ?? null),
  put(storage, { entries, unconfirmed }) {
    storage.put(entries, confirmation(unconfirmed));
    return null;
  },
  delete: (storage, { keys, unconfirmed }) => storage.delete(keys, confirmation(unconfirmed)),
  list(storage, { range }) {
    const entries: [string, Uint8Array][] = [];
    const cursor = storage.list(range);
    for (let entry = cursor.next(); entry !== undefined; entry = cursor.next()) {
      entries.push([entry.key, copied(entry.value)]);
    }
    return entries;
  },
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
  getBookmarkForTime: (storage, { timeMs }) => storage.bookmarkForTime(timeMs),
  onNextSessionRestoreBookmark: (storage, { bookmark }) => storage.restoreAtNextStart(bookmark),
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

function confirmation(unconfirmed: boolean): Confirmation {
  return { confirmed: !unconfirmed };
}

// The bytes are a view of SQLite's memory.
function copied(value: Uint8Array): Uint8Array {
  return value.slice();
}
