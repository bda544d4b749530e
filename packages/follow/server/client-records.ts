// Stores the clients of an object in the object's own database: the identity of each client, the progress of its calls,
// and the outcomes that it has not acknowledged.
//
// Invariant: clients and outcomes survive the `deleteAll` of the class. Otherwise a repeated call would run twice.
//
// Writes join the transaction of the event, and followers do not receive them as changes of the object.

import type { DurableObjectStorage, SqlStorageValue } from '@ctx-storage/core/storage';
import { deserialize, serialize } from '@ctx-storage/core/values';
import type { FollowedOutcome, NumberedOutcome } from '../protocol/messages.ts';
import type { ClientRecord } from '../protocol/server.ts';

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

const NEW_CLIENT = 'INSERT INTO _follow_client VALUES (?, ?, ?, ?, ?, ?)';
const NEW_OUTCOME = 'INSERT INTO _follow_outcome VALUES (?, ?, ?)';

type Row = Record<string, SqlStorageValue>;

export class ClientRecords {
  readonly #exec: DurableObjectStorage['sql']['exec'];

  /** Must be made before anything else wraps the storage's methods. */
  constructor(storage: DurableObjectStorage) {
    this.#exec = storage.sql.exec.bind(storage.sql);
    this.#exec(TABLES);
    const deleteAll = storage.deleteAll.bind(storage);
    const deleteAllButClients: typeof deleteAll = (...options) => {
      const clients = this.#values('SELECT * FROM _follow_client');
      const outcomes = this.#values('SELECT * FROM _follow_outcome');
      // `deleteAll` has deleted everything when it returns; its promise waits for durability.
      const deleted = deleteAll(...options);
      this.#exec(TABLES);
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
    this.#exec(NEW_CLIENT, name, identity, 0, 0, 0, 0);
  }

  store(name: string, { started, last, acked, attempts, outcomes }: ClientRecord): void {
    const [before] = this.#rows('SELECT last, acked FROM _follow_client WHERE name = ?', name);
    this.#exec(
      'UPDATE _follow_client SET started = ?, last = ?, acked = ?, attempts = ? WHERE name = ?',
      ...[started, last, acked, attempts, name],
    );
    if (acked > Number(before!.acked)) {
      this.#exec('DELETE FROM _follow_outcome WHERE client = ? AND n <= ?', name, acked);
    }
    for (const [n, outcome] of outcomes) {
      if (n > Number(before!.last)) this.#exec(NEW_OUTCOME, name, n, serialize(outcome));
    }
  }

  #clientFrom({ name, identity, ...row }: Row): KnownClient {
    const rows = this.#rows(
      'SELECT n, outcome FROM _follow_outcome WHERE client = ? ORDER BY n',
      name!,
    );
    const outcomes = rows.map(({ n, outcome }): NumberedOutcome => {
      const bytes = new Uint8Array(outcome as ArrayBuffer);
      return [Number(n), deserialize(bytes) as FollowedOutcome];
    });
    const [started, last, acked, attempts] = [row.started, row.last, row.acked, row.attempts];
    const record = {
      ...{ started: Number(started), last: Number(last), acked: Number(acked) },
      ...{ attempts: Number(attempts), outcomes },
    };
    return { identity: String(identity), record };
  }

  #rows(query: string, ...bindings: SqlStorageValue[]): Row[] {
    return this.#exec(query, ...bindings).toArray() as Row[];
  }

  #values(query: string): SqlStorageValue[][] {
    return [...this.#exec(query).raw()] as SqlStorageValue[][];
  }
}
