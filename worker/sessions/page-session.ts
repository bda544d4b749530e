// One session: a handle that a page holds on an object, and the calls made through it.
//
// A session outlives resets of its object; its cursors and its open transaction do not. It has one
// transaction at a time. Its calls join that transaction, and calls of others wait for its end.
//
// Invariant: a closed session holds nothing. Calls that it sent before still run, because their writes
// may be on their way to the disk anyway, but open neither a transaction nor a cursor.

import { eachOf } from '../../src/contract/each-of.ts';
import { storageError } from '../../src/contract/errors.ts';
import type { ObjectAddress } from '../../src/contract/object-id.ts';
import type { Call, Results } from '../../src/contract/operations.ts';
import { type Outcome, toWire } from '../../src/rpc/errors-on-wire.ts';

import type { ObjectInstance } from '../instance/object-instance.ts';
import type { Cancellation } from '../io/cancellation.ts';
import { perform, performAt } from '../storage/perform.ts';
import { PageCursors } from './page-cursors.ts';
import { PageMoments } from './page-moments.ts';
import { type After, endedTransaction, PageTransaction } from './page-transaction.ts';

export interface SessionEnvironment {
  /** A number for a cursor, never used before. */
  readonly nextId: () => number;
  /** Runs the task after the delay in real time; the result cancels it. */
  readonly after: After;
}

/** Parallel to the calls of a message; undefined: the call cannot be cancelled. */
export type CallCancellations = readonly (Cancellation | undefined)[];

type Result = Results[Call['op']];

export class PageSession {
  readonly address: ObjectAddress;
  readonly #environment: SessionEnvironment;
  readonly #cursors: PageCursors;
  readonly #moments: PageMoments;
  /** The one that opened last. */
  #transaction: PageTransaction | undefined;
  /** The one that a page has asked for last: calls of it may arrive before it is open. */
  #asked: PageTransaction | undefined;
  #isClosed = false;

  constructor(address: ObjectAddress, environment: SessionEnvironment) {
    this.address = address;
    this.#environment = environment;
    this.#cursors = new PageCursors(environment.nextId);
    this.#moments = new PageMoments(environment.nextId);
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
  execute(
    instance: ObjectInstance,
    calls: readonly Call[],
    flagged: CallCancellations,
  ): Outcome[] | Promise<Outcome[]> {
    const [first] = calls;
    if (first?.op === 'begin') {
      this.#asked = new PageTransaction(first.number, instance, this.#environment.after);
    }
    const asked = this.#asked;
    if (asked?.isWaiting && calls.some(({ txn }) => txn === asked.id)) {
      return this.#executeAdmitted(asked, instance, calls, flagged);
    }
    return this.#deliver(instance, calls, flagged);
  }

  /** Closes the cursors and undoes the open transaction; resolves when that is done. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cursors.close();
    this.#moments.close();
    const transaction = this.#transaction;
    if (!transaction?.isOpen) return;
    await transaction.instance
      .deliver(() => void transaction.rollback(), transaction.section)
      .catch(() => {}); // it has ended meanwhile, or the object was reset: there is nothing to undo
  }

  async #executeAdmitted(
    asked: PageTransaction,
    instance: ObjectInstance,
    calls: readonly Call[],
    flagged: CallCancellations,
  ): Promise<Outcome[]> {
    await asked.admitted;
    // Those of one that was refused wait for nobody else's.
    if (!asked.isOpen && calls.every(({ txn }) => txn === asked.id)) {
      return calls.map(() => refusal(asked));
    }
    return this.#deliver(instance, calls, flagged);
  }

  #deliver(
    instance: ObjectInstance,
    calls: readonly Call[],
    flagged: CallCancellations,
  ): Outcome[] | Promise<Outcome[]> {
    const section = this.#transaction?.section ?? null;
    if (flagged.length === 0 && calls.every(isOfStorage)) {
      return instance.deliverNow(() => this.#runNow(instance, calls), section);
    }
    return instance.deliver(() => this.#run(instance, calls, flagged), section);
  }

  #runNow(instance: ObjectInstance, calls: readonly Call[]): Outcome[] | Promise<Outcome[]> {
    let isComplete = true;
    const outcomes = eachOf(calls, (call) => {
      const outcome = this.#outcomeOf(instance, call, undefined);
      if (outcome instanceof Promise) isComplete = false;
      return outcome;
    });
    return isComplete ? (outcomes as Outcome[]) : Promise.all(outcomes);
  }

  async #run(
    instance: ObjectInstance,
    calls: readonly Call[],
    flagged: CallCancellations,
  ): Promise<Outcome[]> {
    const outcomes: (Outcome | Promise<Outcome>)[] = [];
    for (const [i, call] of calls.entries()) {
      const outcome = this.#outcomeOf(instance, call, flagged[i]);
      const isEnd = call.op === 'commit' || call.op === 'rollback';
      outcomes.push(isEnd ? await outcome : outcome);
    }
    return Promise.all(outcomes);
  }

  #outcomeOf(
    instance: ObjectInstance,
    call: Call,
    cancellation: Cancellation | undefined,
  ): Outcome | Promise<Outcome> {
    try {
      const result = this.#performFor(instance, call, cancellation);
      return result instanceof Promise ? outcome(result) : { ok: result };
    } catch (error) {
      return { error: toWire(error) };
    }
  }

  #performFor(
    instance: ObjectInstance,
    call: Call,
    cancellation: Cancellation | undefined,
  ): Result | Promise<Result> {
    if (call.op === 'begin') return this.#begin(this.#transactionOf(call.number), cancellation);
    if (cancellation === undefined) return this.#perform(instance, call);
    cancellation.check();
    instance.context.workFor(cancellation);
    try {
      return this.#perform(instance, call);
    } finally {
      instance.context.workFor(undefined);
    }
  }

  #perform(instance: ObjectInstance, call: Call): Result | Promise<Result> {
    const { storage } = instance;
    const cursors = this.#cursors;
    if (call.txn !== undefined) this.#transactionOf(call.txn).mustBeOpen();
    if (call.moment !== undefined) {
      const moment = this.#moments.get(call.moment);
      if (call.op !== 'exec') return performAt(moment, call);
      return cursors.first(instance, moment.exec(call.query, call.bindings), call.rowCount, moment);
    }
    switch (call.op) {
      case 'exec':
        return cursors.first(instance, storage.exec(call.query, call.bindings), call.rowCount);
      case 'rows':
        return cursors.next(call.cursor, call.rowCount);
      case 'closeCursor':
        cursors.end(call.cursor);
        return null;
      case 'begin':
        throw storageError('INTERNAL', 'begin: it was sent together with other calls.');
      case 'commit':
        return this.#transactionOf(call.txn).commit().then(nothing);
      case 'rollback':
        return this.#transactionOf(call.txn).rollback().then(nothing);
      case 'importDatabase':
        throw storageError('INTERNAL', 'importDatabase: it was sent together with other calls.');
      case 'openMoment':
        return this.#moments.open(instance, call);
      case 'closeMoment':
        this.#moments.end(call.id);
        return null;
      case 'abort':
        return resetFor(instance, call.reason);
      default:
        return perform(storage, call.op, call);
    }
  }

  async #begin(transaction: PageTransaction, cancellation?: Cancellation): Promise<number> {
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

  #transactionOf(id: number): PageTransaction {
    const transaction = [this.#transaction, this.#asked].find((known) => known?.id === id);
    if (transaction === undefined) throw endedTransaction();
    return transaction;
  }
}

/** False for what begins or ends a transaction, or the instance. */
function isOfStorage({ op }: Call): boolean {
  return op !== 'begin' && op !== 'commit' && op !== 'rollback' && op !== 'abort';
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

/** The outcome of a call of a transaction that is not open. */
function refusal(transaction: PageTransaction): Outcome {
  try {
    transaction.mustBeOpen();
    return { ok: null };
  } catch (error) {
    return { error: toWire(error) };
  }
}

const nothing = () => null;

/** Resets the object for a page; calls under way may be tried again. */
function resetFor(instance: ObjectInstance, reason: string | undefined): never {
  const error = storageError('OBJECT_RESET', reason ?? 'The object was reset by its page.');
  instance.reset(error, 'outside');
  throw error;
}
