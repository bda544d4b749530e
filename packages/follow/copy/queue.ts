// The queue of a replica: its durable calls, and the refusals that the app has not seen, in an object of its own. Also how
// far a snapshot has come whose parts are staged in another object.
//
// Invariants:
//   each method is one commit, durable when it resolves
//   the client's name is made once, with the queue, and so is how many numbers forgotten queues of the object had given
//   no number is given twice: `issued` is the last one that has left the queue, later ones are in it
//
// Does not know when calls are sent, nor what they mean.

import { checkBytes } from '@ctx-storage/core/contract';
import { storageError } from '@ctx-storage/core/errors';
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
  CREATE TABLE IF NOT EXISTS copy (one INTEGER PRIMARY KEY CHECK (one = 1), mark BLOB NOT NULL)`;

const DISMISS = 'DELETE FROM refusal WHERE n = ?';
const COUNTED = 'SELECT count(*), coalesce(max(n), 0) FROM part';

type Row = [
  n: number,
  method: string,
  args: ArrayBuffer,
  isForecast: number,
  outcome?: ArrayBuffer,
];

/** What a queue has when it is made. */
export interface NewQueue {
  /** A new name, which no other replica has. */
  newClient(): string;
  /** As `ReplicaQueue.earlier`. */
  readonly earlier: number;
}

export class ReplicaQueue {
  readonly #held: HeldObject;
  readonly client: string;
  readonly stored: StoredQueue;
  /** Numbers that queues which were forgotten had given: the app knows the first call as the next one after these. */
  readonly earlier: number;
  /** As of opening. */
  readonly copy: CopyMark | null;

  /** The queue of a replica, which is made if there is none. @throws as `ObjectHost.instance` */
  static async open(host: ObjectHost, key: string, made: NewQueue): Promise<ReplicaQueue> {
    const held = await HeldObject.open(host, addressOf(key));
    try {
      return new ReplicaQueue(held, await held.event((storage) => read(storage, made)));
    } catch (error) {
      held.release();
      throw error;
    }
  }

  /** False also if there is no queue. */
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
    { client, earlier, stored, copy }: ReturnType<typeof read>,
  ) {
    this.#held = held;
    this.client = client;
    this.earlier = earlier;
    this.stored = stored;
    this.copy = copy;
  }

  enqueue(call: QueuedCall, retried: number | null): Promise<void> {
    return this.#held.event((storage) => {
      if (retried !== null) storage.exec(DISMISS, [retried]);
      storage.exec('INSERT INTO call VALUES (?, ?, ?, ?)', cellsOf(call));
    });
  }

  dequeue(last: number, refusals: readonly RefusedCall[]): Promise<void> {
    return this.#held.event((storage) => {
      storage.exec('UPDATE client SET issued = max(issued, ?)', [last]);
      storage.exec('DELETE FROM call WHERE n <= ?', [last]);
      for (const { call, outcome } of refusals) {
        const cells = [...cellsOf(call), serialize(outcome)];
        storage.exec('INSERT INTO refusal VALUES (?, ?, ?, ?, ?)', cells);
      }
    });
  }

  dismiss(n: number): Promise<void> {
    return this.#held.event((storage) => {
      storage.exec(DISMISS, [n]);
    });
  }

  /** Null: no parts are to be kept. */
  keepCopy(mark: CopyMark | null): Promise<void> {
    return this.#held.event((storage) => {
      storage.exec('INSERT OR REPLACE INTO copy VALUES (1, ?)', [serialize(mark)]);
    });
  }

  close(): void {
    this.#held.release();
  }
}

/** Where the parts of a snapshot wait for the cut that completes it: on the disk, one in memory at a time. */
export class StagedParts {
  readonly #host: ObjectHost;
  readonly #address: ObjectAddress;

  constructor(host: ObjectHost, key: string) {
    this.#host = host;
    this.#address = addressOf(`${key}.parts`);
  }

  /** Keeps the bytes of the part with this number, from 1 on, instead of it and any after it. @throws DISK_FULL, IO */
  async add(number: number, changes: unknown): Promise<void> {
    if (number === 1) await this.clear();
    const part = checkBytes('changes', changes);
    await this.#host.deliver(this.#address, ({ storage }) => {
      storage.exec('CREATE TABLE IF NOT EXISTS part (n INTEGER PRIMARY KEY, changes BLOB)', []);
      storage.exec('DELETE FROM part WHERE n >= ?', [number]);
      storage.exec('INSERT INTO part VALUES (?, ?)', [number, part]);
    });
  }

  /** Uses so many parts, in order, which are read one by one meanwhile. @throws INVALID_ARGUMENT: there are others */
  use<T>(count: number, action: (parts: Iterable<unknown>) => Promise<T>): Promise<T> {
    return this.#host.deliver(this.#address, ({ storage }) => action(partsOf(storage, count)));
  }

  clear(): Promise<void> {
    return this.#host.erase(this.#address);
  }
}

function* partsOf(storage: ObjectInstance['storage'], count: number): Iterable<unknown> {
  const [found] = [...storage.exec(COUNTED, []).raw()] as [[number, number]];
  if (found.join() !== [count, count].join()) {
    throw storageError(
      'INVALID_ARGUMENT',
      `follow: ${count} parts are expected, ${found[0]} are here.`,
    );
  }
  for (const [part] of storage.exec('SELECT changes FROM part ORDER BY n', []).raw()) {
    yield new Uint8Array(part as ArrayBuffer);
  }
}

function read(storage: ObjectInstance['storage'], { newClient, earlier }: NewQueue) {
  storage.exec(TABLES, []);
  const select = (query: string) => [...storage.exec(query, []).raw()];
  let [client] = select('SELECT name, issued FROM client') as [string, number][];
  if (client === undefined) {
    client = [newClient(), 0];
    storage.exec('INSERT INTO client VALUES (?, ?)', client);
    storage.exec('INSERT INTO earlier VALUES (?)', [earlier]);
  }
  const [name, left] = client;
  const [[before] = [0]] = select('SELECT n FROM earlier') as [number][];
  const calls = (select('SELECT * FROM call ORDER BY n') as Row[]).map(callOf);
  const issued = Math.max(left, calls.at(-1)?.n ?? 0);
  const refusals = (select('SELECT * FROM refusal ORDER BY n') as Row[]).map((row) => ({
    call: callOf(row),
    outcome: storedValue(row[4]!) as RefusedCall['outcome'],
  }));
  const [copied] = select('SELECT mark FROM copy') as [ArrayBuffer][];
  const copy = copied === undefined ? null : (storedValue(copied[0]) as CopyMark | null);
  return { client: name, earlier: before, stored: { issued, calls, refusals }, copy };
}

function callOf([n, method, args, isForecast]: Row): QueuedCall {
  return { n, method, args: storedValue(args), isForecast: isForecast === 1 };
}

function cellsOf({ n, method, args, isForecast }: QueuedCall): unknown[] {
  return [n, method, serialize(args), isForecast ? 1 : 0];
}

function storedValue(bytes: ArrayBuffer): unknown {
  return deserialize(new Uint8Array(bytes));
}

/** Objects without a class, beside those of the app. */
function addressOf(name: string): ObjectAddress {
  return { className: null, id: idOfStorage(`_follow/${name}`) };
}
