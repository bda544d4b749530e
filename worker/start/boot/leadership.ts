// Manages the connections of a worker while it leads. It serves its own page, and each other tab's page over a separate
// channel, until it dies, its files are deleted, or it steps down for a newer deployment.
//
// Invariant: stepping down takes a bounded time, whatever code runs. Until it ends, everything that pages have sent is
// answered; pages hold back further calls, so that no call is refused or made twice. No assertion keeps this: it is
// about several threads and about time; the model of the election and the tests of takeovers have them.
//
// A client is gone when its lock is released. Its sessions are then closed.

import { ChannelEndpoint, type WireChannel } from '../../../src/shared/wire/channel-endpoint.ts';
import type { ControlMessage, namesOf } from '../../../src/shared/wire/control.ts';
import { type Locks, whenReleased } from '../../../src/shared/wire/control.ts';
import { connectionClosed } from '../../../src/shared/wire/errors-on-wire.ts';
import { WorkerEnd, type WorkerService } from '../../../src/shared/wire/worker-end.ts';

/**
 * How long pages may take to confirm that they send no more calls. A page with a busy thread confirms late, and calls that
 * it sends after this time reject. A suspended page never confirms.
 */
export const PAUSE_MS = 2000;

/** How long running events may take to end when the worker steps down. Then their objects are reset. */
export const YIELD_MS = 3000;

/** How long the last flush may take. Then the worker is terminated, which releases its files in any case. */
export const CLOSE_MS = 10_000;

/** How long answers may take to be sent once their events have ended. */
const ANSWER_MS = 250;

const POLL_MS = 5;

export interface LeadershipEnvironment {
  readonly locks: Locks;
  readonly names: ReturnType<typeof namesOf>;
  readonly after: (delayMs: number, task: () => void) => void;
  /** Returns milliseconds that never decrease. */
  readonly elapsed: () => number;
  readonly openChannel: (name: string) => BroadcastChannel;
  /** Tells the worker's own page that it leads, and opens a channel to it. */
  readonly openOwnChannel: () => WireChannel;
  /** Terminates this worker. */
  readonly close: () => void;
}

export class Leadership {
  readonly #host: WorkerService;
  readonly #environment: LeadershipEnvironment;
  /** The connections by client. A page that connects again has abandoned its earlier connection. */
  readonly #clients = new Map<string, WorkerEnd>();
  /** The connections of this worker's own page. */
  readonly #own = new Set<WorkerEnd>();

  constructor(host: WorkerService, environment: LeadershipEnvironment) {
    this.#host = host;
    this.#environment = environment;
  }

  connectOwnPage(): void {
    const channel = this.#environment.openOwnChannel();
    // Earlier connections stay open, because a call may be pending on one of them. The page closes the connections that
    // it does not use.
    const endpoint = new ChannelEndpoint(channel, this.#host.pace);
    const admitted = new WorkerEnd(this.#host, endpoint, this.#environment.elapsed);
    this.#own.add(admitted);
    admitted.ended.addEventListener('abort', () => this.#own.delete(admitted));
  }

  connect({ client, connection }: ControlMessage & { type: 'connect' }): void {
    // Both values become parts of names, and any tab of the origin can post to this channel, even a tab with other
    // code.
    if (typeof client !== 'string' || typeof connection !== 'string') return;
    const { locks, names, openChannel } = this.#environment;
    const channel = openChannel(names.connectionChannel(connection));
    const admitted = this.#admit(client, new ChannelEndpoint(channel, this.#host.pace));
    whenReleased(locks, names.clientLock(client), admitted.ended, () => admitted.end());
  }

  /** Ends every connection with this reason. */
  end(reason: Error): void {
    for (const connection of this.#connections) connection.end(reason);
  }

  /**
   * Steps down: waits for running events, then flushes and closes everything. `fact` is the reason that pages and reset
   * objects get. Never rejects; if a write cannot be flushed, its caller gets the error.
   */
  async yield(fact: string): Promise<void> {
    const connections = this.#connections;
    this.#host.rest?.();
    for (const connection of connections) connection.yield();
    await this.#until(() => connections.every(({ hasPaused }) => hasPaused), PAUSE_MS);
    const answered = () => connections.every(({ isQuiet }) => isQuiet);
    await this.#until(() => answered() && this.#host.isQuiet !== false, YIELD_MS);
    await this.#close(fact);
    await this.#until(answered, ANSWER_MS);
    this.end(connectionClosed(fact));
  }

  // Closes the host. If that fails, the worker is terminated, which releases its lock and files.
  async #close(fact: string): Promise<void> {
    let isClosed = false;
    const { after, close } = this.#environment;
    after(CLOSE_MS, () => {
      if (!isClosed) close();
    });
    await this.#host.end?.(fact).catch(() => {});
    isClosed = true;
  }

  // Waits until the condition is true, at most `waitMs` by the clock. It does not count checks, which come late on a busy
  // machine.
  #until(isTrue: () => boolean, waitMs: number): Promise<void> {
    const { after, elapsed } = this.#environment;
    const endMs = elapsed() + waitMs;
    return new Promise((resolve) => {
      const look = () => {
        if (isTrue() || elapsed() >= endMs) resolve();
        else after(POLL_MS, look);
      };
      look();
    });
  }

  get #connections(): WorkerEnd[] {
    return [...this.#own, ...this.#clients.values()];
  }

  #admit(client: string, endpoint: ChannelEndpoint): WorkerEnd {
    this.#clients.get(client)?.end();
    const admitted = new WorkerEnd(this.#host, endpoint, this.#environment.elapsed);
    this.#clients.set(client, admitted);
    admitted.ended.addEventListener('abort', () => {
      if (this.#clients.get(client) === admitted) this.#clients.delete(client);
    });
    return admitted;
  }
}
