// The sessions of a page, by the numbers that the protocol gives them. A session is a handle that a page holds on
// an object, with the calls made through it.
//
// A batch of calls is one event of the object. Importing a database and restoring are not, because they end the
// instance: the host does them between two instances. Merging a branch is not, because the branch is opened first.
//
// A session outlives resets of its object; its cursors and its open transaction do not. It has one
// transaction at a time. Its calls join that transaction, and calls of others wait for its end.
//
// Invariant: a closed session holds nothing. Calls that it sent before still run, because their writes
// may be on their way to the disk anyway, but open neither a transaction nor a cursor. After the page has given
// up, those that have not begun do not run.

import { fromWireAddress } from '../../../src/shared/calls/stubs/wire-address.ts';
import { eachOf, type StateName } from '../../../src/shared/contract/arguments.ts';
import { isStorageError, storageError } from '../../../src/shared/contract/errors.ts';
import { FOLLOWABLE } from '../../../src/shared/contract/followed.ts';
import {
  addressKey,
  branchAddress,
  idOfStorage,
  type ObjectAddress,
} from '../../../src/shared/contract/object-id.ts';
import type { WireAddress } from '../../../src/shared/wire/address.ts';
import { type Outcome, toWire } from '../../../src/shared/wire/errors-on-wire.ts';
import type {
  Call,
  CallOf,
  OpenedDiff,
  OpenedMoment,
  Results,
} from '../../../src/shared/wire/operations.ts';
import type { SessionId, StorageService } from '../../../src/shared/wire/protocol.ts';
import { type Annotation, annotationOf } from '../../engine/log/annotation.ts';
import type { Comparison } from '../../engine/storage/comparison.ts';
import type { Moment } from '../../engine/storage/moment.ts';
import { perform, performAt } from '../../engine/storage/perform.ts';
import type { Branches } from '../host/branches.ts';
import type { ObjectHost } from '../host/object-host.ts';
import { isUnreadable } from '../host/replace-database.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';
import type { Cancellation } from '../io/cancellation.ts';
import { PageBranches } from './page-branches.ts';
import { PageCursors } from './page-cursors.ts';
import { PageStates } from './page-states.ts';
import { type After, endedTransaction, PageTransaction } from './page-transaction.ts';

const MOMENT_CLOSED =
  'The earlier moment was closed: its handle was, its object was reset, or it made room for others.';
const DIFF_CLOSED =
  'The compared states were closed: the object was reset, or they made room for others.';

interface SessionEnvironment {
  /** A number for a cursor, never used before. */
  readonly nextId: () => number;
  /** Runs the task after the delay in real time; the result cancels it. */
  readonly after: After;
  readonly branches: Branches;
}

/** The calls of one message, which are one event of the object. */
interface Batch {
  readonly calls: readonly Call[];
  /** Parallel to the calls; undefined, or missing: the call cannot be cancelled. */
  readonly flagged: readonly (Cancellation | undefined)[];
  /** The event has begun: from now on it may have had an effect. */
  hasBegun: boolean;
}

type Result = Results[Call['op']];

class PageSession {
  readonly address: ObjectAddress;
  /** Of its object, in the host. */
  readonly key: string;
  readonly #author: Annotation;
  /** The same author with the label that was used last. */
  #labelled: Annotation;
  readonly #environment: SessionEnvironment;
  readonly #cursors: PageCursors;
  readonly #moments: PageStates<Moment>;
  readonly #diffs: PageStates<Comparison>;
  readonly #branches: PageBranches;
  /** The transaction that opened last. */
  #transaction: PageTransaction | undefined;
  /** The transaction that a page has requested last: its calls may arrive before it is open. */
  #asked: PageTransaction | undefined;
  #isClosed = false;
  /** The page says of calls that have not begun that they are not made. */
  #isGivenUp = false;

  /** `connection`: what the history names as the connection of its commits. */
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
    this.#cursors = new PageCursors(environment.nextId);
    this.#moments = new PageStates(environment.nextId, MOMENT_CLOSED);
    this.#diffs = new PageStates(environment.nextId, DIFF_CLOSED);
    this.#branches = new PageBranches(environment.branches);
  }

  /** Who makes the commits of a call. */
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
      if (instance.isFollowed) return calls.map(() => ({ error: toWire(notNoted()) }));
      this.#asked = new PageTransaction(first.number, instance, this.#environment.after);
    }
    const asked = this.#asked;
    // Also calls that belong to no transaction, such as `at`: the closure may wait for them.
    if (asked?.isWaiting && first?.op !== 'begin') {
      return this.#executeAdmitted(asked, instance, batch);
    }
    return this.#deliver(instance, batch);
  }

  /** Closes the cursors and undoes the open transaction; resolves when that is done. */
  async close(isGivenUp: boolean): Promise<void> {
    this.#isClosed = true;
    this.#isGivenUp = isGivenUp;
    this.#cursors.close();
    this.#moments.close();
    this.#diffs.close();
    this.#branches.close();
    const transaction = this.#transaction;
    if (!transaction?.isOpen) return;
    await transaction.instance
      .deliver(() => void transaction.rollback(), transaction.section)
      .catch(() => {}); // it has ended meanwhile, or the object was reset: there is nothing to undo
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
    if (batch.flagged.length === 0 && batch.calls.every(isOfStorage)) {
      return instance.deliverNow(() => this.#runNow(instance, batch), section);
    }
    return instance.deliver(() => this.#run(instance, batch), section);
  }

  #runNow(instance: ObjectInstance, batch: Batch): Outcome[] | Promise<Outcome[]> {
    this.#begins(batch);
    let isComplete = true;
    const outcomes = eachOf(batch.calls, (call) => {
      const outcome = this.#outcomeOf(instance, call, undefined);
      if (outcome instanceof Promise) isComplete = false;
      return outcome;
    });
    return isComplete ? (outcomes as Outcome[]) : Promise.all(outcomes);
  }

  async #run(instance: ObjectInstance, batch: Batch): Promise<Outcome[]> {
    this.#begins(batch);
    const { calls, flagged } = batch;
    const outcomes: (Outcome | Promise<Outcome>)[] = [];
    for (const [i, call] of calls.entries()) {
      const outcome = this.#outcomeOf(instance, call, flagged[i]);
      const isEnd = call.op === 'commit' || call.op === 'rollback';
      outcomes.push(isEnd ? await outcome : outcome);
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
    instance.context.nextOperationAs(this.authorOf(call));
    if (instance.isFollowed) return this.#performReading(instance, call, cancellation);
    return this.#performAdmitted(instance, call, cancellation);
  }

  /** On an object with followers, which writes of a handle would not reach. @throws READ_ONLY */
  #performReading(
    instance: ObjectInstance,
    call: Call,
    cancellation: Cancellation | undefined,
  ): Result | Promise<Result> {
    if (call.op === 'revert' || call.op === 'merge') throw notNoted();
    const { accesses } = instance.storage;
    accesses.refusal = notNoted;
    try {
      return this.#performAdmitted(instance, call, cancellation);
    } finally {
      accesses.refusal = undefined;
    }
  }

  #performAdmitted(
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
      case 'restore':
      case 'promote':
      case 'mergeBranch':
        throw storageError('INTERNAL', `${call.op}: it was sent together with other calls.`);
      case 'openMoment':
        return this.#openMoment(instance, call);
      case 'closeMoment':
        this.#moments.end(call.id);
        return null;
      case 'openDiff':
        return this.#openDiff(instance, call);
      case 'nextChanges':
        return this.#diffs.get(call.diff).next();
      case 'countChanges':
        return this.#diffs.get(call.diff).count();
      case 'closeDiff':
        this.#diffs.end(call.diff);
        return null;
      case 'fork':
        return this.#branches.fork(instance, call);
      case 'branches':
        return this.#branches.list(instance);
      case 'deleteBranch':
        return this.#branches.delete(instance, call.name);
      case 'abort':
        return resetFor(instance, call.reason);
      default:
        return perform(storage, call.op, call);
    }
  }

  /** @throws INVALID_ARGUMENT, BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE, CORRUPT, MEMORY_FULL */
  async #openMoment(instance: ObjectInstance, call: CallOf<'openMoment'>): Promise<OpenedMoment> {
    const at = call.bookmark ?? call.timeMs;
    if (at === null) throw storageError('INVALID_ARGUMENT', 'at: takes a bookmark or a time.');
    const moment = await instance.storage.past.open(at);
    return { moment: this.#moments.add(moment), bookmark: moment.bookmark };
  }

  /** @throws INVALID_ARGUMENT, BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE, BRANCH_ENDED, CORRUPT, MEMORY_FULL */
  async #openDiff(instance: ObjectInstance, call: CallOf<'openDiff'>): Promise<OpenedDiff> {
    const { past } = instance.storage;
    const before =
      call.from === null
        ? { opened: past.beginning, name: null }
        : await this.#branches.openState(instance, call.from);
    let comparison: Comparison;
    let to: StateName;
    try {
      const after = await this.#branches.openState(instance, call.to);
      to = after.name;
      comparison = await past.compareStates(before.opened, after.opened);
    } catch (error) {
      before.opened.close();
      throw error;
    }
    comparison.skip(call.skip);
    return { diff: this.#diffs.add(comparison), from: before.name, to };
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

type HostCall =
  | CallOf<'importDatabase'>
  | CallOf<'restore'>
  | CallOf<'promote'>
  | CallOf<'mergeBranch'>;

/** A call that ends the instance, or needs another object's. */
function isOfHost(call: Call): call is HostCall {
  const { op } = call;
  return op === 'importDatabase' || op === 'restore' || op === 'promote' || op === 'mergeBranch';
}

/** False for a call that begins or ends a transaction, or the instance. */
function isOfStorage({ op }: Call): boolean {
  return op !== 'begin' && op !== 'commit' && op !== 'rollback' && op !== 'abort';
}

/** Whether the instance ended before the batch began, and another one can run it as well. */
function canMove({ calls, hasBegun }: Batch, error: unknown): boolean {
  if (hasBegun || !isStorageError(error)) return false;
  if (error.code !== 'OBJECT_RESET' || error.retryable !== true) return false;
  return calls.every((call) => isOfStorage(call) && call.txn === undefined);
}

function handleClosed(): Error {
  return storageError('CONNECTION_CLOSED', 'This handle was closed; open the object again.');
}

async function outcome(result: Promise<unknown>): Promise<Outcome> {
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

export class PageSessions implements StorageService {
  readonly #host: ObjectHost;
  readonly #environment: SessionEnvironment;
  readonly #sessions = new Map<SessionId, PageSession>();
  /** Ends the use of a branch, by its session. */
  readonly #holds = new Map<SessionId, () => void>();
  #lastId = 0;

  constructor(host: ObjectHost, after: After) {
    this.#host = host;
    this.#environment = { after, nextId: () => this.#nextId(), branches: host.branches };
  }

  /** True while a page holds a transaction open. */
  get isInTransaction(): boolean {
    return [...this.#sessions.values()].some(({ inTransaction }) => inTransaction);
  }

  async open(target: string | WireAddress, client?: string): Promise<Outcome<SessionId>> {
    let address: ObjectAddress;
    let letGo = () => {};
    try {
      address =
        typeof target === 'string'
          ? { className: null, id: idOfStorage(target) }
          : fromWireAddress(target);
      letGo = this.#host.branches.hold(address);
      await this.#host.instance(address).catch((error) => {
        if (!isUnreadable(address, error)) throw error; // else each call gets it, and an import is the way out
      });
    } catch (error) {
      letGo();
      return { error: toWire(error) };
    }
    const id = this.#nextId();
    this.#holds.set(id, letGo);
    this.#sessions.set(id, new PageSession(address, this.#environment, client));
    return { ok: id };
  }

  execute(id: SessionId, calls: readonly Call[]): Outcome[] | Promise<Outcome[]> {
    const session = this.#sessions.get(id);
    if (session === undefined) {
      const closed = toWire(handleClosed());
      return calls.map(() => ({ error: closed }));
    }
    if (calls.some(({ flag }) => flag !== undefined)) return this.#executeFlagged(session, calls);
    return this.#execute(session, { calls, flagged: [], hasBegun: false });
  }

  async #executeFlagged(session: PageSession, calls: readonly Call[]): Promise<Outcome[]> {
    const { cancellations } = this.#host;
    const flagged = calls.map(({ flag }) => flag && cancellations.begin(flag));
    try {
      return await this.#execute(session, { calls, flagged, hasBegun: false });
    } finally {
      for (const cancellation of flagged) cancellation?.end();
    }
  }

  #execute(session: PageSession, batch: Batch): Outcome[] | Promise<Outcome[]> {
    const [first] = batch.calls;
    if (first !== undefined && isOfHost(first)) {
      const performed = this.#performOutside(session, first, batch.flagged[0]);
      return outcome(performed).then((result) => [result]);
    }
    const live = this.#host.instances.live(session.key);
    if (live === undefined) return this.#executeAtNext(session, batch);
    try {
      const outcomes = session.execute(live, batch);
      if (!(outcomes instanceof Promise)) return outcomes;
      return outcomes.catch((error) => this.#moved(session, batch, error));
    } catch (error) {
      return this.#moved(session, batch, error);
    }
  }

  async #executeAtNext(session: PageSession, batch: Batch): Promise<Outcome[]> {
    let isReached = false;
    try {
      return await this.#host.use(session.address, (instance) => {
        isReached = true;
        return session.execute(instance, batch);
      });
    } catch (error) {
      return isReached ? this.#moved(session, batch, error) : failures(batch.calls, error);
    }
  }

  /** The instance ended: a batch that waited for its turn goes on to the next one, as if it had come later. */
  #moved(session: PageSession, batch: Batch, error: unknown): Outcome[] | Promise<Outcome[]> {
    if (canMove(batch, error)) return this.#executeAtNext(session, batch);
    return failures(batch.calls, error);
  }

  async cancel(flags: readonly string[]): Promise<void> {
    this.#host.cancellations.cancel(flags);
  }

  async close(id: SessionId, isGivenUp = false): Promise<void> {
    const session = this.#sessions.get(id);
    this.#sessions.delete(id);
    await session?.close(isGivenUp);
    this.#holds.get(id)?.();
    this.#holds.delete(id);
  }

  async #performOutside(
    session: PageSession,
    call: HostCall,
    cancellation: Cancellation | undefined,
  ): Promise<Result> {
    cancellation?.check();
    if (session.inTransaction) {
      throw storageError(
        'TRANSACTION_NESTING',
        `${call.op}: not inside transaction(); call it before or after.`,
      );
    }
    const { address } = session;
    const by = session.authorOf(call);
    if (call.op === 'importDatabase') {
      return await this.#host.importDatabase(address, call.database, call.wal, by);
    }
    if (call.op === 'promote') {
      return await this.#host.promote(branchAddress(address, call.branch), cancellation, by);
    }
    if (call.op === 'mergeBranch') {
      const { className } = address;
      if (className !== null && FOLLOWABLE in this.#host.classes.get(className).construct) {
        throw notNoted();
      }
      const branch = branchAddress(address, call.branch);
      const { bookmark, decisions } = call;
      return await this.#host.branches.merge(branch, bookmark, decisions, cancellation, by);
    }
    const moment = call.bookmark ?? call.timeMs;
    if (moment === null) {
      throw storageError('INVALID_ARGUMENT', 'restore: takes a bookmark or a time.');
    }
    return await this.#host.restore(address, moment, cancellation, by);
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }
}

function notNoted(): Error {
  return storageError(
    'READ_ONLY',
    'The object has followers, which learn of the writes of its class, and not of those through a handle; call a method ' +
      'of the class. A restore and an import reach them as a new snapshot.',
  );
}

/** For `abort` the reset is the success; unconfirmed earlier calls are lost. */
function failures(calls: readonly Call[], error: unknown): Outcome[] {
  const wire = toWire(error);
  return calls.map((call) => (call.op === 'abort' ? { ok: null } : { error: wire }));
}
