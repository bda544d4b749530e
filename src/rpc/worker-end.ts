// The worker's end of a connection: the host of all, narrowed to the sessions of one client, and what
// the client holds of objects.
//
// Keeps true: when the client goes, its sessions are closed, also one that was still being opened,
// and what it held is let go of; every reply is an outcome, because comlink would strip a thrown
// error of its code; and what the client sends is checked here, so that nothing behind this file
// meets a message of another shape than the protocol's.

import { wrap } from 'comlink';
import { checkNumberOf } from '../contract/check.ts';
import { storageError } from '../contract/errors.ts';
import type { Call } from '../contract/operations.ts';
import { type Answer, answerCalls } from './answer-calls.ts';
import type { ChannelEndpoint } from './channel-endpoint.ts';
import { checkCalls, checkTarget } from './check-calls.ts';
import {
  checkAddress,
  checkManageRequest,
  checkObjectRequest,
  checkReference,
  checkReferenceRequest,
  checkReferences,
} from './check-objects.ts';
import { checkOutcome } from './check-outcomes.ts';
import type { ConnectionMessage } from './control.ts';
import { type Outcome, toWire } from './errors-on-wire.ts';
import type {
  ObjectsConnection,
  ObjectsPeer,
  ObjectsService,
  Payload,
  ReferencePeer,
  WireAddress,
} from './object-protocol.ts';
import { connectionClosed } from './page-end.ts';
import { PendingCalls } from './pending-calls.ts';
import { BATCH_CALLS_MAX, type SessionId, type StoragePeer } from './protocol.ts';

/** A worker's host: objects' storage, and calls of objects when it serves classes. */
export interface WorkerService extends StoragePeer {
  readonly objects?: ObjectsService;
  /** Resolves to the reason when the host can serve nothing more. */
  readonly lost?: Promise<Error>;
}

export class WorkerEnd implements StoragePeer {
  readonly #host: WorkerService;
  readonly #objects: ObjectsConnection;
  /** Calls of what the client passed by reference. */
  readonly #pending = new PendingCalls();
  readonly #endpoint: ChannelEndpoint;
  readonly #sessions = new Set<SessionId>();
  readonly #end = new AbortController();

  constructor(host: WorkerService, endpoint: ChannelEndpoint) {
    this.#host = host;
    this.#endpoint = endpoint;
    const objects = host.objects?.connect(this.#client()) ?? NO_OBJECTS;
    this.#objects = objects;
    answerCalls(this.#answers(objects), endpoint);
    endpoint.addEventListener('message', (event) => {
      const message = (event as MessageEvent<ConnectionMessage | null>).data;
      if (message?.type === 'closed') this.end();
      if (message?.type === 'ping') this.#post({ type: 'pong' });
    });
    // Whose call it was cannot be told any more, so none would ever be answered.
    endpoint.addEventListener('messageerror', () => this.end());
    this.#post({ type: 'accepted' });
  }

  /** Aborted when the connection has ended. */
  get ended(): AbortSignal {
    return this.#end.signal;
  }

  async open(target: string | WireAddress): Promise<Outcome<SessionId>> {
    try {
      const outcome = await this.#host.open(target);
      if ('error' in outcome) return outcome;
      if (this.ended.aborted) await this.#host.close(outcome.ok);
      else this.#sessions.add(outcome.ok);
      return outcome;
    } catch (defect) {
      return { error: toWire(defect) };
    }
  }

  async execute(session: SessionId, calls: readonly Call[]): Promise<Outcome[]> {
    try {
      if (!this.#sessions.has(session)) {
        throw storageError('CONNECTION_CLOSED', 'This handle was closed; open the object again.');
      }
      return await this.#host.execute(session, calls);
    } catch (defect) {
      const error = toWire(defect);
      return calls.map(() => ({ error }));
    }
  }

  async close(session: SessionId): Promise<void> {
    if (this.#sessions.delete(session)) await this.#host.close(session);
  }

  /** Closes every session and the connection, and tells the client why; idempotent. */
  end(error?: Error): void {
    if (this.ended.aborted) return;
    this.#end.abort();
    this.#post({ type: 'closed', ...(error !== undefined && { error: toWire(error) }) });
    this.#endpoint.close();
    for (const session of this.#sessions) void this.#host.close(session);
    this.#sessions.clear();
    const reason = connectionClosed('the page is gone');
    this.#pending.fail(reason);
    this.#objects.end(reason);
  }

  #answers(
    objects: ObjectsConnection,
  ): Record<keyof (StoragePeer & ObjectsPeer & ReferencePeer), Answer> {
    return {
      open: (target) => this.open(checkTarget(target)),
      execute: (session, calls) => this.#executeMessage(session, calls),
      close: (session) => this.close(checkNumberOf('session', session)),
      classes: () => objects.classes(),
      call: (address, request) => objects.call(checkAddress(address), checkObjectRequest(request)),
      manage: (request) => objects.manage(checkManageRequest(request)),
      ask: (reference, request) =>
        objects.ask(checkReference(reference), checkReferenceRequest(request)),
      release: (numbers) => objects.release(checkReferences(numbers)),
    };
  }

  // A message that is malformed in one call is refused whole; each call of it has the outcome.
  async #executeMessage(session: unknown, calls: unknown): Promise<Outcome[]> {
    try {
      return await this.execute(checkNumberOf('session', session), checkCalls(calls));
    } catch (error) {
      const count = Array.isArray(calls) ? Math.min(calls.length, BATCH_CALLS_MAX) : 1;
      return new Array(count).fill({ error: toWire(error) });
    }
  }

  /** What the client shows. */
  #client(): ReferencePeer {
    const { ask, release } = wrap(this.#endpoint) as unknown as ReferencePeer;
    const pending = this.#pending;
    return {
      ask: (reference, request) =>
        pending.make(() => ask(reference, request)).then(checkOutcome<Payload | null>),
      release: (numbers) => pending.make(() => release(numbers)),
    };
  }

  #post(message: ConnectionMessage): void {
    this.#endpoint.postMessage(message);
  }
}

/** Of a worker that serves no classes. */
const NO_OBJECTS: ObjectsConnection = {
  classes: async () => ({ ok: { classes: [], bindings: [] } }),
  call: async () => ({ error: toWire(noClasses()) }),
  manage: async () => ({ error: toWire(noClasses()) }),
  ask: async () => ({ error: toWire(noClasses()) }),
  release: async () => {},
  end: () => {},
};

function noClasses(): Error {
  return storageError(
    'UNKNOWN_CLASS',
    'The worker serves no classes; start one whose script calls serve() of ctx-storage/worker.',
  );
}
