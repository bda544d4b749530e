// Stores the clients of an object in the object's own database: the identity of each client, the progress of its calls,
// and the outcomes that it has not acknowledged.
//
// Invariant: clients and outcomes survive the `deleteAll` of the class. Otherwise a repeated call would run twice.
//
// Writes join the transaction of the event, and followers do not receive them as changes of the object.

import type { DurableObjectStorage, SqlStorageValue } from '@ctx-storage/core/storage';
import { deserialize, serialize } from '@ctx-storage/core/values';
import type { FollowedOutcome, NumberedOutcome } from '../protocol/messages.ts';
import type { Answers } from '../protocol/server-events.ts';
import type { ClientRecord } from '../protocol/server-state.ts';

export interface KnownClient {
  readonly identity: string;
  readonly record: ClientRecord;
}

const TABLES = `
  CREATE TABLE IF NOT EXISTS _follow_client (
    name TEXT PRIMARY KEY, identity TEXT NOT NULL,
    started INTEGER NOT NULL, last INTEGER NOT NULL, acked INTEGER NOT NULL, attempts INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS _follow_outcome (
    client TEXT NOT NULL, n INTEGER NOT NULL, outcome BLOB NOT NULL, PRIMARY KEY (client, n)
  ) WITHOUT ROWID;`;
/** A column of protocol 2, which objects of protocol 1 lack. */
const MARK = 'ALTER TABLE _follow_client ADD COLUMN mark INTEGER';
const HAS_MARK = "SELECT 1 FROM pragma_table_info('_follow_client') WHERE name = 'mark'";

const CLIENT = 'name, identity, started, last, acked, attempts, mark';
const NEW_CLIENT = `INSERT INTO _follow_client (${CLIENT}) VALUES (?, ?, ?, ?, ?, ?, ?)`;
const SET_CLIENT =
  'UPDATE _follow_client SET started = ?, last = ?, acked = ?, attempts = ?, mark = ? WHERE name = ?';
const NEW_OUTCOME = 'INSERT INTO _follow_outcome VALUES (?, ?, ?)';

type Row = Record<string, SqlStorageValue>;

export class ClientRecords {
  readonly #exec: DurableObjectStorage['sql']['exec'];

  /** Must be made before anything else wraps the storage's methods. */
  constructor(storage: DurableObjectStorage) {
    this.#exec = storage.sql.exec.bind(storage.sql);
    this.#createTables();
    const deleteAll = storage.deleteAll.bind(storage);
    const deleteAllButClients: typeof deleteAll = (...options) => {
      const clients = this.#values(`SELECT ${CLIENT} FROM _follow_client`);
      const outcomes = this.#values('SELECT * FROM _follow_outcome');
      // `deleteAll` has deleted everything when it returns; its promise waits for durability.
      const deleted = deleteAll(...options);
      this.#createTables();
      for (const client of clients) this.#exec(NEW_CLIENT, ...client);
      for (const outcome of outcomes) this.#exec(NEW_OUTCOME, ...outcome);
      return deleted;
    };
    Object.defineProperty(storage, 'deleteAll', { value: deleteAllButClients, configurable: true });
  }

  get(name: string): KnownClient | null {
    const [row] = this.#rows('SELECT * FROM _follow_client WHERE name = ?', name);
    return row === undefined ? null : this.#clientFrom(row);
  }

  /** Returns the records of the clients with a call that was begun and not answered. */
  recordsWithUnansweredCall(): ReadonlyMap<string, ClientRecord> {
    const rows = this.#rows('SELECT * FROM _follow_client WHERE started > last');
    return new Map(rows.map((row) => [String(row.name), this.#clientFrom(row).record]));
  }

  /** Adds a new client, whose name belongs to this identity from now on. */
  add(name: string, identity: string): void {
    this.#exec(NEW_CLIENT, name, identity, 0, 0, 0, 0, null);
  }

  /** Stores a record and, unless it is null, the outcome of its call `last`. Deletes the outcomes that were acknowledged. */
  store(name: string, record: ClientRecord, outcome: FollowedOutcome | null): void {
    const { started, last, acked, attempts, mark } = record;
    const [before] = this.#rows('SELECT acked FROM _follow_client WHERE name = ?', name);
    this.#exec(SET_CLIENT, started, last, acked, attempts, mark, name);
    if (acked > Number(before!.acked)) {
      this.#exec('DELETE FROM _follow_outcome WHERE client = ? AND n <= ?', name, acked);
    }
    if (outcome !== null) this.#exec(NEW_OUTCOME, name, last, serialize(outcome));
  }

  /** Returns the stored outcomes of the calls after `told`, up to `last`. */
  outcomes({ client, told, last }: Answers): NumberedOutcome[] {
    const rows = this.#rows(
      'SELECT n, outcome FROM _follow_outcome WHERE client = ? AND n > ? AND n <= ? ORDER BY n',
      ...[client, told, last],
    );
    return rows.map(({ n, outcome }) => {
      const bytes = new Uint8Array(outcome as ArrayBuffer);
      return [Number(n), deserialize(bytes) as FollowedOutcome];
    });
  }

  #createTables(): void {
    this.#exec(TABLES);
    if (this.#rows(HAS_MARK).length === 0) this.#exec(MARK);
  }

  #clientFrom({ name, identity, mark, ...row }: Row): KnownClient {
    const [started, last] = [Number(row.started), Number(row.last)];
    const [acked, attempts] = [Number(row.acked), Number(row.attempts)];
    const record = {
      ...{ started, mark: mark as number | null, last, acked, attempts },
      outcomeBytes: this.#outcomeBytes(String(name), acked, last),
    };
    return { identity: String(identity), record };
  }

  /** Returns the sizes of the outcomes of the calls after `acked`, up to `last`. */
  #outcomeBytes(client: string, acked: number, last: number): number[] {
    const rows = this.#rows(
      'SELECT n, length(outcome) AS bytes FROM _follow_outcome WHERE client = ?',
      client,
    );
    const byNumber = new Map(rows.map(({ n, bytes }) => [Number(n), Number(bytes)]));
    return Array.from({ length: last - acked }, (_, i) => byNumber.get(acked + 1 + i) ?? 0);
  }

  #rows(query: string, ...bindings: SqlStorageValue[]): Row[] {
    return this.#exec(query, ...bindings).toArray() as Row[];
  }

  #values(query: string): SqlStorageValue[][] {
    return [...this.#exec(query).raw()] as SqlStorageValue[][];
  }
}
