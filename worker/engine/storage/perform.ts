// Performs the operations that belong to the storage (`by` in the table of operations). Calls come from pages, with checked
// arguments, or from the methods of `ctx.storage` and `txn`, with converted arguments.
//
// The operations by a session or by the host are performed in worker/objects/sessions.

import type {
  Call,
  FieldsOf,
  OperationBy,
  OperationName,
  Performed,
  ReadName,
  Results,
} from '../../../src/shared/wire/operations.ts';
import { execBatch, execMany, putMany } from './bulk.ts';
import type { Confirmation } from './commits.ts';
import { type Moment, readOnly } from './moment.ts';
import type { ObjectStorage } from './object-storage.ts';

/** The operations that need only the storage. */
export type StorageOperation = OperationBy<'storage'>;

/** The present object, or an earlier moment of it. */
type KeyValueSource = Pick<ObjectStorage | Moment, 'get' | 'list'>;

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
  execMany,
  batch: execBatch,
  putMany: (storage, { chunks, unconfirmed }) =>
    putMany(storage, chunks, confirmation(unconfirmed)),
  delete: (storage, { keys, unconfirmed }) => storage.delete(keys, confirmation(unconfirmed)),
  list: entriesOf,
  deleteAll(storage, { unconfirmed }) {
    storage.deleteAll(confirmation(unconfirmed));
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
  cancelRestore: (storage) => storage.cancelRestore(),
  history: (storage, { fromMs, toMs, before, limit }) =>
    storage.past.commits({
      fromMs: fromMs ?? Number.NEGATIVE_INFINITY,
      toMs: toMs ?? Number.POSITIVE_INFINITY,
      before,
      limit,
    }),
  revert: (storage, { bookmarks }) => storage.revert(bookmarks),
  merge: (storage, { from, to, decisions }) => storage.merge(from, to, decisions),
  exportDatabase: (storage) => storage.databaseBytes(),
};

/** Returns the function that performs an operation. */
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

/** Operations on the whole history, which an earlier moment does not have. */
type HistoryOperation = 'getCurrentBookmark' | 'getBookmarkForTime' | 'history';

/** The functions of all other reads, which also work on an earlier moment. */
export type MomentReaders = {
  readonly [Op in Exclude<Extract<StorageOperation, ReadName>, HistoryOperation>]: (
    moment: Moment,
    fields: FieldsOf<Op>,
  ) => Results[Op];
};

export const MOMENT_READERS: MomentReaders = {
  get: valuesOf,
  list: entriesOf,
  getAlarm: (moment) => moment.alarm,
  databaseSize: (moment) => moment.databaseSize,
  exportDatabase: (moment) => moment.databaseBytes(),
};

/** Performs a call on an earlier moment. @throws READ_ONLY for an operation without a reader, MOMENT_CLOSED */
export function performAt(moment: Moment, call: Call): Results[OperationName] {
  if (!Object.hasOwn(MOMENT_READERS, call.op)) throw readOnly(call.op);
  const read = MOMENT_READERS[call.op as keyof MomentReaders];
  return read(moment, call as never);
}

function valuesOf(source: KeyValueSource, { keys }: FieldsOf<'get'>): Results['get'] {
  if (keys.length === 1) return [source.get(keys[0]!, copyBytes) ?? null];
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

// Copies a value, whose bytes are a view of SQLite's memory.
function copyBytes(value: Uint8Array): Uint8Array {
  return value.slice();
}

/**
 * Values up to this size share a buffer. Larger values get buffers of their own, because `take` copies the shared
 * buffer once more.
 */
const SHARED_BYTES_MAX = 4096;

const INITIAL_BYTES = 1024;

/**
 * Copies stored values, whose bytes are a view of SQLite's memory, for one answer. Small values share a buffer, because
 * a separate buffer costs a message more than a small value, and a message contains a shared buffer only once. The
 * shared buffer holds nothing else, since a message sends it as a whole.
 */
export class ValueCopies {
  /** For each value its copy, or the range of its bytes in the shared buffer. */
  readonly #places: (Uint8Array | { readonly start: number; readonly end: number })[] = [];
  #shared = new Uint8Array(INITIAL_BYTES);
  #length = 0;

  add(value: Uint8Array): void {
    if (value.length > SHARED_BYTES_MAX) {
      this.#places.push(value.slice());
      return;
    }
    const start = this.#length;
    const end = start + value.length;
    if (end > this.#shared.length) this.#grow(end);
    this.#shared.set(value, start);
    this.#length = end;
    this.#places.push({ start, end });
  }

  /** Returns the copies in order. */
  take(): Uint8Array[] {
    const shared = this.#shared.slice(0, this.#length);
    return this.#places.map((place) =>
      place instanceof Uint8Array ? place : shared.subarray(place.start, place.end),
    );
  }

  #grow(length: number): void {
    const larger = new Uint8Array(Math.max(length, this.#shared.length * 2));
    larger.set(this.#shared.subarray(0, this.#length));
    this.#shared = larger;
  }
}
