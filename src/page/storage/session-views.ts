// Wraps the calls of a session, to add a signal or a label to each.

import { bothSignals } from '../../shared/calls/stubs/with-signal.ts';
import { type Call, operationOf, type Results } from '../../shared/wire/operations.ts';
import type { Session, SessionCalls } from './session.ts';
import type { TransactionScope } from './transaction-scope.ts';

/** Wraps SessionCalls; the signal cancels every call. */
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

/** Wraps the calls of a session, so that each commit that they make has this label in the object's history. */
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
