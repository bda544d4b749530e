// The sessions of pages, by the numbers that the protocol gives them, and the instance that runs a batch of their calls.
//
// A call by the host is no event of the object. Importing a database and restoring end the instance: the host does them
// between two instances. Merging a branch opens the branch first.
//
// Invariant: a batch that has begun is not run again. One that waits when its instance ends is run by the next one.

import { fromWireAddress } from '../../../src/shared/calls/stubs/wire-address.ts';
import { isStorageError, storageError } from '../../../src/shared/contract/errors.ts';
import { assert } from '../../../src/shared/contract/invariant.ts';
import { idOfStorage, type ObjectAddress } from '../../../src/shared/contract/object-id.ts';
import type { WireAddress } from '../../../src/shared/wire/address.ts';
import { type Outcome, toWire } from '../../../src/shared/wire/errors-on-wire.ts';
import {
  type Call,
  type CallBy,
  isBy,
  type OperationName,
  type Performed,
} from '../../../src/shared/wire/operations.ts';
import type { SessionId, StorageService } from '../../../src/shared/wire/protocol.ts';
import type { ObjectHost } from '../host/object-host.ts';
import { isUnreadable } from '../host/replace-database.ts';
import type { Cancellation } from '../io/cancellation.ts';
import { HOST_OPERATIONS } from './host-operations.ts';
import {
  type Batch,
  handleClosed,
  isBoundary,
  outcome,
  PageSession,
  type SessionEnvironment,
} from './page-session.ts';
import type { After } from './page-transaction.ts';

export class PageSessions implements StorageService {
  readonly #host: ObjectHost;
  readonly #environment: SessionEnvironment;
  readonly #sessions = new Map<SessionId, PageSession>();
  /** For each session on a branch, the function that ends its use of the branch. */
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
      letGo = this.#host.branches.hold(await this.#host.located(address));
      await this.#host.instance(address).catch((error) => {
        // If the file cannot be read, the session opens nevertheless: each call gets the error, except an import, which
        // repairs the object.
        if (!isUnreadable(address, error)) throw error;
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
    if (first !== undefined && isBy(first, 'host')) {
      return outcome(this.#performByHost(session, first, batch.flagged[0])).then((one) => [one]);
    }
    const live = this.#host.instances.live(session.key);
    if (live === undefined) return this.#executeAtNext(session, batch);
    try {
      const outcomes = session.execute(live, batch);
      if (!(outcomes instanceof Promise)) return outcomes;
      return outcomes.catch((error) => this.#moveToNextInstance(session, batch, error));
    } catch (error) {
      return this.#moveToNextInstance(session, batch, error);
    }
  }

  async #executeAtNext(session: PageSession, batch: Batch): Promise<Outcome[]> {
    let isReached = false;
    try {
      assert(!batch.hasBegun, 'a batch ran twice');
      return await this.#host.use(session.address, (instance) => {
        isReached = true;
        return session.execute(instance, batch);
      });
    } catch (error) {
      return isReached
        ? this.#moveToNextInstance(session, batch, error)
        : failures(batch.calls, error);
    }
  }

  /**
   * Called when the instance ended: a batch that waited for its turn moves to the next instance, as if it had come
   * later.
   */
  #moveToNextInstance(
    session: PageSession,
    batch: Batch,
    error: unknown,
  ): Outcome[] | Promise<Outcome[]> {
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

  async #performByHost(
    session: PageSession,
    call: CallBy<'host'>,
    cancellation: Cancellation | undefined,
  ): Promise<Awaited<Performed<OperationName>>> {
    cancellation?.check();
    if (session.inTransaction) {
      throw storageError(
        'TRANSACTION_NESTING',
        `${call.op}: not inside transaction(); call it before or after.`,
      );
    }
    const by = session.authorOf(call);
    return HOST_OPERATIONS[call.op](this.#host, session.address, call as never, by, cancellation);
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }
}

/** True if the instance ended before the batch began, so that another instance can run the batch. */
function canMove({ calls, hasBegun }: Batch, error: unknown): boolean {
  if (hasBegun || !isStorageError(error)) return false;
  if (error.code !== 'OBJECT_RESET' || error.retryable !== true) return false;
  return calls.every((call) => !isBoundary(call) && call.txn === undefined);
}

/**
 * Returns the outcomes of calls whose instance ended. For `abort`, the reset is the success; earlier unconfirmed calls
 * are lost.
 */
function failures(calls: readonly Call[], error: unknown): Outcome[] {
  const wire = toWire(error);
  return calls.map((call) => (call.op === 'abort' ? { ok: null } : { error: wire }));
}
