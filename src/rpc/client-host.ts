// The worker's end of a connection: the host of all, narrowed to the sessions of one client.
//
// Keeps true: when the client goes, its sessions are closed, also one that was still being opened;
// and every reply is an outcome, because comlink would strip a thrown error of its code.

import { expose } from 'comlink';
import { storageError } from '../contract/errors.ts';
import type { ChannelEndpoint } from './channel-endpoint.ts';
import type { ConnectionMessage } from './control.ts';
import { toWire } from './errors-on-wire.ts';
import type { Call, Outcome, SessionId, StorageHost } from './protocol.ts';

export class ClientHost implements StorageHost {
  readonly #host: StorageHost;
  readonly #endpoint: ChannelEndpoint;
  readonly #sessions = new Set<SessionId>();
  readonly #end = new AbortController();

  constructor(host: StorageHost, endpoint: ChannelEndpoint) {
    this.#host = host;
    this.#endpoint = endpoint;
    // comlink lets a peer reach every property, so it is shown three functions.
    const surface: StorageHost = {
      open: (name) => this.open(name),
      execute: (session, calls) => this.execute(session, calls),
      close: (session) => this.close(session),
    };
    expose(surface, endpoint);
    // Whose call it was cannot be told any more, so none would ever be answered.
    endpoint.addEventListener('messageerror', () => this.end());
    this.#post({ type: 'accepted' });
  }

  /** Aborted when the connection has ended. */
  get ended(): AbortSignal {
    return this.#end.signal;
  }

  async open(name: string): Promise<Outcome<SessionId>> {
    try {
      const outcome = await this.#host.open(name);
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

  /** Closes every session and the connection; idempotent. */
  end(): void {
    if (this.ended.aborted) return;
    this.#end.abort();
    this.#post({ type: 'closed' });
    this.#endpoint.close();
    for (const session of this.#sessions) void this.#host.close(session);
    this.#sessions.clear();
  }

  #post(message: ConnectionMessage): void {
    this.#endpoint.postMessage(message);
  }
}
