// One opened handle, independent of which worker leads, and the methods that make its calls. Calls of one turn are sent
// together, in order, and every call settles.
//
// When the worker dies, the session is opened again at the next one. Reads that had been sent are sent
// again, for half a minute at most. Writes reject with CONNECTION_CLOSED, because they may have taken effect; so do calls of a
// transaction, which ended with its worker. A transaction that the worker had not opened yet begins
// again, with its calls, of which none was answered.

import { bothSignals, untilAborted } from '../../shared/calls/stubs/with-signal.ts';
import { eachOf } from '../../shared/contract/arguments.ts';
import { isStorageError, storageError } from '../../shared/contract/errors.ts';
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

/** Most bytes of values in one message, unless a single call has more. */
export const BATCH_BYTES_MAX = 1_048_576;

interface Pending {
  readonly call: Call;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
  /** When the worker it was sent to was lost, the first time. */
  lostMs: number | null;
}

type State =
  /** Not open; the next call opens it. */
  | { readonly kind: 'unopened' }
  | { readonly kind: 'opening' }
  | {
      readonly kind: 'open';
      readonly connection: SessionConnection;
      readonly id: SessionId;
      /** Stops watching the connection. */
      readonly unwatch: () => void;
    }
  | { readonly kind: 'closed'; readonly error: Error };

/** How the calls of a handle are made: by its session, with a signal of their own, or at an earlier moment. */
export interface SessionCalls extends Pick<Session, 'call' | 'end' | 'signal' | 'label'> {
  readonly session: Session;
}

export class Session implements SessionCalls {
  readonly session = this;
  readonly name: string;
  readonly status: Status;
  readonly finder: SessionFinder;
  readonly now: () => number;
  /** The object it opens at a worker. */
  readonly target: string | WireAddress;
  /** Calls that are not sent yet. */
  #queue: Pending[] = [];
  /** Calls that are sent and not answered, in order. */
  readonly #sent = new Set<Pending>();
  #state: State = { kind: 'unopened' };
  #isFlushScheduled = false;
  #generation = 0;
  readonly signal: AbortSignal | undefined = undefined;
  /** Of the commits that its calls make. */
  readonly label: string | undefined = undefined;
  /** The open transaction, which calls of this handle join. */
  #scope: TransactionScope | null = null;
  /** The transaction whose beginning is not answered. */
  #beginning: TransactionScope | null = null;
  #lastTransaction = 0;
  readonly #ending = new AbortController();
  /** The rows of bulk calls that are taken from their sources. */
  readonly #taking = new Set<Promise<unknown>>();

  /** `target` is the address of an object of a class; by default, the object of this name. */
  constructor(
    name: string,
    finder: SessionFinder,
    now: () => number,
    target: string | WireAddress = name,
  ) {
    this.name = name;
    this.target = target;
    this.finder = finder;
    this.now = now;
    this.status = new Status(finder.standing, now);
  }

  /** Changes when the worker is lost, and with it its state for this session, such as cursors. */
  get generation(): number {
    return this.#generation;
  }

  /** Why it was closed; undefined: it was not. */
  get end(): Error | undefined {
    return this.#state.kind === 'closed' ? this.#state.error : undefined;
  }

  /** Aborted when it is closed, with the reason. */
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

  /** Opens the object for a handle that is in use already, which lives on after an error. @throws as `openStorage` */
  async openInUse(): Promise<void> {
    if (this.#state.kind === 'closed') throw this.#state.error;
    if (this.#state.kind !== 'unopened') return;
    const error = await this.#open();
    if (error !== null) throw error;
  }

  /**
   * Makes a call. `scope` is the transaction that it belongs to: by default the open one of this
   * handle; null for a call outside of any. `signal` cancels it: by default that of the transaction.
   */
  call<C extends Call>(
    call: C,
    scope: TransactionScope | null = this.#scope,
    signal: AbortSignal | null | undefined = scope?.signal,
  ): Promise<Results[C['op']]> {
    if (this.#state.kind === 'closed') return Promise.reject(this.#state.error);
    const ended = scope?.ended ?? null;
    if (ended !== null) return Promise.reject(ended);
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (call.op === 'sync' && this.#taking.size > 0) {
      const taken = Promise.allSettled(this.#taking).then(() => this.call(call, scope, signal));
      return signal ? untilAborted(taken, signal) : taken;
    }
    const answer = new Promise<Results[C['op']]>((resolve, reject) => {
      const sentCall = scope === null ? call : { ...call, txn: scope.number };
      const pending = { call: sentCall, resolve, reject, lostMs: null };
      this.#queue.push(signal ? this.#cancellable(pending, signal) : pending);
      // A full message leaves at once: the worker begins with it while this turn goes on.
      if (this.#queue.length % BATCH_CALLS_MAX === 0) this.#flush();
      else this.#scheduleFlush();
    });
    // The writes of a transaction are durable when it is: remote-transaction counts it as one.
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
   * Begins a transaction; until leave(), calls of this handle belong to it. They need not wait for its
   * beginning.
   */
  begin(signal?: AbortSignal, label?: string): TransactionScope {
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

  /** Ends the handle; calls under way reject. Idempotent; resolves once the worker knows. */
  async close(): Promise<void> {
    if (this.#state.kind === 'closed') return;
    const before = this.#state;
    const error = storageError(
      'CONNECTION_CLOSED',
      `The handle of "${this.name}" was closed; open the object again.`,
    );
    this.#state = { kind: 'closed', error };
    this.#ending.abort(error);
    this.status.close(error);
    this.#scope?.end(error);
    this.#rejectAll([...this.#sent, ...this.#queue], error);
    this.#sent.clear();
    this.#queue = [];
    if (before.kind !== 'open') return;
    before.unwatch();
    await before.connection.worker.close(before.id).catch(() => {});
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

  // Whether a call that was sent takes effect is known to the worker alone, unless it has none.
  #cancel(pending: Pending, signal: AbortSignal): void {
    if (!this.#sent.has(pending)) {
      this.#queue = this.#queue.filter((other) => other !== pending);
      pending.reject(signal.reason);
      return;
    }
    const url = pending.call.flag?.url;
    if (this.#state.kind === 'open' && url !== undefined) {
      void this.#state.connection.worker.cancel([url]).catch(() => {}); // lost, and the call with it
    }
    if (operationOf(pending.call.op).effect === 'write' || pending.call.op === 'begin') return;
    this.#sent.delete(pending);
    pending.reject(signal.reason);
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
        },
        (error) => {
          // #lose handles a lost connection, for all calls in their order.
          if (connection.failure !== null) return;
          for (const pending of batch) {
            if (this.#sent.delete(pending)) pending.reject(error);
          }
        },
      );
  }

  #settle(pending: Pending, outcome: Outcome | undefined): void {
    if (!this.#sent.delete(pending)) return; // close() has rejected it
    if (outcome === undefined) {
      pending.reject(storageError('INTERNAL', `${pending.call.op}: the worker gave no outcome.`));
    } else if ('error' in outcome) {
      pending.reject(fromWire(outcome.error));
    } else {
      pending.resolve(outcome.ok as never);
    }
  }

  /**
   * Opens at the worker that leads. If it fails, waiting calls reject with the error it returns.
   */
  async #open(): Promise<Error | null> {
    this.#state = { kind: 'opening' };
    try {
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
        return this.#opened(connection, outcome.ok);
      }
    } catch (error) {
      if (!this.#isClosed()) this.#state = { kind: 'unopened' };
      const queue = this.#queue;
      this.#queue = [];
      this.#rejectAll(queue, error);
      return error as Error;
    }
  }

  #opened(connection: SessionConnection, id: SessionId): Error | null {
    if (this.#state.kind === 'closed') {
      void connection.worker.close(id).catch(() => {});
      return this.#state.error;
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
    this.#rejectAll(
      [...sent, ...queue].filter((pending) => !kept.has(pending)),
      reason,
    );
    this.#flush();
  }

  /** Whether only the worker of the connection can perform the call, which knows its transaction already. */
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

/** The same, whose calls end with a signal too. */
export class SignalledCalls implements SessionCalls {
  readonly session: Session;
  readonly signal: AbortSignal;
  readonly label: string | undefined;
  readonly #calls: SessionCalls;

  constructor(calls: SessionCalls, signal: AbortSignal) {
    this.session = calls.session;
    this.signal = bothSignals(calls.signal, signal);
    this.label = calls.label;
    this.#calls = calls;
  }

  get end(): Error | undefined {
    return this.#calls.end;
  }

  call<C extends Call>(
    call: C,
    scope?: TransactionScope | null,
    signal: AbortSignal | null = this.signal,
  ): Promise<Results[C['op']]> {
    return this.#calls.call(call, scope, signal);
  }
}

/** The same, whose writes have a label in the history. */
export class LabelledCalls implements SessionCalls {
  readonly session: Session;
  readonly signal: AbortSignal | undefined;
  readonly label: string;
  readonly #calls: SessionCalls;

  constructor(calls: SessionCalls, label: string) {
    this.session = calls.session;
    this.signal = calls.signal;
    this.label = label;
    this.#calls = calls;
  }

  get end(): Error | undefined {
    return this.#calls.end;
  }

  call<C extends Call>(
    call: C,
    scope?: TransactionScope | null,
    signal?: AbortSignal | null,
  ): Promise<Results[C['op']]> {
    const isRead = operationOf(call.op).effect === 'read' || call.moment !== undefined;
    return this.#calls.call(isRead ? call : { label: this.label, ...call }, scope, signal);
  }
}

function isUnconfirmed(call: Call): boolean {
  return 'unconfirmed' in call && call.unconfirmed;
}

function mayRepeat(call: Call): boolean {
  return !isBound(call) && operationOf(call.op).effect === 'read';
}

function isCancelled(error: unknown): boolean {
  return isStorageError(error) && error.code === 'CANCELLED';
}

// Only the worker that these calls were made for can perform them.
function isBound({ op, txn, moment }: Call): boolean {
  return txn !== undefined || moment !== undefined || operationOf(op).isBound === true;
}

function belongsTo({ number }: TransactionScope, call: Call): boolean {
  return call.op === 'begin' ? call.number === number : call.txn === number;
}

/** One whose beginning was not answered has had no effect, unless its commit was sent too. */
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

/**
 * One transaction while its closure runs. Calls that join it carry its number, including calls of the handle itself.
 * So if it ends unexpectedly (by a timeout, or because its worker is lost), its later calls fail instead of continuing
 * as single writes that cannot be undone.
 */
export class TransactionScope {
  /** Among the transactions of its session. */
  readonly number: number;
  /** Resolves when the worker has opened it; its calls, which may be sent before, wait for that there. */
  readonly begun: Promise<void>;
  /** Cancels the transaction, and with it the calls that join it. */
  readonly signal: AbortSignal | undefined;
  readonly #ending = new AbortController();

  constructor(number: number, begun: Promise<void>, signal?: AbortSignal) {
    this.number = number;
    this.begun = begun;
    begun.catch((error) => this.end(error));
    this.signal = signal;
  }

  /** Why its operations fail, or null while it is open. */
  get ended(): Error | null {
    return this.#ending.signal.reason ?? null;
  }

  /** Aborted when it ends, with the reason. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** Ends it; only the first reason counts. */
  end(reason: Error): void {
    this.#ending.abort(reason);
  }
}

/** The reason of a transaction that the program ended. */
export function transactionEnded(how: 'committed' | 'rolled back'): Error {
  return storageError(
    'TRANSACTION_ENDED',
    `The transaction was ${how}; use the storage itself, or start a new transaction.`,
  );
}

/** How methods make their calls: for a handle, for a transaction, or at an earlier moment. */
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

/** A connection, as far as storage is concerned. */
export interface SessionConnection extends Pick<PageEnd, 'failure' | 'isYielding' | 'whenLost'> {
  readonly worker: Required<StoragePeer> & LivePeer;
}

/** The way to whoever holds the objects: a page's LeaderFinder, or objects in this process. */
export interface SessionFinder extends Pick<LeaderFinder, 'flags' | 'end' | 'client'> {
  readonly standing: StandingSource;
  connection(): Promise<SessionConnection>;
}
