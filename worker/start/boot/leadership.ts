// The time for which a worker leads: it serves its own page, and each other tab's page over a channel of its
// own, until it dies, its files are cleared, or it steps down for a newer deployment.
//
// Invariant: stepping down ends within a bounded time, whatever runs. Until then, everything that a page has
// sent is answered; the pages hold back unsent calls, so that nothing is refused or done twice.
//
// When a client's lock is released, the client is gone, and its sessions are closed.

import { ChannelEndpoint, type WireChannel } from '../../../src/shared/wire/channel-endpoint.ts';
import type { ControlMessage, namesOf } from '../../../src/shared/wire/control.ts';
import { type Locks, whenReleased } from '../../../src/shared/wire/control.ts';
import { connectionClosed } from '../../../src/shared/wire/errors-on-wire.ts';
import { WorkerEnd, type WorkerService } from '../../../src/shared/wire/worker-end.ts';

/**
 * How long pages may take to say that they send no more. A page whose thread is busy says it late, and what it sends
 * after this time rejects; a suspended page never does.
 */
export const PAUSE_MS = 2000;

/** How long events that run may take to end when the worker steps down; then they are reset. */
export const YIELD_MS = 3000;

/** How long the last flush may take; then the worker ends, which frees its files in any case. */
export const CLOSE_MS = 10_000;

/** How long answers may take to leave once their events have ended. */
const ANSWER_MS = 250;

const POLL_MS = 5;

export interface LeadershipEnvironment {
  readonly locks: Locks;
  readonly names: ReturnType<typeof namesOf>;
  readonly after: (delayMs: number, task: () => void) => void;
  /** Milliseconds that only go forward. */
  readonly elapsed: () => number;
  readonly openChannel: (name: string) => BroadcastChannel;
  /** Tells the own page that this worker leads, and opens a channel to it. */
  readonly openOwnChannel: () => WireChannel;
  /** Ends this worker. */
  readonly close: () => void;
}

export class Leadership {
  readonly #host: WorkerService;
  readonly #environment: LeadershipEnvironment;
  /** By client; a page that connects again has abandoned its earlier connection. */
  readonly #clients = new Map<string, WorkerEnd>();
  /** Connections of this worker's own page. */
  readonly #own = new Set<WorkerEnd>();

  constructor(host: WorkerService, environment: LeadershipEnvironment) {
    this.#host = host;
    this.#environment = environment;
  }

  connectOwnPage(): void {
    const channel = this.#environment.openOwnChannel();
    // The page may have a connection with a call under way; it closes the unused one.
    const endpoint = new ChannelEndpoint(channel, this.#host.pace);
    const admitted = new WorkerEnd(this.#host, endpoint, this.#environment.elapsed);
    this.#own.add(admitted);
    admitted.ended.addEventListener('abort', () => this.#own.delete(admitted));
  }

  connect({ client, connection }: ControlMessage & { type: 'connect' }): void {
    // Any tab of the origin can post here, including one with other code; these become names.
    if (typeof client !== 'string' || typeof connection !== 'string') return;
    const { locks, names, openChannel } = this.#environment;
    const channel = openChannel(names.connectionChannel(connection));
    const admitted = this.#admit(client, new ChannelEndpoint(channel, this.#host.pace));
    whenReleased(locks, names.clientLock(client), admitted.ended, () => admitted.end());
  }

  /** Ends every connection for this reason. */
  end(reason: Error): void {
    for (const connection of this.#connections) connection.end(reason);
  }

  /**
   * Steps down: running events may end, then everything is flushed and closed. `fact` is the reason for
   * the pages and for objects that had to be reset. Never rejects; the caller of a write that cannot be
   * flushed gets the error.
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

  // The worker is ended if the host cannot close: then its lock is free, and its files are.
  async #close(fact: string): Promise<void> {
    let isClosed = false;
    const { after, close } = this.#environment;
    after(CLOSE_MS, () => {
      if (!isClosed) close();
    });
    await this.#host.end?.(fact).catch(() => {});
    isClosed = true;
  }

  // By the clock and not by the number of looks: on a busy machine, each of them comes late.
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
