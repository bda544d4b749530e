// Implements `at` on a page: reads an earlier moment of an object, over the session of the object's handle.
//
// The object's instance in the worker holds a view of the moment in memory. If the view is lost (after a reset, a restore,
// a change of the leading worker, or to save memory), the next call opens it again by its bookmark. A handle of a moment
// therefore works until it is closed, or until the history of its moment was deleted.

import { setWithSignal, untilAborted } from '../../shared/calls/stubs/with-signal.ts';
import { isStorageError, storageError } from '../../shared/contract/errors.ts';
import type {
  RemoteKvStorage,
  RemoteSqlStorage,
  StorageMoment,
} from '../../shared/contract/storage.ts';
import type { Call, Results } from '../../shared/wire/operations.ts';
import type { OpenedMoment } from '../../shared/wire/results.ts';
import type { PageEnvironment } from '../leader/environment.ts';
import { RemoteKeyValue, RemoteKv } from './remote-kv.ts';
import { RemoteQueries } from './remote-sql.ts';
import { Repeats } from './repeats.ts';
import type { Session, SessionCalls } from './session.ts';
import { SignalledCalls } from './session-views.ts';
import type { TransactionScope } from './transaction-scope.ts';

/** The handle of a moment. It inherits methods that write, which its type hides; they reject with READ_ONLY. */
export class RemoteMoment extends RemoteKeyValue implements StorageMoment {
  readonly bookmark: string;
  readonly sql: Pick<RemoteSqlStorage, 'exec' | 'databaseSize'>;
  readonly kv: Pick<RemoteKvStorage, 'get' | 'list'>;
  readonly #session: MomentSession;

  constructor(session: MomentSession, environment: Pick<PageEnvironment, 'whenCollected'>) {
    super(session);
    this.#session = session;
    this.bookmark = session.bookmark;
    this.sql = new RemoteQueries(session, environment.whenCollected);
    this.kv = new RemoteKv(session);
    setWithSignal(this, (signal) => new RemoteMoment(session.withSignal(signal), environment));
  }

  exportDatabase(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#session.call({ op: 'exportDatabase' });
  }

  close(): Promise<void> {
    return this.#session.close();
  }
}

/** Names a moment by its bookmark or by its time. The other member is null. */
export interface NamedMoment {
  readonly bookmark: string | null;
  readonly timeMs: number | null;
}

/** The state that a moment's handle shares with its views that have a signal. */
interface Shared {
  readonly bookmark: string;
  /** The view that the worker holds; null if it has to be opened. */
  view: { readonly generation: number; readonly id: Promise<number> } | null;
  isClosed: boolean;
}

export class MomentSession implements SessionCalls {
  readonly session: Session;
  readonly #calls: SessionCalls;
  readonly #shared: Shared;

  constructor(calls: SessionCalls, shared: Shared) {
    this.#calls = calls;
    this.session = calls.session;
    this.#shared = shared;
  }

  /** A moment has no label, because it makes no commits. */
  get label(): undefined {
    return undefined;
  }

  /** Opens a moment. @throws BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE, CORRUPT, MEMORY_FULL */
  static async open(calls: SessionCalls, at: NamedMoment): Promise<MomentSession> {
    const { signal } = calls;
    signal?.throwIfAborted();
    const opening = MomentSession.#open(calls, at);
    return signal ? untilAborted(opening, signal, (late) => void late.close()) : opening;
  }

  static async #open(calls: SessionCalls, at: NamedMoment): Promise<MomentSession> {
    for (const repeats = new Repeats(calls.session.now); ; ) {
      const { generation } = calls.session;
      try {
        const { moment, bookmark } = await openAt(calls, at);
        const view = { generation, id: Promise.resolve(moment) };
        return new MomentSession(calls, { bookmark, view, isClosed: false });
      } catch (error) {
        if (!isLost(error, calls) || repeats.areOver(error)) throw error;
      }
    }
  }

  get bookmark(): string {
    return this.#shared.bookmark;
  }

  /** Returns a view of the moment whose calls the signal also cancels. */
  withSignal(signal: AbortSignal): MomentSession {
    return new MomentSession(new SignalledCalls(this.#calls, signal), this.#shared);
  }

  async call<C extends Call>(
    call: C,
    _scope?: TransactionScope | null,
    signal?: AbortSignal | null,
  ): Promise<Results[C['op']]> {
    const calls = this.#calls;
    const ownSignal = signal === undefined ? calls.signal : signal;
    // Calls of an open cursor need no moment, because the worker finds the cursor by its number.
    const isOfCursor = call.op === 'rows' || call.op === 'closeCursor';
    if (isOfCursor) return calls.call(call, null, ownSignal);
    for (const repeats = new Repeats(calls.session.now); ; ) {
      const moment = await this.#view();
      try {
        return await calls.call({ ...call, moment }, null, ownSignal);
      } catch (error) {
        if (!isLost(error, calls) || repeats.areOver(error)) throw error;
        this.#shared.view = null;
      }
    }
  }

  async close(): Promise<void> {
    const { view, isClosed } = this.#shared;
    this.#shared.isClosed = true;
    if (isClosed || view === null || view.generation !== this.session.generation) return;
    // This fails only if the handle or its worker has ended, which has closed the view.
    const id = await view.id.catch(() => null);
    if (id !== null) await this.#calls.call({ op: 'closeMoment', id }, null, null).catch(() => {});
  }

  #view(): Promise<number> {
    const shared = this.#shared;
    if (shared.isClosed) return Promise.reject(momentClosedError());
    const { generation } = this.session;
    if (shared.view?.generation === generation) return shared.view.id;
    const { bookmark } = shared;
    const opened = openAt(this.#calls, { bookmark, timeMs: null }).then(({ moment }) => moment);
    const view = { generation, id: opened };
    shared.view = view;
    opened.catch(() => {
      if (shared.view === view) shared.view = null;
    });
    return opened;
  }

  get signal(): AbortSignal | undefined {
    return this.#calls.signal;
  }

  get end(): Error | undefined {
    return this.#shared.isClosed ? momentClosedError() : this.#calls.end;
  }
}

// Opens a view. The call is not cancelled by a signal, because the number of the opened view would be lost.
function openAt(calls: SessionCalls, at: NamedMoment): Promise<OpenedMoment> {
  return calls.call({ op: 'openMoment', ...at }, null, null);
}

/** Returns true if the worker has lost the view, but the session still exists. */
function isLost(error: unknown, calls: SessionCalls): boolean {
  if (calls.end !== undefined || !isStorageError(error)) return false;
  return ['MOMENT_CLOSED', 'OBJECT_RESET', 'CONNECTION_CLOSED'].includes(error.code);
}

function momentClosedError(): Error {
  return storageError(
    'MOMENT_CLOSED',
    'The handle of the earlier moment was closed; call at() again.',
  );
}
