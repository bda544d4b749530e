// The queue of a replica, stored in an object of its own: the calls that wait for the server, the refusals that the app has
// not dismissed, and the progress of a snapshot. The parts of that snapshot are staged in another object.
//
// Invariants:
//   each method is one commit, durable when it resolves
//   the client's name, `numberOffset` and the identity are stored once, when the queue is created
//   no two calls get the same number: the stored `issued` is the last number that has left the queue, and later numbers
//   are in the queue
// The last invariant is asserted where a call enters or leaves the queue. Durability depends on the disk, so it cannot
// be asserted.
//
// The queue does not know when calls are sent, nor what their methods do.

import { checkBytes } from '@ctx-storage/core/contract';
import { assert, storageError } from '@ctx-storage/core/errors';
import { idOfStorage, type ObjectAddress } from '@ctx-storage/core/object';
import { deserialize, serialize } from '@ctx-storage/core/values';
import type { ObjectHost, ObjectInstance } from '@ctx-storage/worker/objects';
import type { QueuedCall, RefusedCall, StoredQueue } from '../protocol/follower.ts';
import type { CopyMark } from '../protocol/messages.ts';
import { HeldObject } from './held-object.ts';

const TABLES = `
  CREATE TABLE IF NOT EXISTS client (name TEXT NOT NULL, issued INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS call (n INTEGER PRIMARY KEY, method TEXT NOT NULL, args BLOB NOT NULL, isForecast INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS refusal
    (n INTEGER PRIMARY KEY, method TEXT NOT NULL, args BLOB NOT NULL, isForecast INTEGER NOT NULL, outcome BLOB NOT NULL);
  CREATE TABLE IF NOT EXISTS earlier (n INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS owner (identity BLOB NOT NULL);
  CREATE TABLE IF NOT EXISTS copy (one INTEGER PRIMARY KEY CHECK (one = 1), mark BLOB NOT NULL)`;

/**
 * Columns of protocol 2, which queues of protocol 1 lack. Calls in such queues have mark 0, and the server knows no
 * call by that mark.
 */
const MARKS = `
  ALTER TABLE client ADD COLUMN mark INTEGER;
  ALTER TABLE call ADD COLUMN mark INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE refusal ADD COLUMN mark INTEGER NOT NULL DEFAULT 0`;
const HAS_MARKS = "SELECT 1 FROM pragma_table_info('refusal') WHERE name = 'mark'";

const DELETE_REFUSAL = 'DELETE FROM refusal WHERE n = ?';
const COUNT_PARTS = 'SELECT count(*), coalesce(max(n), 0) FROM part';

/** The columns of a call, in the order of `Row`. */
const CALL = 'n, mark, method, args, isForecast';

type Row = [
  n: number,
  mark: number,
  method: string,
  args: ArrayBuffer,
  isForecast: number,
  outcome?: ArrayBuffer,
];

type ClientRow = [name: string, issued: number, mark: number | null];

/** The values that a queue gets when it is created. */
export interface NewQueue {
  /** Returns a new name for the client, which no other replica has. */
  newClient(): string;
  /** See `ReplicaQueue.numberOffset`. */
  readonly numberOffset: number;
  /** The identity to which the queue belongs. Used only if each identity has its own queue. */
  readonly identity?: string | undefined;
}

export class ReplicaQueue {
  readonly #held: HeldObject;
  readonly client: string;
  /** The content of the queue when it was opened. */
  readonly stored: StoredQueue;
  /**
   * The total of the numbers that the forgotten queues of this object had given. The app adds this offset to a call's
   * number in the queue.
   */
  readonly numberOffset: number;
  /** The progress of a snapshot when the queue was opened. */
  readonly copy: CopyMark | null;
  #hasCopy: boolean;
  /** The number of the newest call. */
  #issued: number;

  /**
   * Opens the queue of a replica, or creates it.
   *
   * @throws CONFLICT if the queue belongs to another identity; errors of `ObjectHost.instance`
   */
  static async open(host: ObjectHost, key: string, made: NewQueue): Promise<ReplicaQueue> {
    const held = await HeldObject.open(host, addressOf(key));
    try {
      return new ReplicaQueue(held, await held.event((storage) => readQueue(storage, made)));
    } catch (error) {
      held.release();
      throw error;
    }
  }

  /** Returns true if calls wait in the queue. Does not create a queue. */
  static hasCalls(host: ObjectHost, key: string): Promise<boolean> {
    return host.deliver(addressOf(key), ({ storage }) => {
      if (storage.isUnwritten) return false;
      const [[calls]] = [...storage.exec('SELECT count(*) FROM call', []).raw()] as [[number]];
      return calls > 0;
    });
  }

  static remove(host: ObjectHost, key: string): Promise<void> {
    return host.erase(addressOf(key));
  }

  private constructor(
    held: HeldObject,
    { client, numberOffset, stored, copy }: ReturnType<typeof readQueue>,
  ) {
    this.#held = held;
    this.client = client;
    this.numberOffset = numberOffset;
    this.stored = stored;
    this.copy = copy;
    this.#hasCopy = copy !== null;
    this.#issued = stored.issued;
  }

  enqueue(call: QueuedCall, retried: number | null): Promise<void> {
    assert(call.n > this.#issued, 'two calls have one number');
    this.#issued = call.n;
    return this.#held.event((storage) => {
      if (retried !== null) storage.exec(DELETE_REFUSAL, [retried]);
      storage.exec(`INSERT INTO call (${CALL}) VALUES (?, ?, ?, ?, ?)`, rowOfCall(call));
    });
  }

  /** Removes the calls up to number `last`, and stores that call's mark and the refusals. */
  dequeue(last: number, mark: number, refusals: readonly RefusedCall[]): Promise<void> {
    assert(last <= this.#issued, 'a call left the queue before it was in it');
    return this.#held.event((storage) => {
      storage.exec('UPDATE client SET issued = max(issued, ?), mark = ?', [last, mark]);
      storage.exec('DELETE FROM call WHERE n <= ?', [last]);
      for (const { call, outcome } of refusals) {
        const cells = [...rowOfCall(call), serialize(outcome)];
        storage.exec(`INSERT INTO refusal (${CALL}, outcome) VALUES (?, ?, ?, ?, ?, ?)`, cells);
      }
    });
  }

  dismiss(n: number): Promise<void> {
    return this.#held.event((storage) => {
      storage.exec(DELETE_REFUSAL, [n]);
    });
  }

  /** Stores the progress of a snapshot, or removes it for null, because the staged parts are not used any more. */
  async keepCopy(mark: CopyMark | null): Promise<void> {
    if (mark === null && !this.#hasCopy) return;
    await this.#held.event((storage) => {
      storage.exec('INSERT OR REPLACE INTO copy VALUES (1, ?)', [serialize(mark)]);
    });
    this.#hasCopy = mark !== null;
  }

  close(): void {
    this.#held.release();
  }
}

/**
 * The parts of a snapshot on the disk, where they wait for the update that completes the snapshot. One part is in
 * memory at a time.
 */
export class StagedParts {
  readonly #host: ObjectHost;
  readonly #address: ObjectAddress;

  constructor(host: ObjectHost, key: string) {
    this.#host = host;
    this.#address = addressOf(`${key}.parts`);
  }

  /**
   * Stores a part by its number, from 1 on. The part replaces any stored part with this number or a higher one.
   *
   * @throws DISK_FULL, IO
   */
  async add(number: number, changes: unknown): Promise<void> {
    if (number === 1) await this.clear();
    const part = checkBytes('changes', changes);
    await this.#host.deliver(this.#address, ({ storage }) => {
      storage.exec('CREATE TABLE IF NOT EXISTS part (n INTEGER PRIMARY KEY, changes BLOB)', []);
      storage.exec('DELETE FROM part WHERE n >= ?', [number]);
      storage.exec('INSERT INTO part VALUES (?, ?)', [number, part]);
    });
  }

  /** Passes the first `count` parts to an action, which reads them in order. @throws INVALID_ARGUMENT if other parts are stored */
  use<T>(count: number, action: (parts: Iterable<unknown>) => Promise<T>): Promise<T> {
    return this.#host.deliver(this.#address, ({ storage }) => action(partsOf(storage, count)));
  }

  clear(): Promise<void> {
    return this.#host.erase(this.#address);
  }
}

function* partsOf(storage: ObjectInstance['storage'], count: number): Iterable<unknown> {
  const [counts] = [...storage.exec(COUNT_PARTS, []).raw()] as [[number, number]];
  if (counts.join() !== [count, count].join()) {
    throw storageError(
      'INVALID_ARGUMENT',
      `follow: ${count} parts are expected, ${counts[0]} are here.`,
    );
  }
  for (const [part] of storage.exec('SELECT changes FROM part ORDER BY n', []).raw()) {
    yield new Uint8Array(part as ArrayBuffer);
  }
}

function readQueue(
  storage: ObjectInstance['storage'],
  { newClient, numberOffset, identity }: NewQueue,
) {
  storage.exec(TABLES, []);
  const select = (query: string) => [...storage.exec(query, []).raw()];
  if (select(HAS_MARKS).length === 0) storage.exec(MARKS, []);
  let [client] = select('SELECT name, issued, mark FROM client') as ClientRow[];
  if (client === undefined) {
    client = [newClient(), 0, null];
    storage.exec('INSERT INTO client (name, issued, mark) VALUES (?, ?, ?)', client);
    storage.exec('INSERT INTO earlier VALUES (?)', [numberOffset]);
    if (identity !== undefined) storage.exec('INSERT INTO owner VALUES (?)', [serialize(identity)]);
  }
  const [[owner] = []] = select('SELECT identity FROM owner') as [ArrayBuffer?][];
  if ((owner === undefined ? undefined : storedValue(owner)) !== identity) throw notTheirs();
  const [name, lastThatLeft, leftMark] = client;
  // A queue of an older version of this package has no row here.
  const [[storedOffset] = [0]] = select('SELECT n FROM earlier') as [number][];
  const calls = (select(`SELECT ${CALL} FROM call ORDER BY n`) as Row[]).map(callOfRow);
  const issued = Math.max(lastThatLeft, calls.at(-1)?.n ?? 0);
  const refused = select(`SELECT ${CALL}, outcome FROM refusal ORDER BY n`) as Row[];
  const refusals = refused.map((row) => ({
    call: callOfRow(row),
    outcome: storedValue(row[5]!) as RefusedCall['outcome'],
  }));
  const [copyRow] = select('SELECT mark FROM copy') as [ArrayBuffer][];
  const copy = copyRow === undefined ? null : (storedValue(copyRow[0]) as CopyMark | null);
  const stored = { issued, leftMark, calls, refusals };
  return { client: name, numberOffset: storedOffset, stored, copy };
}

function notTheirs(): Error {
  return storageError('CONFLICT', 'follow: the files of this copy belong to another identity.');
}

function callOfRow([n, mark, method, args, isForecast]: Row): QueuedCall {
  const bytes = args.byteLength;
  return { n, mark, method, args: storedValue(args), bytes, isForecast: isForecast === 1 };
}

function rowOfCall({ n, mark, method, args, isForecast }: QueuedCall): unknown[] {
  return [n, mark, method, serialize(args), isForecast ? 1 : 0];
}

function storedValue(bytes: ArrayBuffer): unknown {
  return deserialize(new Uint8Array(bytes));
}

/** Returns the address of an object of this package. It has no class, so that it differs from all objects of the app. */
function addressOf(name: string): ObjectAddress {
  return { className: null, id: idOfStorage(`_follow/${name}`) };
}
