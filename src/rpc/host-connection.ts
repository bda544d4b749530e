// The page's end of a connection to the worker that leads, on which every call settles.
//
// comlink never settles what is pending when its peer dies or its proxy is released. Here a
// connection fails once, for one reason: what is pending rejects with it, and so does every later
// call. Who finds out that the peer died is told by fail(); a peer that says goodbye, and a message
// that could not be read, are noticed here.

import { type Remote, wrap } from 'comlink';
import { storageError } from '../contract/errors.ts';
import type { ChannelEndpoint } from './channel-endpoint.ts';
import type { ConnectionMessage } from './control.ts';
import type { Call, Outcome, SessionId, StorageHost } from './protocol.ts';

export class HostConnection implements StorageHost {
  /** Resolves to the reason when the connection has failed. */
  readonly lost: Promise<Error>;
  readonly #endpoint: ChannelEndpoint;
  // Kept for the life of the connection: comlink releases a remote whose proxies were collected.
  readonly #remote: Remote<StorageHost>;
  readonly #open: Remote<StorageHost['open']>;
  readonly #execute: Remote<StorageHost['execute']>;
  readonly #close: Remote<StorageHost['close']>;
  readonly #pending = new Set<(reason: Error) => void>();
  #failure: Error | null = null;
  #reportLost: (reason: Error) => void = () => {};

  constructor(endpoint: ChannelEndpoint) {
    this.#endpoint = endpoint;
    this.#remote = wrap<StorageHost>(endpoint);
    this.#open = this.#remote.open;
    this.#execute = this.#remote.execute;
    this.#close = this.#remote.close;
    this.lost = new Promise((resolve) => {
      this.#reportLost = resolve;
    });
    endpoint.addEventListener('message', (event) => {
      const message = (event as MessageEvent<ConnectionMessage>).data;
      if (message.type === 'closed') this.fail(connectionClosed('the worker dropped it'));
    });
    endpoint.addEventListener('messageerror', () => {
      this.fail(connectionClosed('a message from the worker could not be read'));
    });
  }

  /** Why the connection failed, or null while it stands. */
  get failure(): Error | null {
    return this.#failure;
  }

  open(name: string): Promise<Outcome<SessionId>> {
    return this.#settling(() => this.#open(name) as Promise<Outcome<SessionId>>);
  }

  execute(session: SessionId, calls: readonly Call[]): Promise<Outcome[]> {
    return this.#settling(() => this.#execute(session, calls) as Promise<Outcome[]>);
  }

  close(session: SessionId): Promise<void> {
    return this.#settling(() => this.#close(session));
  }

  /** Ends the connection for this reason; later reasons change nothing. */
  fail(reason: Error): void {
    if (this.#failure !== null) return;
    this.#failure = reason;
    this.#endpoint.close();
    for (const reject of this.#pending) reject(reason);
    this.#pending.clear();
    this.#reportLost(reason);
  }

  // A host answers with outcomes and rejects nothing, so a rejection is a defect: its own, or of an
  // argument that cannot be posted.
  #settling<T>(send: () => Promise<T>): Promise<T> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#pending.add(reject);
      send().then(
        (result) => {
          this.#pending.delete(reject);
          resolve(result);
        },
        (cause) => {
          this.#pending.delete(reject);
          reject(storageError('INTERNAL', `The call failed on its way: ${cause}`, { cause }));
        },
      );
    });
  }
}

/** The error of calls whose worker is gone. */
export function connectionClosed(fact: string): Error {
  return storageError(
    'CONNECTION_CLOSED',
    `The connection to the worker ended: ${fact}. A write under way may or may not have taken ` +
      'effect; read before making it again.',
  );
}
