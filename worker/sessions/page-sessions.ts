// The sessions of pages: the handles that pages hold on objects, and the calls that they make.
//
// A session outlives a reset of its object; its cursors and its open transaction do not. A
// transaction of a page is a critical section that lasts until the page commits: calls of the same
// session join it, calls of others wait, and it ends after 30 s.
//
// Invariant: a closed session holds nothing. Calls that it sent before still run, because their
// writes may be on their way to the disk anyway, but open neither a transaction nor a cursor.

import { storageError } from '../../src/contract/errors.ts';
import { CRITICAL_SECTION_MS_MAX } from '../../src/contract/limits.ts';
import { idOfStorage, type ObjectAddress } from '../../src/contract/object-id.ts';
import type { Call, CallOf, Results, RowBatch } from '../../src/contract/operations.ts';
import type { SqlStorageValue } from '../../src/contract/storage.ts';
import { type Outcome, toWire } from '../../src/rpc/errors-on-wire.ts';
import type { WireAddress } from '../../src/rpc/object-protocol.ts';
import type { SessionId, StoragePeer } from '../../src/rpc/protocol.ts';
import { fromWireAddress } from '../../src/stubs/wire-address.ts';

import type { ObjectHost } from '../host/object-host.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';
import type { CriticalSection } from '../io/critical-section.ts';
import { Cursor } from '../sql/cursor.ts';
import { perform } from '../storage/perform.ts';
import type { Frame } from '../storage/transactions.ts';

/** A transaction that a page holds open. */
interface OpenTransaction {
  readonly id: number;
  readonly frame: Frame;
  readonly section: CriticalSection | null;
  /** Ends the section, and commits the frame unless it was rolled back. */
  readonly end: () => void;
  /** Settles when the transaction has ended. */
  readonly ended: Promise<void>;
}

/** An open cursor; the object stays in memory for it. */
interface OpenCursor {
  readonly cursor: Cursor;
  readonly release: () => void;
}

interface Session {
  readonly address: ObjectAddress;
  /** The instance that the cursors and the transaction belong to. */
  instance: ObjectInstance | undefined;
  cursors: Map<number, OpenCursor>;
  transaction: OpenTransaction | undefined;
  /** The last transaction that ended without the page's doing, and why. */
  lost: { readonly id: number; readonly error: Error } | undefined;
  /** True once closed: the page can neither continue nor end anything that begins now. */
  isClosed: boolean;
}

/** A result that later calls of the same batch must wait for. */
class Barrier {
  readonly result: Promise<unknown>;
  constructor(result: Promise<unknown>) {
    this.result = result;
  }
}

export class PageSessions implements StoragePeer {
  readonly #host: ObjectHost;
  readonly #after: (delayMs: number, task: () => void) => () => void;
  readonly #sessions = new Map<SessionId, Session>();
  #nextId = 1;

  constructor(host: ObjectHost, after: (delayMs: number, task: () => void) => () => void) {
    this.#host = host;
    this.#after = after;
  }

  async open(target: string | WireAddress): Promise<Outcome<SessionId>> {
    let address: ObjectAddress;
    try {
      address =
        typeof target === 'string'
          ? { className: null, id: idOfStorage(target) }
          : fromWireAddress(target);
      await this.#host.instance(address);
    } catch (error) {
      return { error: toWire(error) };
    }
    const id = this.#nextId++;
    this.#sessions.set(id, {
      address,
      instance: undefined,
      cursors: new Map(),
      transaction: undefined,
      lost: undefined,
      isClosed: false,
    });
    return { ok: id };
  }

  async execute(id: SessionId, calls: readonly Call[]): Promise<Outcome[]> {
    const session = this.#sessions.get(id);
    if (session === undefined) {
      const closed = toWire(handleClosed());
      return calls.map(() => ({ error: closed }));
    }
    const [first] = calls;
    if (first?.op === 'importDatabase') return [await outcome(this.#import(session, first))];
    try {
      const instance = await this.#host.instance(session.address);
      if (session.instance !== instance) begin(session, instance);
      const section = session.transaction?.section ?? null;
      return await instance.deliver(() => this.#run(session, instance, calls), section);
    } catch (error) {
      const wire = toWire(error);
      // For `abort` the reset is the success; unconfirmed earlier calls are lost.
      return calls.map((call) => (call.op === 'abort' ? { ok: null } : { error: wire }));
    }
  }

  async close(id: SessionId): Promise<void> {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    this.#sessions.delete(id);
    session.isClosed = true;
    for (const id of session.cursors.keys()) this.#closeCursor(session, id);
    const { transaction, instance } = session;
    if (transaction === undefined || instance === undefined) return;
    await instance
      .deliver(() => this.#rollback(session, instance, transaction.id), transaction.section)
      .catch(() => {}); // the object was reset meanwhile, so there is nothing to undo
  }

  // Calls run one after the other in one task, with nothing in between. Only the end of a
  // transaction delays the calls after it.
  async #run(
    session: Session,
    instance: ObjectInstance,
    calls: readonly Call[],
  ): Promise<Outcome[]> {
    const outcomes: (Outcome | Promise<Outcome>)[] = [];
    for (const call of calls) {
      try {
        const result = this.#perform(session, instance, call);
        if (result instanceof Barrier) outcomes.push(await outcome(result.result));
        else outcomes.push(result instanceof Promise ? outcome(result) : { ok: result });
      } catch (error) {
        outcomes.push({ error: toWire(error) });
      }
    }
    return Promise.all(outcomes);
  }

  #perform(
    session: Session,
    instance: ObjectInstance,
    call: Call,
  ): Results[Call['op']] | Promise<unknown> | Barrier | undefined {
    const { storage } = instance;
    if (call.txn !== undefined) mustBeOpen(session, call.txn);
    switch (call.op) {
      case 'exec':
        return this.#open(
          session,
          instance,
          storage.exec(call.query, call.bindings),
          call.rowCount,
        );
      case 'rows': {
        const open = session.cursors.get(call.cursor);
        if (open === undefined) {
          throw storageError(
            'CURSOR_CLOSED',
            'The cursor was closed, or its object was reset; run the query again.',
          );
        }
        return this.#continue(session, open.cursor, call.cursor, call.rowCount);
      }
      case 'closeCursor':
        return this.#closeCursor(session, call.cursor);
      case 'begin':
        return this.#begin(session, instance);
      case 'commit':
        return this.#commit(session, call.txn);
      case 'rollback':
        return this.#rollback(session, instance, call.txn);
      case 'importDatabase':
        throw storageError('INTERNAL', 'importDatabase: it was sent together with other calls.');
      case 'abort':
        return resetFor(instance, call.reason);
      default:
        return perform(storage, call.op, call);
    }
  }

  // Not an event of the instance, because it ends the instance.
  async #import(session: Session, { database, wal }: CallOf<'importDatabase'>): Promise<string> {
    if (session.transaction !== undefined) {
      throw storageError(
        'TRANSACTION_NESTING',
        'importDatabase: not inside transaction(); call it before or after.',
      );
    }
    return await this.#host.importDatabase(session.address, database, wal);
  }

  #open(session: Session, instance: ObjectInstance, cursor: Cursor, rowCount: number): RowBatch {
    const { rows, isAtEnd } = take(cursor, rowCount);
    if (session.isClosed) Cursor.close(cursor);
    if (isAtEnd || session.isClosed) return batch(cursor, null, rows);
    const id = this.#nextId++;
    session.cursors.set(id, { cursor, release: instance.retain() });
    return batch(cursor, id, rows);
  }

  #continue(session: Session, cursor: Cursor, id: number, rowCount: number): RowBatch {
    let isAtEnd = true; // also if a row cannot be computed, since no row follows it
    try {
      const taken = take(cursor, rowCount);
      isAtEnd = taken.isAtEnd;
      return batch(cursor, isAtEnd ? null : id, taken.rows);
    } finally {
      if (isAtEnd) this.#closeCursor(session, id);
    }
  }

  #closeCursor(session: Session, id: number): null {
    const open = session.cursors.get(id);
    if (open === undefined) return null;
    session.cursors.delete(id);
    Cursor.close(open.cursor);
    open.release();
    return null;
  }

  #begin(session: Session, instance: ObjectInstance): Promise<number> {
    return new Promise((started, refused) => {
      const id = this.#nextId++;
      let cancelTimeout = () => {};
      const ended = instance.storage
        .transaction(
          (frame) =>
            new Promise<void>((end) => {
              mustBeginAlone(session);
              const section = instance.currentSection;
              session.transaction = { id, frame, section, end, ended: settled };
              cancelTimeout = this.#after(CRITICAL_SECTION_MS_MAX - 1000, () =>
                this.#timeout(session, instance, id),
              );
              started(id);
            }),
        )
        .finally(() => cancelTimeout());
      instance.keepAlive(ended);
      const settled = ended.then(() => {});
      settled.catch(refused); // does nothing after `started`; commit returns the error
    });
  }

  #commit(session: Session, id: number): Barrier {
    const { end, ended } = mustBeOpen(session, id);
    session.transaction = undefined;
    end();
    return new Barrier(ended.then(() => null));
  }

  #rollback(session: Session, instance: ObjectInstance, id: number): Barrier {
    const { frame, end, ended } = mustBeOpen(session, id);
    instance.storage.rollback(frame);
    session.transaction = undefined;
    end();
    return new Barrier(ended.then(() => null));
  }

  #timeout(session: Session, instance: ObjectInstance, id: number): void {
    if (session.transaction?.id !== id || instance.hasEnded) return;
    this.#rollback(session, instance, id);
    session.lost = {
      id,
      error: storageError(
        'TRANSACTION_TIMEOUT',
        'The transaction was open for 30 s and was rolled back; do slow work outside of it.',
      ),
    };
  }
}

function take(cursor: Cursor, rowCount: number) {
  const iterator = cursor.raw();
  const rows: SqlStorageValue[][] = [];
  while (rows.length < rowCount) {
    const step = iterator.next();
    if (step.done) return { rows, isAtEnd: true };
    rows.push(step.value);
  }
  return { rows, isAtEnd: false };
}

function batch(cursor: Cursor, id: number | null, rows: SqlStorageValue[][]): RowBatch {
  const { columnNames, rowsRead, rowsWritten } = cursor;
  return { cursor: id, columnNames, rows, rowsRead, rowsWritten };
}

// The session's previous instance has ended, and with it the session's cursors and transaction.
function begin(session: Session, instance: ObjectInstance): void {
  if (session.transaction !== undefined) {
    const error = storageError(
      'OBJECT_RESET',
      'The object was reset, which ended the transaction; start a new one.',
    );
    session.lost = { id: session.transaction.id, error };
  }
  session.instance = instance;
  session.cursors = new Map();
  session.transaction = undefined;
}

// Checked when the transaction begins, because the handle may have been closed, or its tab lost,
// while it waited, and an open transaction makes everyone else wait.
function mustBeginAlone({ isClosed, transaction }: Session): void {
  if (isClosed) throw handleClosed();
  if (transaction === undefined) return;
  throw storageError(
    'TRANSACTION_NESTING',
    'begin: this handle has an open transaction; end it first.',
  );
}

function handleClosed(): Error {
  return storageError('CONNECTION_CLOSED', 'This handle was closed; open the object again.');
}

function mustBeOpen(session: Session, id: number): OpenTransaction {
  if (session.transaction?.id === id) return session.transaction;
  if (session.lost?.id === id) throw session.lost.error;
  throw storageError(
    'TRANSACTION_ENDED',
    'The transaction was committed or rolled back; start a new one.',
  );
}

async function outcome(result: Promise<unknown>): Promise<Outcome> {
  try {
    return { ok: await result };
  } catch (error) {
    return { error: toWire(error) };
  }
}

/** Resets the object for a page; calls under way may be tried again. */
function resetFor(instance: ObjectInstance, reason: string | undefined): never {
  const error = storageError('OBJECT_RESET', reason ?? 'The object was reset by its page.');
  instance.reset(error, 'outside');
  throw error;
}
