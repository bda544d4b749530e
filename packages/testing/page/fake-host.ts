// A fake host for tests: its objects are maps. It implements the protocol, records the messages that it receives, and
// can delay its answers. Operations that no test observes return null.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { compareBytes } from '../../../src/shared/contract/key-order.ts';
import type { SqlStorageValue } from '../../../src/shared/contract/storage.ts';
import type { WireAddress } from '../../../src/shared/wire/address.ts';
import type { Notice, Notices } from '../../../src/shared/wire/control.ts';
import { type Outcome, toWire } from '../../../src/shared/wire/errors-on-wire.ts';
import type { Call, Results } from '../../../src/shared/wire/operations.ts';
import type { SessionId, StoragePeer } from '../../../src/shared/wire/protocol.ts';
import type { RowBatch } from '../../../src/shared/wire/results.ts';

/** The entries of the objects, by name. They exist longer than a host. */
export type Disk = Map<string, Map<string, Uint8Array>>;

interface Session {
  readonly name: string;
  readonly cursors: Map<number, SqlStorageValue[][]>;
  transaction: { readonly number: number; readonly before: Map<string, Uint8Array> } | null;
}

/** The id that every branch has. */
const BRANCH_ID = 'b'.repeat(32);

export class FakeHost implements StoragePeer {
  /** Every received message, in order. */
  readonly messages: (readonly Call[])[] = [];
  /** The flags of calls that a message has cancelled. */
  readonly cancelled: string[] = [];
  readonly sessions = new Map<SessionId, Session>();
  /** Resolves when a test calls `lose`. */
  readonly lost: Promise<Error>;
  lose: (error: Error) => void = () => {};
  readonly #listeners = new Set<(notice: Notice) => void>();
  readonly notices: Notices = {
    subscribe: (listener) => {
      this.#listeners.add(listener);
      return () => this.#listeners.delete(listener);
    },
  };
  /** Returns the stored bytes of a key. A test replaces it for keys that are not UTF-8. */
  keyBytes: (key: string) => Uint8Array = (key) => new TextEncoder().encode(key);
  readonly #disk: Disk;
  #lastNumber = 0;
  #gate: Promise<void> = Promise.resolve();

  constructor(disk: Disk) {
    this.#disk = disk;
    this.lost = new Promise((resolve) => {
      this.lose = resolve;
    });
  }

  /** Whether an event is running that no page has asked for. */
  isBusy = false;
  /** The reason why the host was ended; null while it runs. */
  ended: string | null = null;
  /** True once the host starts no more work of its own. */
  isResting = false;

  rest(): void {
    this.isResting = true;
  }

  get isQuiet(): boolean {
    return !this.isBusy && [...this.sessions.values()].every((session) => !session.transaction);
  }

  async end(fact: string): Promise<void> {
    this.ended = fact;
    for (const session of this.sessions.values()) {
      if (session.transaction) this.#disk.set(session.name, session.transaction.before);
      session.transaction = null;
    }
  }

  /** The names of all calls so far. */
  get operations(): string[] {
    return this.messages.flat().map(({ op }) => op);
  }

  /** From now on, calls take effect, but are answered only after the returned function is called. */
  holdAnswers(): () => void {
    let release = () => {};
    this.#gate = new Promise((resolve) => {
      release = resolve;
    });
    return release;
  }

  async open(target: string | WireAddress): Promise<Outcome<SessionId>> {
    const name = typeof target === 'string' ? target : `${target.className}.${target.id}`;
    if (name === 'corrupt') return { error: toWire(storageError('CORRUPT', 'open: torn.')) };
    const id = ++this.#lastNumber;
    this.sessions.set(id, { name, cursors: new Map(), transaction: null });
    return { ok: id };
  }

  /** Sends a notice to every page. */
  tell(notice: Notice): void {
    for (const listener of this.#listeners) listener(notice);
  }

  /** The number of connections that receive notices. */
  get listenerCount(): number {
    return this.#listeners.size;
  }

  async execute(id: SessionId, calls: readonly Call[]): Promise<Outcome[]> {
    this.messages.push(calls);
    const session = this.sessions.get(id)!;
    const outcomes = calls.map((call) => {
      try {
        return { ok: this.#perform(session, call) };
      } catch (error) {
        return { error: toWire(error) };
      }
    });
    await this.#gate;
    return outcomes;
  }

  async cancel(flags: readonly string[]): Promise<void> {
    this.cancelled.push(...flags);
  }

  async close(id: SessionId): Promise<void> {
    this.sessions.delete(id);
  }

  #perform(session: Session, call: Call): Results[Call['op']] {
    if (call.txn !== undefined && session.transaction?.number !== call.txn) {
      throw storageError('TRANSACTION_ENDED', 'The transaction has ended.');
    }
    const entries = this.#entries(session.name);
    switch (call.op) {
      case 'get':
        return call.keys.map((key) => entries.get(key)?.slice() ?? null);
      case 'put':
        for (const [key, value] of call.entries) entries.set(key, value);
        return null;
      case 'delete':
        return call.keys.filter((key) => entries.delete(key)).length;
      case 'list': {
        const { start, end, limit, reverse } = call.range;
        const inRange = [...entries]
          .map(([key, value]) => ({ bytes: this.keyBytes(key), key, value }))
          .filter(({ bytes }) => compareBytes(bytes, start) >= 0)
          .filter(({ bytes }) => end === null || compareBytes(bytes, end) < 0)
          .sort((a, b) => compareBytes(a.bytes, b.bytes));
        if (reverse) inRange.reverse();
        return inRange
          .slice(0, limit ?? undefined)
          .map(({ key, value }): [string, Uint8Array] => [key, value.slice()]);
      }
      case 'exec':
        return this.#exec(session, call.query, call.bindings.length, call.rowCount);
      case 'rows':
        return this.#rows(session, call.cursor, call.rowCount);
      case 'closeCursor':
        session.cursors.delete(call.cursor);
        return null;
      case 'begin':
        session.transaction = { number: call.number, before: new Map(entries) };
        return session.transaction.number;
      case 'commit':
        session.transaction = null;
        return null;
      case 'rollback':
        this.#disk.set(session.name, session.transaction!.before);
        session.transaction = null;
        return null;
      case 'getAlarm':
        return null;
      case 'databaseSize':
        return 4096;
      case 'openMoment':
        return { moment: ++this.#lastNumber, bookmark: 'bookmark' };
      case 'getCurrentBookmark':
      case 'getBookmarkForTime':
      case 'onNextSessionRestoreBookmark':
      case 'restore':
        return 'bookmark';
      case 'cancelRestore':
        return false;
      case 'batch':
        return [];
      case 'fork': {
        const { name, isKept } = call;
        return { id: BRANCH_ID, name, bookmark: 'bookmark', createdMs: 0, isKept };
      }
      case 'revert':
      case 'merge':
      case 'mergeBranch':
        return { bookmark: null, conflicts: [], conflictCount: 0, branchBookmark: 'bookmark' };
      default:
        return null;
    }
  }

  // Executes `rows N`, which returns N rows of a number and its name; anything else is a syntax error.
  #exec(session: Session, query: string, bindingCount: number, rowCount: number): RowBatch {
    const count = /^rows (\d+)$/.exec(query)?.[1];
    if (count === undefined || bindingCount > 0) {
      throw storageError('SQL', `near "${query}": syntax error`);
    }
    const id = ++this.#lastNumber;
    const rows = Array.from({ length: Number(count) }, (_, i) => [i + 1, `row ${i + 1}`]);
    session.cursors.set(id, rows);
    return this.#rows(session, id, rowCount);
  }

  #rows(session: Session, id: number, rowCount: number): RowBatch {
    const left = session.cursors.get(id);
    if (left === undefined) throw storageError('CURSOR_CLOSED', 'The cursor was closed.');
    const rows = left.splice(0, rowCount);
    if (left.length === 0) session.cursors.delete(id);
    return {
      cursor: left.length === 0 ? null : id,
      columnNames: ['n', 'name'],
      rows,
      rowsRead: rows.length,
      rowsWritten: 0,
    };
  }

  #entries(name: string): Map<string, Uint8Array> {
    const entries = this.#disk.get(name) ?? new Map<string, Uint8Array>();
    this.#disk.set(name, entries);
    return entries;
  }
}
