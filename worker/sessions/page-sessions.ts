// The sessions of one page, by the numbers that the protocol gives them.
//
// A batch of calls is one event of the object. Importing a database is not, because it ends the
// instance: it is done by the host, between two instances.

import { storageError } from '../../src/contract/errors.ts';
import { idOfStorage, type ObjectAddress } from '../../src/contract/object-id.ts';
import type { Call, CallOf } from '../../src/contract/operations.ts';
import { type Outcome, toWire } from '../../src/rpc/errors-on-wire.ts';
import type { WireAddress } from '../../src/rpc/object-protocol.ts';
import type { SessionId, StorageService } from '../../src/rpc/protocol.ts';
import { fromWireAddress } from '../../src/stubs/wire-address.ts';

import type { ObjectHost } from '../host/object-host.ts';
import type { Cancellation } from '../io/cancellation.ts';
import {
  type CallCancellations,
  handleClosed,
  outcome,
  PageSession,
  type SessionEnvironment,
} from './page-session.ts';
import type { After } from './page-transaction.ts';

export class PageSessions implements StorageService {
  readonly #host: ObjectHost;
  readonly #environment: SessionEnvironment;
  readonly #sessions = new Map<SessionId, PageSession>();
  #lastId = 0;

  constructor(host: ObjectHost, after: After) {
    this.#host = host;
    this.#environment = { after, nextId: () => this.#nextId() };
  }

  /** True while a page holds a transaction open. */
  get isInTransaction(): boolean {
    return [...this.#sessions.values()].some(({ inTransaction }) => inTransaction);
  }

  async open(target: string | WireAddress): Promise<Outcome<SessionId>> {
    let address: ObjectAddress;
    try {
      address =
        typeof target === 'string'
          ? { className: null, id: idOfStorage(target) }
          : fromWireAddress(target);
      await this.#host.instance(address);
    } catch (error) {
      return { error: toWire(error) };
    }
    const id = this.#nextId();
    this.#sessions.set(id, new PageSession(address, this.#environment));
    return { ok: id };
  }

  execute(id: SessionId, calls: readonly Call[]): Outcome[] | Promise<Outcome[]> {
    const session = this.#sessions.get(id);
    if (session === undefined) {
      const closed = toWire(handleClosed());
      return calls.map(() => ({ error: closed }));
    }
    if (calls.some(({ flag }) => flag !== undefined)) return this.#executeFlagged(session, calls);
    return this.#execute(session, calls, []);
  }

  async #executeFlagged(session: PageSession, calls: readonly Call[]): Promise<Outcome[]> {
    const { cancellations } = this.#host;
    const flagged = calls.map(({ flag }) => flag && cancellations.begin(flag));
    try {
      return await this.#execute(session, calls, flagged);
    } finally {
      for (const cancellation of flagged) cancellation?.end();
    }
  }

  #execute(
    session: PageSession,
    calls: readonly Call[],
    flagged: CallCancellations,
  ): Outcome[] | Promise<Outcome[]> {
    const [first] = calls;
    if (first?.op === 'importDatabase') {
      return outcome(this.#import(session, first, flagged[0])).then((imported) => [imported]);
    }
    const live = this.#host.liveInstance(session.address);
    if (live === undefined) return this.#executeAtNext(session, calls, flagged);
    try {
      const outcomes = session.execute(live, calls, flagged);
      return outcomes instanceof Promise ? outcomes.catch((e) => failures(calls, e)) : outcomes;
    } catch (error) {
      return failures(calls, error);
    }
  }

  async #executeAtNext(
    session: PageSession,
    calls: readonly Call[],
    flagged: CallCancellations,
  ): Promise<Outcome[]> {
    try {
      const instance = await this.#host.instance(session.address);
      return await session.execute(instance, calls, flagged);
    } catch (error) {
      return failures(calls, error);
    }
  }

  async cancel(flags: readonly string[]): Promise<void> {
    this.#host.cancellations.cancel(flags);
  }

  async close(id: SessionId): Promise<void> {
    const session = this.#sessions.get(id);
    this.#sessions.delete(id);
    await session?.close();
  }

  async #import(
    session: PageSession,
    call: CallOf<'importDatabase'>,
    cancellation: Cancellation | undefined,
  ): Promise<string> {
    cancellation?.check();
    if (session.inTransaction) {
      throw storageError(
        'TRANSACTION_NESTING',
        'importDatabase: not inside transaction(); call it before or after.',
      );
    }
    return await this.#host.importDatabase(session.address, call.database, call.wal);
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }
}

/** For `abort` the reset is the success; unconfirmed earlier calls are lost. */
function failures(calls: readonly Call[], error: unknown): Outcome[] {
  const wire = toWire(error);
  return calls.map((call) => (call.op === 'abort' ? { ok: null } : { error: wire }));
}
