// One opened handle, independent of which worker leads. Calls of one turn are sent together, in
// order, and every call settles.
//
// When the worker dies, the session is opened again at the next one. Reads that had been sent are
// sent again. Writes reject with CONNECTION_CLOSED, because they may have taken effect; so do calls
// of a transaction, which ended with its worker. One that the worker had not opened yet begins again,
// with its calls, of which none was answered.

import { eachOf } from '../contract/each-of.ts';
import { isStorageError, storageError } from '../contract/errors.ts';
import { inMicrotask } from '../contract/microtask.ts';
import { type Call, operationOf, type Results } from '../contract/operations.ts';
import { fromWire, type Outcome } from '../rpc/errors-on-wire.ts';
import type { WireAddress } from '../rpc/object-protocol.ts';
import { BATCH_CALLS_MAX, type SessionId } from '../rpc/protocol.ts';
import type { SessionConnection, SessionFinder } from './session-finder.ts';
import { Status } from './status.ts';
import { TransactionScope } from './transaction-scope.ts';

/** Most bytes of values in one message, unless a single call has more. */
export const BATCH_BYTES_MAX = 1_048_576;

/** How often a call is sent before it rejects. */
const SENDS_MAX = 3;

interface Pending {
  readonly call: Call;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
  sends: number;
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

export class Session {
  readonly name: string;
  readonly status: Status;
  readonly finder: SessionFinder;
  /** What it opens at a worker. */
  readonly target: string | WireAddress;
  /** Calls that are not sent yet. */
  #queue: Pending[] = [];
  /** Calls that are sent and not answered, in order. */
  readonly #sent = new Set<Pending>();
  #state: State = { kind: 'unopened' };
  #isFlushScheduled = false;
  #generation = 0;
  readonly signal: AbortSignal | undefined = undefined;
  /** The open transaction, which calls of this handle join. */
  #scope: TransactionScope | null = null;
  /** The transaction whose beginning is not answered. */
  #beginning: TransactionScope | null = null;
  #lastTransaction = 0;

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
    this.status = new Status(finder.standing, now);
  }

  /**
   * Changes when the worker is lost, and with it what it held for this session, such as cursors.
   */
  get generation(): number {
    return this.#generation;
  }

  /** Why it was closed; undefined: it was not. */
  get end(): Error | undefined {
    return this.#state.kind === 'closed' ? this.#state.error : undefined;
  }

  /** Opens the object, so that an error in it is known before the first call. */
  async open(): Promise<void> {
    const error = await this.#open();
    if (error === null) return;
    this.status.close(error);
    throw error;
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
    const answer = new Promise<Results[C['op']]>((resolve, reject) => {
      const sentCall = scope === null ? call : { ...call, txn: scope.number };
      const pending = { call: sentCall, resolve, reject, sends: 0 };
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

  /** Whether calls of the handle join a transaction now. */
  get isInTransaction(): boolean {
    return this.#scope !== null;
  }

  /**
   * Begins a transaction; until leave(), calls of this handle belong to it. They need not wait for its
   * beginning.
   */
  begin(signal?: AbortSignal): TransactionScope {
    this.#lastTransaction += 1;
    const number = this.#lastTransaction;
    const answer = this.call({ op: 'begin', number }, null, signal);
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
      // A worker that steps down finishes what it has begun; the rest waits for the next one.
      const isBound = queue.map(({ call }) => this.#isBoundNow(call));
      this.#queue = queue.filter((_, i) => !isBound[i]);
      queue = queue.filter((_, i) => isBound[i]);
    }
    for (const batch of batches(queue)) this.#send(connection, id, batch);
  }

  #send(connection: SessionConnection, id: SessionId, batch: readonly Pending[]): void {
    for (const pending of batch) {
      pending.sends += 1;
      this.#sent.add(pending);
    }
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
      for (let tries = 1; ; tries++) {
        const connection = await this.finder.connection();
        let outcome: Outcome<SessionId>;
        try {
          outcome = await connection.worker.open(this.target);
        } catch (error) {
          if (connection.failure === null || tries === SENDS_MAX) throw error;
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
    const queue = this.#queue;
    const beginning = this.#beginning;
    const beginsAgain = beginning !== null && mayBeginAgain(beginning, sent);
    if (!beginsAgain) this.#scope?.end(reason);
    const isAgain = ({ call }: Pending) =>
      beginning !== null && belongsTo(beginning, call) ? beginsAgain : mayRepeat(call);
    const again = sent.filter((pending) => isAgain(pending) && pending.sends < SENDS_MAX);
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
function mayBeginAgain(scope: TransactionScope, sent: readonly Pending[]): boolean {
  return sent.every(
    ({ call, sends }) => !belongsTo(scope, call) || (call.op !== 'commit' && sends < SENDS_MAX),
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
