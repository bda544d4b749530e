// One session of a page: a handle that a page holds on an object, with the calls made through the handle.
//
// A batch of calls is one event of the object. A session outlives resets of its object; its cursors and its open
// transaction do not. A session has one transaction at a time. The session's calls join that transaction, and calls of
// other sessions wait for its end.
//
// Invariant: a closed session holds nothing. Calls that were sent before it closed still run, because their writes may
// be on their way to the disk anyway, but open neither a transaction nor a cursor. After the page has given up, calls
// that have not begun do not run. No assertion keeps this: pages end at any moment, so late calls are no defect.
//
// Does not know which instance of the object runs a batch (page-sessions.ts).

import { eachOf } from '../../../src/shared/contract/arguments.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { addressKey, type ObjectAddress } from '../../../src/shared/contract/object-id.ts';
import { type Outcome, toWire } from '../../../src/shared/wire/errors-on-wire.ts';
import {
  type AnyOperation,
  type Call,
  type CallOf,
  OPERATIONS,
  type OperationBy,
  type OperationName,
  type Performed,
} from '../../../src/shared/wire/operations.ts';
import { type Annotation, annotationOf } from '../../engine/log/annotation.ts';
import type { Comparison } from '../../engine/storage/comparison.ts';
import type { Moment } from '../../engine/storage/moment.ts';
import type { ObjectStorage } from '../../engine/storage/object-storage.ts';
import { performAt, performerOf, type StorageOperation } from '../../engine/storage/perform.ts';
import type { Branches } from '../host/branches.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';
import type { Cancellation } from '../io/cancellation.ts';
import { type NamedState, PageBranches } from './page-branches.ts';
import { PageCursors } from './page-cursors.ts';
import { PageStates } from './page-states.ts';
import { type After, endedTransaction, PageTransaction } from './page-transaction.ts';

const MOMENT_CLOSED =
  'The earlier moment was closed: its handle was, its object was reset, or it made room for others.';
const DIFF_CLOSED =
  'The compared states were closed: the object was reset, or they made room for others.';

export interface SessionEnvironment {
  /** Returns a number for a cursor that was never used before. */
  readonly nextId: () => number;
  /** Runs the task after the delay in real time; the result cancels it. */
  readonly after: After;
  readonly branches: Branches;
}

/** The calls of one message, which are one event of the object. */
export interface Batch {
  readonly calls: readonly Call[];
  /** The cancellation of each call, by the call's index; undefined or missing for a call that cannot be cancelled. */
  readonly flagged: readonly (Cancellation | undefined)[];
  /** True once the event has begun, so that it may have had an effect. */
  hasBegun: boolean;
}

type Result = Performed<Call['op']>;

export class PageSession {
  readonly address: ObjectAddress;
  /** The key of the session's object in the host. */
  readonly key: string;
  readonly #author: Annotation;
  /** The session's author with the label that was used last. */
  #labelled: Annotation;
  readonly #environment: SessionEnvironment;
  readonly cursors: PageCursors;
  readonly moments: PageStates<Moment>;
  readonly diffs: PageStates<Comparison>;
  readonly branches: PageBranches;
  /** The transaction that opened last. */
  #transaction: PageTransaction | undefined;
  /** The transaction that the page has requested last. Its calls may arrive before it is open. */
  #asked: PageTransaction | undefined;
  #isClosed = false;
  /** True if the page has given up: calls that have not begun are not made. */
  #isGivenUp = false;

  /** `connection` is the name that the history gives to the connection of the session's commits. */
  constructor(
    address: ObjectAddress,
    environment: SessionEnvironment,
    connection: string | undefined,
  ) {
    this.address = address;
    this.key = addressKey(address);
    this.#author = annotationOf({ kind: 'storage', ...(connection && { connection }) });
    this.#labelled = this.#author;
    this.#environment = environment;
    this.cursors = new PageCursors(environment.nextId);
    this.moments = new PageStates(environment.nextId, MOMENT_CLOSED);
    this.diffs = new PageStates(environment.nextId, DIFF_CLOSED);
    this.branches = new PageBranches(environment.branches);
  }

  /** Returns the author that the commits of a call name. */
  authorOf({ label }: Call): Annotation {
    if (label === undefined) return this.#author;
    if (this.#labelled.by.label !== label) {
      this.#labelled = annotationOf({ ...this.#author.by, label });
    }
    return this.#labelled;
  }

  /** True while the page holds a transaction open. */
  get inTransaction(): boolean {
    return this.#transaction?.isOpen === true;
  }

  /**
   * Runs the calls as one event of the instance: one after the other in one task, with nothing in
   * between. Only the end of a transaction delays the calls after it. The outcomes come at once if
   * nothing has to wait, because each promise on the way costs as much as a read.
   */
  execute(instance: ObjectInstance, batch: Batch): Outcome[] | Promise<Outcome[]> {
    const { calls } = batch;
    const [first] = calls;
    if (first?.op === 'begin') {
      this.#asked = new PageTransaction(first.number, instance, this.#environment.after);
    }
    const asked = this.#asked;
    // This includes calls that belong to no transaction, such as `at`, because the closure may wait for them.
    if (asked?.isWaiting && first?.op !== 'begin') {
      return this.#executeAdmitted(asked, instance, batch);
    }
    return this.#deliver(instance, batch);
  }

  /** Closes the cursors and undoes the open transaction; resolves when that is done. */
  async close(isGivenUp: boolean): Promise<void> {
    this.#isClosed = true;
    this.#isGivenUp = isGivenUp;
    this.cursors.close();
    this.moments.close();
    this.diffs.close();
    this.branches.close();
    const transaction = this.#transaction;
    if (!transaction?.isOpen) return;
    await transaction.instance
      .deliver(() => void transaction.rollback(), transaction.section)
      .catch(() => {}); // The transaction has ended, or the object was reset, so nothing is left to undo.
  }

  async #executeAdmitted(
    asked: PageTransaction,
    instance: ObjectInstance,
    batch: Batch,
  ): Promise<Outcome[]> {
    await asked.admitted;
    const { calls } = batch;
    // Calls of a refused transaction do not wait for other transactions.
    if (!asked.isOpen && calls.every(({ txn }) => txn === asked.id)) {
      return calls.map(() => refusal(asked));
    }
    return this.#deliver(instance, batch);
  }

  #deliver(instance: ObjectInstance, batch: Batch): Outcome[] | Promise<Outcome[]> {
    const section = this.#transaction?.section ?? null;
    if (batch.calls.some(isBoundary)) {
      return instance.deliver(() => this.#runInOrder(instance, batch), section);
    }
    const run = () => this.#run(instance, batch);
    return batch.flagged.length > 0
      ? instance.deliver(run, section)
      : instance.deliverNow(run, section);
  }

  #run(instance: ObjectInstance, batch: Batch): Outcome[] | Promise<Outcome[]> {
    this.#begins(batch);
    let isComplete = true;
    const outcomes = eachOf(batch.calls, (call, i) => {
      const outcome = this.#outcomeOf(instance, call, batch.flagged[i]);
      if (outcome instanceof Promise) isComplete = false;
      return outcome;
    });
    return isComplete ? (outcomes as Outcome[]) : Promise.all(outcomes);
  }

  async #runInOrder(instance: ObjectInstance, batch: Batch): Promise<Outcome[]> {
    this.#begins(batch);
    const { calls, flagged } = batch;
    const outcomes: (Outcome | Promise<Outcome>)[] = [];
    for (const [i, call] of calls.entries()) {
      const outcome = this.#outcomeOf(instance, call, flagged[i]);
      outcomes.push(isBoundary(call) ? await outcome : outcome);
    }
    return Promise.all(outcomes);
  }

  #begins(batch: Batch): void {
    if (this.#isGivenUp) throw handleClosed();
    batch.hasBegun = true;
  }

  #outcomeOf(
    instance: ObjectInstance,
    call: Call,
    cancellation: Cancellation | undefined,
  ): Outcome | Promise<Outcome> {
    try {
      instance.context.nextOperation(this.authorOf(call), instance.handlePolicy);
      const result = this.#perform(instance, call, cancellation);
      return result instanceof Promise ? outcome(result) : { ok: result };
    } catch (error) {
      return { error: toWire(error) };
    }
  }

  /** Performs one call. @throws CANCELLED, TRANSACTION_ENDED, and the errors of the operation */
  #perform(instance: ObjectInstance, call: Call, cancellation: Cancellation | undefined): Result {
    const { context } = instance;
    if (call.op !== 'begin') cancellation?.check(); // `begin` tells the calls that wait for it, too
    if (call.txn !== undefined) this.transactionOf(call.txn).mustBeOpen();
    if (cancellation !== undefined) context.workFor(cancellation);
    try {
      if (call.moment !== undefined) return this.#performAt(instance, call, call.moment);
      return ROWS.get(call.op)!.perform(this, instance, call as never, cancellation);
    } finally {
      if (cancellation !== undefined) context.workFor(undefined);
    }
  }

  #performAt(instance: ObjectInstance, call: Call, id: number): Result {
    const moment = this.moments.get(id);
    if (call.op !== 'exec') return performAt(moment, call);
    const cursor = moment.exec(call.query, call.bindings);
    return this.cursors.first(instance, cursor, call.rowCount, moment);
  }

  /** Opens the transaction that the page asked for. @throws TRANSACTION_NESTING, CONNECTION_CLOSED, CANCELLED */
  async begin(id: number, cancellation?: Cancellation): Promise<number> {
    const transaction = this.transactionOf(id);
    try {
      cancellation?.check();
      await transaction.open(() => {
        this.#mustBeginAlone();
        cancellation?.check();
        this.#transaction = transaction;
      });
      return transaction.id;
    } catch (error) {
      transaction.refuse(error);
      throw error;
    }
  }

  // Checked when the transaction begins, because the handle may have been closed, or its tab lost,
  // while it waited, and an open transaction makes everyone else wait.
  #mustBeginAlone(): void {
    if (this.#isClosed) throw handleClosed();
    if (!this.inTransaction) return;
    throw storageError(
      'TRANSACTION_NESTING',
      'begin: this handle has an open transaction; end it first.',
    );
  }

  transactionOf(id: number): PageTransaction {
    const transaction = [this.#transaction, this.#asked].find((known) => known?.id === id);
    if (transaction === undefined) throw endedTransaction();
    return transaction;
  }
}

/** Performs each operation by a session, once its call was admitted. */
const SESSION_OPERATIONS: {
  readonly [Op in OperationBy<'session'>]: (
    session: PageSession,
    instance: ObjectInstance,
    call: CallOf<Op>,
    cancellation: Cancellation | undefined,
  ) => Performed<Op>;
} = {
  exec: (session, instance, call) =>
    session.cursors.first(
      instance,
      instance.storage.exec(call.query, call.bindings),
      call.rowCount,
    ),
  rows: (session, _instance, call) => session.cursors.next(call.cursor, call.rowCount),
  closeCursor(session, _instance, call) {
    session.cursors.end(call.cursor);
    return null;
  },
  begin: (session, _instance, call, cancellation) => session.begin(call.number, cancellation),
  commit: (session, _instance, call) => session.transactionOf(call.txn).commit().then(nothing),
  rollback: (session, _instance, call) => session.transactionOf(call.txn).rollback().then(nothing),
  async openMoment(session, instance, call) {
    const at = call.bookmark ?? call.timeMs;
    if (at === null) throw storageError('INVALID_ARGUMENT', 'at: takes a bookmark or a time.');
    const moment = await instance.storage.past.open(at);
    return { moment: session.moments.add(moment), bookmark: moment.bookmark };
  },
  closeMoment(session, _instance, call) {
    session.moments.end(call.id);
    return null;
  },
  async openDiff(session, instance, call) {
    const { past } = instance.storage;
    const before =
      call.from === null
        ? { opened: past.beginning, name: null }
        : await session.branches.openState(instance, call.from);
    let comparison: Comparison;
    let after: NamedState;
    try {
      after = await session.branches.openState(instance, call.to);
      comparison = await past.compareStates(before.opened, after.opened);
    } catch (error) {
      before.opened.close();
      throw error;
    }
    comparison.skip(call.skip);
    return { diff: session.diffs.add(comparison), from: before.name, to: after.name };
  },
  nextChanges: (session, _instance, call) => session.diffs.get(call.diff).next(),
  countChanges: (session, _instance, call) => session.diffs.get(call.diff).count(),
  closeDiff(session, _instance, call) {
    session.diffs.end(call.diff);
    return null;
  },
  fork: (session, instance, call) => session.branches.fork(instance, call),
  branches: (session, instance) => session.branches.list(instance),
  deleteBranch: (session, instance, call) => session.branches.delete(instance, call.name),
  abort(_session, instance, call) {
    const error = storageError('OBJECT_RESET', call.reason ?? 'The object was reset by its page.');
    instance.reset(error, 'outside');
    throw error;
  },
};

/** A row of the table of operations, for the calls of a session. */
interface Row {
  readonly isBoundary: boolean;
  readonly perform: (
    session: PageSession,
    instance: ObjectInstance,
    call: never,
    cancellation: Cancellation | undefined,
  ) => Result;
}

/**
 * All rows, in one shape, because reading a property of objects of many shapes takes a tenth of the time of a read. The
 * row of an operation by the host is never used: such a call is the only one of its message (`checkCalls`), and
 * PageSessions performs it.
 */
const ROWS: ReadonlyMap<OperationName, Row> = new Map(
  Object.entries<AnyOperation>(OPERATIONS).map(([op, { by, isBoundary = false }]) => {
    const performer: (storage: ObjectStorage, call: never) => Result = performerOf(
      op as StorageOperation,
    );
    const perform =
      by === 'session'
        ? SESSION_OPERATIONS[op as OperationBy<'session'>]
        : (_session: PageSession, { storage }: ObjectInstance, call: never) =>
            performer(storage, call);
    return [op as OperationName, { isBoundary, perform } as Row];
  }),
);

export function isBoundary({ op }: Call): boolean {
  return ROWS.get(op)!.isBoundary;
}

export function handleClosed(): Error {
  return storageError('CONNECTION_CLOSED', 'This handle was closed; open the object again.');
}

export async function outcome(result: Promise<unknown>): Promise<Outcome> {
  try {
    return { ok: await result };
  } catch (error) {
    return { error: toWire(error) };
  }
}

/** Returns the outcome of a call of a transaction that is not open. */
function refusal(transaction: PageTransaction): Outcome {
  try {
    transaction.mustBeOpen();
    return { ok: null };
  } catch (error) {
    return { error: toWire(error) };
  }
}

const nothing = () => null;
