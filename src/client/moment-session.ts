// The session of an earlier moment: that of its handle, with calls that read the moment.
//
// A moment is a view that one instance of the object holds in memory. When that is gone (a reset, a
// restore, another tab's worker, room made for others), the next call opens it again by its bookmark. So
// a handle goes on until it is closed, or until the history of its moment was given up.

import { isStorageError, storageError } from '../contract/errors.ts';
import type { Call, OpenedMoment, Results } from '../contract/operations.ts';
import { type SessionCalls, SignalledSession } from './signalled-session.ts';
import type { TransactionScope } from './transaction-scope.ts';

/** How often a call is made before it rejects: the object may be reset while it opens the moment. */
const TRIES_MAX = 3;

/** What the handles of one moment share: with and without signals. */
interface Shared {
  readonly bookmark: string;
  /** The view that the worker holds; null: to be opened. */
  view: { readonly generation: number; readonly id: Promise<number> } | null;
  isClosed: boolean;
}

export class MomentSession implements SessionCalls {
  readonly #session: SessionCalls;
  readonly #shared: Shared;

  constructor(session: SessionCalls, shared: Shared) {
    this.#session = session;
    this.#shared = shared;
  }

  /** Opens it. @throws BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE, CORRUPT, MEMORY_FULL */
  static async open(
    session: SessionCalls,
    at: { readonly bookmark: string } | { readonly timeMs: number },
  ): Promise<MomentSession> {
    for (let tries = 1; ; tries++) {
      const { generation } = session;
      try {
        const { moment, bookmark } = await openAt(session, { bookmark: null, timeMs: null, ...at });
        const view = { generation, id: Promise.resolve(moment) };
        return new MomentSession(session, { bookmark, view, isClosed: false });
      } catch (error) {
        if (tries === TRIES_MAX || !isLost(error, session)) throw error;
      }
    }
  }

  get bookmark(): string {
    return this.#shared.bookmark;
  }

  /** The same moment, whose calls end with the signal too. */
  withSignal(signal: AbortSignal): MomentSession {
    return new MomentSession(new SignalledSession(this.#session, signal), this.#shared);
  }

  async call<C extends Call>(
    call: C,
    _scope?: TransactionScope | null,
    signal?: AbortSignal | null,
  ): Promise<Results[C['op']]> {
    const session = this.#session;
    const ownSignal = signal === undefined ? session.signal : signal;
    // They belong to a cursor, which the worker knows by its number.
    const isOfCursor = call.op === 'rows' || call.op === 'closeCursor';
    if (isOfCursor) return session.call(call, null, ownSignal);
    for (let tries = 1; ; tries++) {
      const moment = await this.#view();
      try {
        return await session.call({ ...call, moment }, null, ownSignal);
      } catch (error) {
        if (tries === TRIES_MAX || !isLost(error, session)) throw error;
        this.#shared.view = null;
      }
    }
  }

  async close(): Promise<void> {
    const { view, isClosed } = this.#shared;
    this.#shared.isClosed = true;
    if (isClosed || view === null || view.generation !== this.generation) return;
    // Fails only if the handle or its worker has ended, which closed it.
    const id = await view.id.catch(() => null);
    if (id !== null)
      await this.#session.call({ op: 'closeMoment', id }, null, null).catch(() => {});
  }

  #view(): Promise<number> {
    const shared = this.#shared;
    if (shared.isClosed) return Promise.reject(closed());
    if (shared.view?.generation === this.generation) return shared.view.id;
    const { bookmark } = shared;
    const opened = openAt(this.#session, { bookmark, timeMs: null }).then(({ moment }) => moment);
    const view = { generation: this.generation, id: opened };
    shared.view = view;
    opened.catch(() => {
      if (shared.view === view) shared.view = null;
    });
    return opened;
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

  get signal() {
    return this.#session.signal;
  }

  get generation(): number {
    return this.#session.generation;
  }

  get end(): Error | undefined {
    return this.#shared.isClosed ? closed() : this.#session.end;
  }

  // A moment has no transactions: nothing of it changes.
  readonly isInTransaction = false;

  begin(): never {
    throw storageError('READ_ONLY', 'transaction: an earlier moment can only be read.');
  }

  leave(): void {}
}

// Not cancelled half-way: what it opened would not be known.
function openAt(
  session: SessionCalls,
  at: { readonly bookmark: string | null; readonly timeMs: number | null },
): Promise<OpenedMoment> {
  return session.call({ op: 'openMoment', ...at }, null, null);
}

/** True if the view is gone, and the session is not. */
function isLost(error: unknown, session: SessionCalls): boolean {
  if (session.end !== undefined || !isStorageError(error)) return false;
  return ['MOMENT_CLOSED', 'OBJECT_RESET', 'CONNECTION_CLOSED'].includes(error.code);
}

function closed(): Error {
  return storageError(
    'MOMENT_CLOSED',
    'The handle of the earlier moment was closed; call at() again.',
  );
}
