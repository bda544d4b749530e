// One opened handle, independent of which worker leads, and the methods that make its calls. Calls of one turn are sent
// together, in order, and every call settles.
//
// When the worker dies, the session is opened again at the next worker. Reads that had been sent are sent again, for
// half a minute at most. Writes reject with CONNECTION_CLOSED, because they may have taken effect, unless it is known
// that they have not (WORKER_BUSY). Calls of a transaction reject too, because the transaction ended with its worker. A
// transaction that the worker had not opened yet begins again, with its calls, none of which was answered.
//
// close() refuses later calls and undoes the open transaction. Earlier calls are sent and answered as usual; then the
// session ends at the worker.

import { untilAborted } from '../../shared/calls/stubs/with-signal.ts';
import { eachOf } from '../../shared/contract/arguments.ts';
import { isStorageError, storageError } from '../../shared/contract/errors.ts';
import { assert } from '../../shared/contract/invariant.ts';
import type { WireAddress } from '../../shared/wire/address.ts';
import { inMicrotask } from '../../shared/wire/channel-endpoint.ts';
import { fromWire, type Outcome } from '../../shared/wire/errors-on-wire.ts';
import {
  type Call,
  defineMethods,
  type MethodOwner,
  operationOf,
  type Results,
} from '../../shared/wire/operations.ts';
import type { PageEnd } from '../../shared/wire/page-end.ts';
import {
  BATCH_CALLS_MAX,
  type LivePeer,
  type SessionId,
  type StoragePeer,
} from '../../shared/wire/protocol.ts';
import type { LeaderFinder } from '../leader/leader-finder.ts';
import { type StandingSource, Status } from '../leader/status.ts';
import { isTooLong, Repeats } from './repeats.ts';
import { belongsTo, TransactionScope } from './transaction-scope.ts';

/** Maximum bytes of values in one message, unless a single call has more. */
const BATCH_BYTES_MAX = 1_048_576;

interface Pending {
  readonly call: Call;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
  /** The time at which a worker was first lost after it had received the call; null if none was lost. */
  lostMs: number | null;
  /** Set if the call was sent to a worker that has been given up and never reads the call. */
  unread?: unknown;
}

type State =
  /** The session is not open at a worker; the next call opens it. */
  | { readonly kind: 'unopened' }
  | { readonly kind: 'opening' }
  | {
      readonly kind: 'open';
      readonly connection: SessionConnection;
      readonly id: SessionId;
      /** Stops watching the connection. */
      readonly unwatch: () => void;
    }
  | { readonly kind: 'closed' };

/** The preparation of an object, such as a migration, which runs before the calls of a session. */
export interface Preparation {
  /** Resolves when the preparation is done. @throws why it failed; the next call starts it again */
  ready(): Promise<void>;
  /**
   * The reason to refuse a call made now: the preparation itself makes the call, which would wait for the preparation.
   */
  readonly refusal: Error | null;
}

/** Makes the calls of a handle: in its session, with a signal of their own, or at an earlier moment. */
export interface SessionCalls extends Pick<Session, 'call' | 'end' | 'signal' | 'label'> {
  readonly session: Session;
}

export class Session implements SessionCalls {
  readonly session = this;
  readonly name: string;
  readonly status: Status;
  readonly finder: SessionFinder;
  readonly now: () => number;
  /** The object that the session opens at a worker. */
  readonly target: string | WireAddress;
  readonly #preparation: Preparation | undefined;
  /** Calls that are not sent yet. */
  #queue: Pending[] = [];
  /** Calls that are sent and not answered, in order. */
  readonly #sent = new Set<Pending>();
  #state: State = { kind: 'unopened' };
  #isFlushScheduled = false;
  #generation = 0;
  readonly signal: AbortSignal | undefined = undefined;
  /** The label written to every commit of these calls. */
  readonly label: string | undefined = undefined;
  /** The open transaction, which calls of this handle join. */
  #scope: TransactionScope | null = null;
  /** The transaction whose beginning is not answered yet. */
  #beginning: TransactionScope | null = null;
  #lastTransaction = 0;
  readonly #ending = new AbortController();
  /** The promise of `close`; undefined until `close` is called. */
  #closed: Promise<void> | undefined;
  /** True while calls are under way; the finder counts the busy sessions. */
  #isBusy = false;
  /** Number of operations under way that may make further calls. */
  #operations = 0;
  /** True if the call that is made now belongs to an operation under way. */
  #goesOn = false;
  /** Resolves the wait of `close`: called when no call or operation is under way any more. */
  #tellIdle = () => {};
  /** The rows of bulk calls that are being read from their sources. */
  readonly #taking = new Set<Promise<unknown>>();

  /** `target` is the address of an object of a class; by default, the object of this name. */
  constructor(
    name: string,
    finder: SessionFinder,
    now: () => number,
    target: string | WireAddress = name,
    preparation?: Preparation,
  ) {
    this.name = name;
    this.target = target;
    this.#preparation = preparation;
    this.finder = finder;
    this.now = now;
    this.status = new Status(finder.standing, now);
  }

  /**
   * A number that changes when the worker is lost, and with it the worker's state for this session, such as cursors.
   */
  get generation(): number {
    return this.#generation;
  }

  /** The reason why the session was closed; undefined while it is open. */
  get end(): Error | undefined {
    return this.#ending.signal.reason;
  }

  /** Aborts with the reason when the session is closed, which ends calls that wait for code of the page. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** Opens the object, so that an error in it is known before the first call. */
  async open(): Promise<void> {
    const error = await this.#open();
    if (error === null) return;
    this.status.close(error);
    throw error;
  }

  /**
   * Makes a call. `scope` is the transaction to which the call belongs: by default the open transaction of this handle;
   * null for a call outside of all transactions. `signal` cancels the call: by default, it is the signal of the
   * transaction.
   */
  call<C extends Call>(
    call: C,
    scope: TransactionScope | null = this.#scope,
    signal: AbortSignal | null | undefined = scope?.signal,
  ): Promise<Results[C['op']]> {
    const end = this.#goesOn ? undefined : (this.end ?? this.finder.end);
    if (end !== undefined) return Promise.reject(end);
    const refused = scope?.ended ?? this.#preparation?.refusal ?? null;
    if (refused !== null) return Promise.reject(refused);
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (call.op === 'sync' && this.#taking.size > 0) {
      const taken = Promise.allSettled(this.#taking).then(() => this.call(call, scope, signal));
      return signal ? untilAborted(taken, signal) : taken;
    }
    const answer = new Promise<Results[C['op']]>((resolve, reject) => {
      const sentCall = scope === null ? call : { ...call, txn: scope.number };
      const pending = { call: sentCall, resolve, reject, lostMs: null };
      this.#queue.push(signal ? this.#cancellable(pending, signal) : pending);
      this.#beBusy();
      // A full message is sent at once, so that the worker begins with it while this turn goes on.
      if (this.#queue.length % BATCH_CALLS_MAX === 0) this.#flush();
      else this.#scheduleFlush();
    });
    // The writes of a transaction become durable with the transaction, which remote-transaction counts as one write.
    const isRead = operationOf(call.op).effect === 'read' || call.moment !== undefined;
    if (scope !== null || isRead) return answer;
    return this.status.write(answer, isUnconfirmed(call) ? 'unconfirmed' : 'confirmed');
  }

  /** Counts a bulk call as a write, and lets `sync` wait for it, before it can be sent. */
  take(rows: Promise<unknown>, scope: TransactionScope | null): void {
    this.#taking.add(rows);
    const taken = () => this.#taking.delete(rows);
    rows.then(taken, taken);
    if (scope === null) this.status.write(rows, 'unconfirmed');
  }

  /** The transaction that calls of the handle join now. */
  get scope(): TransactionScope | null {
    return this.#scope;
  }

  /**
   * Begins a transaction; until leave(), calls of this handle belong to it. These calls can be made before the
   * transaction has begun.
   */
  begin(signal?: AbortSignal, label?: string): TransactionScope {
    assert(this.#scope?.ended !== null, 'a handle has two transactions');
    this.#lastTransaction += 1;
    const number = this.#lastTransaction;
    const begin = { op: 'begin', number, ...(label !== undefined && { label }) } as const;
    const answer = this.call(begin, null, signal);
    const answered = () => {
      if (this.#beginning === scope) this.#beginning = null;
    };
    const begun = answer.then(answered, (error) => {
      answered();
      throw error;
    });
    const scope = new TransactionScope(number, begun, signal);
    this.#scope = scope;
    this.#beginning = scope;
    return scope;
  }

  /** Later calls no longer belong to the transaction. */
  leave(scope: TransactionScope): void {
    if (this.#scope === scope) this.#scope = null;
  }

  /**
   * Begins an operation that may make further calls by `goOn`, even after `close`; the result ends the operation.
   * `close` waits for the operation.
   */
  operate(): () => void {
    this.#operations += 1;
    this.#beBusy();
    return () => {
      this.#operations -= 1;
      this.#lookIdle();
    };
  }

  /** Makes a call of an operation that began before `close`. */
  goOn<T>(call: () => Promise<T>): Promise<T> {
    this.#goesOn = true;
    try {
      return call();
    } finally {
      this.#goesOn = false;
    }
  }

  /**
   * Ends the handle: later calls reject. Idempotent. Resolves once earlier calls are answered and the worker has closed
   * the session.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const error = storageError(
      'CONNECTION_CLOSED',
      `The handle of "${this.name}" was closed; open the object again.`,
    );
    this.#ending.abort(error);
    this.status.close(error);
    this.#undo(error);
    if (this.#isBusy) {
      await new Promise<void>((resolve) => {
        this.#tellIdle = resolve;
        this.#lookIdle();
      });
    }
    const before = this.#state;
    this.#state = { kind: 'closed' };
    if (before.kind !== 'open') return;
    before.unwatch();
    await before.connection.worker.close(before.id).catch(() => {});
  }

  /** Undoes the open transaction, even if it has not begun; its calls reject. */
  #undo(error: Error): void {
    const scope = this.#scope;
    if (scope === null || scope.ended !== null) return;
    const calls = [...this.#sent, ...this.#queue].filter(({ call }) => belongsTo(scope, call));
    const isKnown = !this.#queue.some(({ call }) => call.op === 'begin' && belongsTo(scope, call));
    this.#queue = this.#queue.filter((pending) => !calls.includes(pending));
    for (const pending of calls) this.#sent.delete(pending);
    this.#rejectAll(calls, error);
    // Nobody waits for this opening, and it never happens once the session is closed.
    if (isKnown)
      this.goOn(() => this.call({ op: 'rollback', txn: scope.number }, null)).catch(() => {});
    scope.end(error);
  }

  #beBusy(): void {
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.finder.work.begin();
  }

  #lookIdle(): void {
    if (this.#queue.length > 0 || this.#sent.size > 0 || this.#operations > 0 || !this.#isBusy)
      return;
    this.#isBusy = false;
    this.finder.work.end();
    this.#tellIdle();
  }

  #cancellable(pending: Pending, signal: AbortSignal): Pending {
    const flagged = this.finder.flags.begin(signal, () => this.#cancel(cancellable, signal));
    const { call, resolve, reject } = pending;
    const cancellable: Pending = {
      ...pending,
      call: { ...call, flag: flagged.flag },
      resolve: (result) => {
        flagged.end();
        resolve(result);
      },
      reject: (error) => {
        flagged.end();
        reject(signal.aborted && isCancelled(error) ? signal.reason : error);
      },
    };
    return cancellable;
  }

  // Cancels a call. Only the worker knows whether a call that was sent takes effect, unless the call was sent to no
  // worker.
  #cancel(pending: Pending, signal: AbortSignal): void {
    if (!this.#sent.has(pending)) {
      this.#queue = this.#queue.filter((other) => other !== pending);
      pending.reject(signal.reason);
      this.#lookIdle();
      return;
    }
    const url = pending.call.flag?.url;
    if (this.#state.kind === 'open' && url !== undefined) {
      // If this request is lost, the call is lost with it.
      void this.#state.connection.worker.cancel([url]).catch(() => {});
    }
    if (operationOf(pending.call.op).effect === 'write' || pending.call.op === 'begin') return;
    this.#sent.delete(pending);
    pending.reject(signal.reason);
    this.#lookIdle();
  }

  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    inMicrotask(() => {
      this.#isFlushScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#queue.length === 0) return;
    if (this.#state.kind === 'unopened') void this.#open();
    if (this.#state.kind !== 'open') return;
    const { connection, id } = this.#state;
    let queue = this.#queue;
    this.#queue = [];
    if (connection.isYielding) {
      // A worker that steps down finishes calls that it has begun; the rest waits for the next one.
      const isBound = queue.map(({ call }) => this.#isBoundNow(call));
      this.#queue = queue.filter((_, i) => !isBound[i]);
      queue = queue.filter((_, i) => isBound[i]);
    }
    for (const batch of batches(queue)) this.#send(connection, id, batch);
  }

  #send(connection: SessionConnection, id: SessionId, batch: readonly Pending[]): void {
    for (const pending of batch) this.#sent.add(pending);
    connection.worker
      .execute(
        id,
        eachOf(batch, ({ call }) => call),
      )
      .then(
        (outcomes) => {
          for (const [i, pending] of batch.entries()) this.#settle(pending, outcomes[i]);
          this.#lookIdle();
        },
        (error) => {
          for (const pending of batch) {
            // If the connection was lost, #lose, which is called next, handles all calls in their order.
            if (connection.failure !== null) pending.unread = unreadBy(error);
            else if (this.#sent.delete(pending)) pending.reject(error);
          }
          this.#lookIdle();
        },
      );
  }

  #settle(pending: Pending, outcome: Outcome | undefined): void {
    if (!this.#sent.delete(pending)) return; // The call was rejected before.
    if (outcome === undefined) {
      pending.reject(storageError('INTERNAL', `${pending.call.op}: the worker gave no outcome.`));
    } else if ('error' in outcome) {
      pending.reject(fromWire(outcome.error));
    } else {
      pending.resolve(outcome.ok as never);
    }
  }

  /**
   * Opens the session at the worker that leads, once the object is prepared. If the opening fails, waiting calls reject
   * with the returned error.
   */
  async #open(): Promise<Error | null> {
    this.#state = { kind: 'opening' };
    try {
      if (this.#preparation !== undefined) await this.#preparation.ready();
      for (const repeats = new Repeats(this.now); ; ) {
        const connection = await this.finder.connection();
        let outcome: Outcome<SessionId>;
        try {
          outcome = await connection.worker.open(this.target, this.finder.client);
        } catch (error) {
          if (connection.failure === null || repeats.areOver(error)) throw error;
          continue;
        }
        if ('error' in outcome) throw fromWire(outcome.error);
        return this.#acceptOpened(connection, outcome.ok);
      }
    } catch (error) {
      if (!this.#isClosed()) this.#state = { kind: 'unopened' };
      const queue = this.#queue;
      this.#queue = [];
      this.#rejectAll(queue, error);
      this.#lookIdle();
      return error as Error;
    }
  }

  #acceptOpened(connection: SessionConnection, id: SessionId): Error | null {
    if (this.#isClosed()) {
      void connection.worker.close(id).catch(() => {});
      return this.end ?? null;
    }
    const unwatch = connection.whenLost((reason) => this.#lose(connection, reason));
    this.#state = { kind: 'open', connection, id, unwatch };
    this.#flush();
    return null;
  }

  #lose(connection: SessionConnection, reason: Error): void {
    if (this.#state.kind !== 'open' || this.#state.connection !== connection) return;
    this.#state = { kind: 'unopened' };
    this.#generation += 1;
    const sent = [...this.#sent];
    const nowMs = this.now();
    for (const pending of sent) pending.lostMs ??= nowMs;
    const isGivenUp = ({ lostMs }: Pending) => lostMs !== null && isTooLong(lostMs, nowMs);
    const queue = this.#queue;
    const beginning = this.#beginning;
    const beginsAgain = beginning !== null && mayBeginAgain(beginning, sent, isGivenUp);
    if (!beginsAgain) this.#scope?.end(reason);
    const isAgain = ({ call }: Pending) =>
      beginning !== null && belongsTo(beginning, call) ? beginsAgain : mayRepeat(call);
    const again = sent.filter((pending) => isAgain(pending) && !isGivenUp(pending));
    const waiting = queue.filter((pending) => !isBound(pending.call) || isAgain(pending));
    const kept = new Set([...again, ...waiting]);
    this.#sent.clear();
    this.#queue = [...kept];
    for (const pending of [...sent, ...queue]) {
      if (!kept.has(pending)) pending.reject(pending.unread ?? reason);
    }
    this.#flush();
    this.#lookIdle();
  }

  /**
   * True if only the worker of the present connection can perform the call, because that worker knows the call's
   * transaction.
   */
  #isBoundNow(call: Call): boolean {
    const beginning = this.#beginning;
    if (beginning === null || !belongsTo(beginning, call)) return isBound(call);
    return call.op !== 'begin' && [...this.#sent].some((sent) => sent.call.op === 'begin');
  }

  #isClosed(): boolean {
    return this.#state.kind === 'closed';
  }

  #rejectAll(calls: readonly Pending[], error: unknown): void {
    for (const { reject } of calls) reject(error);
  }
}

function isUnconfirmed(call: Call): boolean {
  return 'unconfirmed' in call && call.unconfirmed;
}

function mayRepeat(call: Call): boolean {
  return !isBound(call) && operationOf(call.op).effect === 'read';
}

/** Returns the error of a call that its worker has not read and never will read; undefined for any other error. */
function unreadBy(error: unknown): unknown {
  return isStorageError(error) && error.code === 'WORKER_BUSY' ? error : undefined;
}

function isCancelled(error: unknown): boolean {
  return isStorageError(error) && error.code === 'CANCELLED';
}

// True if only the worker for which the call was made can perform it.
function isBound({ op, txn, moment }: Call): boolean {
  return txn !== undefined || moment !== undefined || operationOf(op).isBound === true;
}

/**
 * True if the transaction may begin again at another worker. If its beginning was not answered, the transaction had no
 * effect, unless its commit was sent too.
 */
function mayBeginAgain(
  scope: TransactionScope,
  sent: readonly Pending[],
  isGivenUp: (pending: Pending) => boolean,
): boolean {
  return sent.every(
    (pending) =>
      !belongsTo(scope, pending.call) || (pending.call.op !== 'commit' && !isGivenUp(pending)),
  );
}

function travelsAlone({ op }: Call): boolean {
  return operationOf(op).travelsAlone === true;
}

/** Divides calls into messages, in order. */
function batches(queue: readonly Pending[]): Iterable<readonly Pending[]> {
  return queue.length === 1 ? [queue] : dividedBatches(queue);
}

function* dividedBatches(queue: readonly Pending[]): Generator<readonly Pending[]> {
  let batch: Pending[] = [];
  let bytes = 0;
  for (const pending of queue) {
    const size = valueBytes(pending.call);
    const isFull = batch.length === BATCH_CALLS_MAX || bytes + size > BATCH_BYTES_MAX;
    const isAlone = travelsAlone(pending.call) || (batch[0] && travelsAlone(batch[0].call));
    if (batch.length > 0 && (isFull || isAlone)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(pending);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

function valueBytes(call: Call): number {
  if (call.op !== 'put') return 0;
  return call.entries.reduce((bytes, [, value]) => bytes + value.byteLength, 0);
}

/** The way in which methods make their calls: for a handle, for a transaction, or at an earlier moment. */
export type MethodCalls = Pick<SessionCalls, 'call'>;

/**
 * Gives a class the methods of the owners in the table of operations, each of which makes a call. `callsOf` returns the
 * way in which it is made.
 *
 * Arguments are converted and values serialized during the call, so a wrong argument rejects before anything is sent,
 * and later changes of a value are not stored.
 */
export function defineRemoteMethods<Self>(
  prototype: object,
  owners: readonly MethodOwner[],
  callsOf: (self: Self) => MethodCalls,
): void {
  defineMethods(prototype, owners, (op, method) => {
    return async function (this: Self, ...args) {
      const fields = method.fields(args);
      const result = await callsOf(this).call({ op, ...fields } as Call);
      return method.returns === undefined ? result : method.returns(result, args, fields);
    };
  });
}

/** The parts of a connection that a session needs. */
export interface SessionConnection extends Pick<PageEnd, 'failure' | 'isYielding' | 'whenLost'> {
  readonly worker: Required<StoragePeer> & LivePeer;
}

/** The connection of a session to the host of the objects: a page's LeaderFinder, or objects in this process. */
export interface SessionFinder extends Pick<LeaderFinder, 'flags' | 'end' | 'client' | 'work'> {
  readonly standing: StandingSource;
  connection(): Promise<SessionConnection>;
}
