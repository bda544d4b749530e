// A session whose calls end with a signal. Handles, cursors and transactions use either one.

import type { Call, Results } from '../contract/operations.ts';
import { bothSignals } from '../stubs/with-signal.ts';
import type { Session } from './session.ts';
import type { TransactionScope } from './transaction-scope.ts';

/** What a handle needs of its session. */
export type SessionCalls = Pick<
  Session,
  | 'name'
  | 'target'
  | 'status'
  | 'finder'
  | 'generation'
  | 'end'
  | 'isInTransaction'
  | 'signal'
  | 'call'
  | 'begin'
  | 'leave'
  | 'close'
>;

export class SignalledSession implements SessionCalls {
  readonly signal: AbortSignal;
  readonly #session: SessionCalls;

  constructor(session: SessionCalls, signal: AbortSignal) {
    this.#session = session;
    this.signal = bothSignals(session.signal, signal);
  }

  get name() {
    return this.#session.name;
  }

  get target() {
    return this.#session.target;
  }

  get status() {
    return this.#session.status;
  }

  get finder() {
    return this.#session.finder;
  }

  get generation(): number {
    return this.#session.generation;
  }

  get end(): Error | undefined {
    return this.#session.end;
  }

  get isInTransaction(): boolean {
    return this.#session.isInTransaction;
  }

  call<C extends Call>(
    call: C,
    scope?: TransactionScope | null,
    signal: AbortSignal | null = this.signal,
  ): Promise<Results[C['op']]> {
    return this.#session.call(call, scope, signal);
  }

  begin(signal?: AbortSignal): TransactionScope {
    return this.#session.begin(signal);
  }

  leave(scope: TransactionScope): void {
    this.#session.leave(scope);
  }

  close(): Promise<void> {
    return this.#session.close();
  }
}
