// The sessions of one page, by the numbers that the protocol gives them.
//
// A batch of calls is one event of the object. Importing a database is not, because it ends the
// instance: it is done by the host, between two instances.

import { storageError } from '../../src/contract/errors.ts';
import { idOfStorage, type ObjectAddress } from '../../src/contract/object-id.ts';
import type { Call, CallOf } from '../../src/contract/operations.ts';
import { type Outcome, toWire } from '../../src/rpc/errors-on-wire.ts';
import type { WireAddress } from '../../src/rpc/object-protocol.ts';
import type { SessionId, StoragePeer } from '../../src/rpc/protocol.ts';
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

export class PageSessions implements StoragePeer {
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

  async execute(id: SessionId, calls: readonly Call[]): Promise<Outcome[]> {
    const session = this.#sessions.get(id);
    if (session === undefined) {
      const closed = toWire(handleClosed());
      return calls.map(() => ({ error: closed }));
    }
    if (calls.every(({ flag }) => flag === undefined)) return this.#execute(session, calls, []);
    const { cancellations } = this.#host;
    const flagged = calls.map(({ flag }) => flag && cancellations.begin(flag));
    try {
      return await this.#execute(session, calls, flagged);
    } finally {
      for (const cancellation of flagged) cancellation?.end();
    }
  }

  async #execute(
    session: PageSession,
    calls: readonly Call[],
    flagged: CallCancellations,
  ): Promise<Outcome[]> {
    const [first] = calls;
    if (first?.op === 'importDatabase') {
      return [await outcome(this.#import(session, first, flagged[0]))];
    }
    try {
      const instance = await this.#host.instance(session.address);
      return await session.execute(instance, calls, flagged);
    } catch (error) {
      const wire = toWire(error);
      // For `abort` the reset is the success; unconfirmed earlier calls are lost.
      return calls.map((call) => (call.op === 'abort' ? { ok: null } : { error: wire }));
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
