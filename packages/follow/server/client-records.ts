// Stores the clients of an object in the object's own database: the identity of each client, the progress of its calls,
// and the outcomes that it has not acknowledged.
//
// Invariant: clients survive the `deleteAll` of the class, with the numbers of their calls. Otherwise a repeated call would
// run twice. Outcomes do not survive it, because results have data of the object.
//
// What one identity can store is bounded: newer clients replace older ones, first those whose calls are all
// acknowledged. A removed client that comes back continues after its last acknowledged call. If a removed client had
// unacknowledged calls, they would run twice; so its identity is noted, and no unknown client of the identity may
// continue unless the client is new (`hasLost`).
//
// Writes join the transaction of the event, and followers do not receive them as changes of the object.
//
// The tables may have rows that this code cannot have written: from an earlier version, or by a statement of the class.
// No content of a row is an error here:
//   a client whose name or numbers are not valid is *damaged*: its name is refused to everybody, because a call might run twice
//   an outcome that is missing or invalid is omitted: its client learns that the outcome is lost (OUTCOME_LOST)
//   other outcomes than those of the unacknowledged calls are ignored, and replaced when their call is answered

import type { DurableObjectStorage, SqlStorageValue } from '@ctx-storage/core/storage';
import { deserialize, serialize } from '@ctx-storage/core/values';
import {
  CALL_FAILURES,
  type FollowedOutcome,
  type HelloMessage,
  type NumberedOutcome,
} from '../protocol/messages.ts';
import type { ClientAnswers } from '../protocol/server-events.ts';
import type { ClientRecord } from '../protocol/server-state.ts';
import { OUTCOME_BYTES_MAX } from './outcome.ts';

/**
 * A client with a stored record; or a damaged one, whose name belongs to nobody. Its identity is a mark (identities.ts), or,
 * of an earlier version of this package, the identity itself.
 */
export type KnownClient =
  | { readonly identity: string; readonly record: ClientRecord }
  | { readonly identity: null; readonly record: null };

/** Outcomes, and the bytes that they take in the storage. */
export interface StoredOutcomes {
  readonly outcomes: readonly NumberedOutcome[];
  readonly bytes: number;
}

/** Matches the names of clients. SQLite stores a name of these characters exactly. */
const CLIENT_NAME = /^[\w-]{1,64}$/;
/**
 * A record with more unacknowledged calls than this is damaged (our choice): no message brings more outcomes
 * (protocol/decode.ts).
 */
const UNACKNOWLEDGED_MAX = 10_000;
/**
 * The outcomes of this many clients of an identity are stored, besides the outcomes of the clients in use (our choice).
 */
const CLIENTS_WITH_OUTCOMES_MAX = 32;
const DAY_MS = 24 * 60 * 60 * 1000;
/** An outcome has at most this many bytes more than its value or error. */
const OUTCOME_FRAME_BYTES = 256;

const TABLES = `
  CREATE TABLE IF NOT EXISTS _follow_client (
    name TEXT PRIMARY KEY, identity TEXT NOT NULL,
    started INTEGER NOT NULL, last INTEGER NOT NULL, acked INTEGER NOT NULL, attempts INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS _follow_outcome (
    client TEXT NOT NULL, n INTEGER NOT NULL, outcome BLOB NOT NULL, PRIMARY KEY (client, n)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS _follow_lost (identity TEXT PRIMARY KEY) WITHOUT ROWID;`;
/**
 * Columns of protocol 2, which objects of protocol 1 lack. `seen` is a time in milliseconds, which may lag the last
 * connection by a day.
 */
const LATER_COLUMNS = ['mark', 'seen'];
const HAS_COLUMN = "SELECT 1 FROM pragma_table_info('_follow_client') WHERE name = ?";
const INDEX = 'CREATE INDEX IF NOT EXISTS _follow_client_identity ON _follow_client (identity)';

const CLIENT = 'name, identity, started, last, acked, attempts, mark, seen';
const NEW_CLIENT = `INSERT INTO _follow_client (${CLIENT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
const SEE = 'UPDATE _follow_client SET seen = ?1 WHERE name = ?2 AND ifnull(seen, 0) <= ?1 - ?3';
const COUNT = 'SELECT count(*) AS count FROM _follow_client WHERE identity = ?';
/** Selects the clients of an identity that are not in a list, which is bound as JSON. */
const UNUSED =
  'FROM _follow_client WHERE identity = ? AND name NOT IN (SELECT value FROM json_each(?))';
const OLDEST = `SELECT name, started IS NOT acked AS isLost ${UNUSED} ORDER BY isLost, seen, name LIMIT 1`;
const DELETE_OUTCOMES = `DELETE FROM _follow_outcome WHERE client IN (
  SELECT name ${UNUSED} AND started IS NOT acked ORDER BY seen DESC, name LIMIT -1 OFFSET ?)`;
const SET_CLIENT =
  'UPDATE _follow_client SET started = ?, last = ?, acked = ?, attempts = ?, mark = ? WHERE name = ?';
const NEW_OUTCOME = 'INSERT OR REPLACE INTO _follow_outcome VALUES (?, ?, ?)';
/** Selects the outcomes of a client's calls after one number and up to another. */
const OUTCOMES = 'FROM _follow_outcome WHERE client = ? AND n > ? AND n <= ? ORDER BY n';

const DAMAGED: KnownClient = { identity: null, record: null };

type Row = Record<string, SqlStorageValue>;
/** The numbers of a record, which are columns of its row. */
type Progress = Omit<ClientRecord, 'outcomeBytes'>;

export class ClientRecords {
  readonly #exec: DurableObjectStorage['sql']['exec'];
  readonly #now: () => number;

  /**
   * Must be made before anything else wraps the storage's methods. `onDeleted` is called by `deleteAll` once the
   * outcomes are gone, and returns the mark to which the identity of a client is changed.
   */
  constructor(
    storage: DurableObjectStorage,
    now: () => number,
    onDeleted: () => (stored: string) => string,
  ) {
    this.#now = now;
    this.#exec = storage.sql.exec.bind(storage.sql);
    this.#createTables();
    const deleteAll = storage.deleteAll.bind(storage);
    const deleteAllButClients: typeof deleteAll = (...options) => {
      const clients = this.#values(`SELECT ${CLIENT} FROM _follow_client`);
      const lost = this.#values('SELECT identity FROM _follow_lost');
      // `deleteAll` has deleted everything when it returns; its promise waits for durability.
      const deleted = deleteAll(...options);
      this.#createTables();
      const markOf = onDeleted();
      // A name that is not valid may be read as that of another row, and can never be used.
      for (const [name, identity, ...numbers] of clients) {
        if (!isClientName(name)) continue;
        this.#exec(NEW_CLIENT, name, markOf(String(identity)), ...numbers);
      }
      for (const [identity] of lost) this.#noteLost(markOf(String(identity)));
      return deleted;
    };
    Object.defineProperty(storage, 'deleteAll', { value: deleteAllButClients, configurable: true });
  }

  /** Returns the client of a name; null if the name is unused, so that a client with this name can be added. */
  get(name: string): KnownClient | null {
    if (!isClientName(name)) return DAMAGED;
    const [row] = this.#rows('SELECT * FROM _follow_client WHERE name = ?', name);
    return row === undefined ? null : this.#clientFrom(row);
  }

  /** Returns the records of the clients with a call that was begun and not answered. Damaged clients are omitted. */
  recordsWithUnansweredCall(): ReadonlyMap<string, ClientRecord> {
    const records = new Map<string, ClientRecord>();
    for (const row of this.#rows('SELECT * FROM _follow_client WHERE started > last')) {
      if (!isClientName(row.name)) continue;
      const { record } = this.#clientFrom(row);
      if (record !== null) records.set(row.name, record);
    }
    return records;
  }

  /**
   * Returns the stored outcomes of a client's calls after number `told`, up to number `last`, and their size. Lost
   * outcomes are omitted.
   */
  outcomes({ client, told, last }: ClientAnswers): StoredOutcomes {
    const outcomes: NumberedOutcome[] = [];
    let bytes = 0;
    for (const { n, outcome } of this.#rows(`SELECT n, outcome ${OUTCOMES}`, client, told, last)) {
      const found = isCount(n) ? outcomeFrom(outcome!) : null;
      if (found === null) continue;
      outcomes.push([Number(n), found]);
      bytes += (outcome as ArrayBuffer).byteLength;
    }
    return { outcomes, bytes };
  }

  /**
   * Adds the client of a hello. From now on its name belongs to the identity with this mark. If the identity then has
   * too many clients, others that are not in use are removed. Returns the reason to refuse the client; null if it was
   * added.
   */
  admit(
    { client, ack, position, copy }: HelloMessage,
    identity: string,
    clientsMax: number,
    inUse: Iterable<string>,
  ): 'CLIENT_REMOVED' | 'TOO_MANY_FOLLOWERS' | null {
    const isNew = ack === 0 && position === null && copy === null;
    if (!isNew && this.#hasLost(identity)) return 'CLIENT_REMOVED';
    if (!this.#makeRoom(identity, clientsMax, inUse)) return 'TOO_MANY_FOLLOWERS';
    this.#exec(NEW_CLIENT, client, identity, 0, 0, 0, 0, null, this.#now());
    return null;
  }

  /**
   * Notes that a client has connected. The time is written once a day, because a written row costs more than a late
   * removal.
   */
  see(name: string): void {
    this.#exec(SEE, this.#now(), name, DAY_MS);
  }

  /** Returns false if so many clients are in use that there is no room for one more. */
  #makeRoom(identity: string, clientsMax: number, inUse: Iterable<string>): boolean {
    let count = Number(this.#rows(COUNT, identity)[0]!.count);
    if (count < Math.min(clientsMax, CLIENTS_WITH_OUTCOMES_MAX)) return true;
    const used = JSON.stringify([...inUse]);
    for (; count >= clientsMax; count--) {
      const [oldest] = this.#rows(OLDEST, identity, used);
      if (oldest === undefined) return false;
      if (oldest.isLost === 1) this.#noteLost(identity);
      this.#exec('DELETE FROM _follow_outcome WHERE client = ?', oldest.name!);
      this.#exec('DELETE FROM _follow_client WHERE name = ?', oldest.name!);
    }
    this.#exec(DELETE_OUTCOMES, identity, used, CLIENTS_WITH_OUTCOMES_MAX - 1);
    return true;
  }

  /** True if clients of the identity were removed whose calls could run twice. */
  #hasLost(identity: string): boolean {
    return this.#rows('SELECT 1 FROM _follow_lost WHERE identity = ?', identity).length > 0;
  }

  #noteLost(identity: string): void {
    this.#exec('INSERT OR IGNORE INTO _follow_lost VALUES (?)', identity);
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

  #createTables(): void {
    this.#exec(TABLES);
    for (const name of LATER_COLUMNS) {
      if (this.#rows(HAS_COLUMN, name).length > 0) continue;
      this.#exec(`ALTER TABLE _follow_client ADD COLUMN ${name} INTEGER`);
    }
    this.#exec(INDEX);
  }

  #clientFrom(row: Row): KnownClient {
    const { name, identity } = row;
    const progress = progressFrom(row);
    if (typeof identity !== 'string' || progress === null) return DAMAGED;
    const outcomeBytes = this.#outcomeBytes(String(name), progress);
    return { identity, record: { ...progress, outcomeBytes } };
  }

  /** Returns the sizes of a client's unacknowledged outcomes, in the order of their calls; 0 for one that is lost. */
  #outcomeBytes(name: string, { acked, last }: Progress): number[] {
    const sizes = new Array<number>(last - acked).fill(0);
    const rows = this.#rows(
      `SELECT n, CASE typeof(outcome) WHEN 'blob' THEN length(outcome) ELSE 0 END AS bytes ${OUTCOMES}`,
      ...[name, acked, last],
    );
    for (const { n, bytes } of rows) {
      if (isCount(n)) sizes[n - acked - 1] = Number(bytes);
    }
    return sizes;
  }

  #rows(query: string, ...bindings: SqlStorageValue[]): Row[] {
    return this.#exec(query, ...bindings).toArray() as Row[];
  }

  #values(query: string): SqlStorageValue[][] {
    return [...this.#exec(query).raw()] as SqlStorageValue[][];
  }
}

/** Returns the numbers of a client's row; null if they are not valid. */
function progressFrom({ started, last, acked, attempts, mark }: Row): Progress | null {
  if (!isCount(started) || !isCount(last) || !isCount(acked) || !isCount(attempts)) return null;
  // One call of a client runs at a time, so at most one is begun and not answered.
  const isInOrder = acked <= last && last <= started && started <= last + 1;
  const isValid = isInOrder && last - acked <= UNACKNOWLEDGED_MAX;
  const isMark = isCount(mark) && mark < 2 ** 32;
  return isValid ? { started, mark: isMark ? mark : null, last, acked, attempts } : null;
}

function outcomeFrom(stored: SqlStorageValue): FollowedOutcome | null {
  if (!(stored instanceof ArrayBuffer)) return null;
  if (stored.byteLength > OUTCOME_BYTES_MAX + OUTCOME_FRAME_BYTES) return null;
  let value: unknown;
  try {
    value = deserialize(new Uint8Array(stored));
  } catch {
    return null;
  }
  return isOutcome(value) ? value : null;
}

function isOutcome(value: unknown): value is FollowedOutcome {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, code } = value as { readonly kind?: unknown; readonly code?: unknown };
  if (kind === 'failed') return CALL_FAILURES.some((known) => known === code);
  return kind === 'value' || kind === 'error';
}

function isClientName(value: unknown): value is string {
  return typeof value === 'string' && CLIENT_NAME.test(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
