// Makes a worker a candidate, and lets it serve pages when it leads.
//
// The leader's lock is taken inside the worker, so that a dead worker frees it. The holder creates
// the host and serves its own page over a port, and each other tab's page over a channel. When a
// client's lock is released, the client is gone, and its sessions are closed.
//
// Does not know objects and files: the caller creates the host.

import { ChannelEndpoint } from '../../src/rpc/channel-endpoint.ts';
import {
  type ControlMessage,
  namesOf,
  PROTOCOL_VERSION,
  type StartMessage,
  type WorkerMessage,
} from '../../src/rpc/control.ts';
import { toWire } from '../../src/rpc/errors-on-wire.ts';
import { holdForLife, type Locks, whenReleased } from '../../src/rpc/locks.ts';
import { WorkerEnd, type WorkerService } from '../../src/rpc/worker-end.ts';

/** The part of a worker's global scope that is used. */
export interface CandidateEnvironment {
  /** To and from the page that started this worker. */
  readonly page: {
    postMessage(message: WorkerMessage, transfer: Transferable[]): void;
    addEventListener(type: 'message', listener: (event: MessageEvent<StartMessage>) => void): void;
    /** Ends this worker. */
    close(): void;
  };
  readonly locks: Locks;
  readonly after: (delayMs: number, task: () => void) => void;
  readonly openChannel: (name: string) => BroadcastChannel;
}

/**
 * How long a worker whose files are gone waits after it has told its clients, before it ends.
 * Otherwise its lock may be released before the message arrives, and the lock does not tell the
 * reason.
 */
const LAST_WORDS_MS = 500;

/** Creates the host once this worker leads. The page receives its rejection. */
export type CreateHost = (options: DirectoryOptions) => Promise<WorkerService>;

export type DirectoryOptions = Pick<StartMessage, 'directory' | 'wasmUrl'>;

/**
 * Serves pages from now on. Call it before anything is awaited; otherwise the first message is
 * lost.
 */
export function runCandidate(createHost: CreateHost, environment: CandidateEnvironment): void {
  let candidate: Candidate | undefined;
  environment.page.addEventListener('message', ({ data }) => {
    if (data?.type !== 'start') return;
    candidate ??= new Candidate(data, createHost, environment);
    candidate.start();
  });
}

type State =
  | { readonly kind: 'idle' }
  | { readonly kind: 'standing' }
  | { readonly kind: 'leading'; readonly host: WorkerService }
  /** Holds the lock until it has ended, and serves no page. */
  | { readonly kind: 'ending' };

class Candidate {
  readonly #identity: StartMessage;
  readonly #createHost: CreateHost;
  readonly #environment: CandidateEnvironment;
  readonly #names: ReturnType<typeof namesOf>;
  readonly #alive: Promise<void>;
  /** By client; a page that connects again has abandoned its earlier connection. */
  readonly #clients = new Map<string, WorkerEnd>();
  /** Connections of this worker's own page. */
  readonly #own = new Set<WorkerEnd>();
  #state: State = { kind: 'idle' };

  constructor(identity: StartMessage, createHost: CreateHost, environment: CandidateEnvironment) {
    this.#identity = identity;
    this.#createHost = createHost;
    this.#environment = environment;
    this.#names = namesOf(identity.directory);
    this.#alive = holdForLife(environment.locks, this.#names.workerLock(identity.worker));
  }

  /**
   * The page searches for a leader: become a candidate, or connect the page if this worker leads.
   */
  start(): void {
    // The page may have forgotten this worker since it said so.
    if (this.#state.kind !== 'idle') void this.#alive.then(() => this.#post({ type: 'standing' }));
    if (this.#state.kind === 'leading') this.#connectOwnPage(this.#state.host);
    if (this.#state.kind === 'idle') void this.#stand();
  }

  async #stand(): Promise<void> {
    this.#state = { kind: 'standing' };
    try {
      await this.#alive;
      this.#post({ type: 'standing' });
      await this.#environment.locks.request(this.#names.leaderLock, {}, async () => {
        this.#lead(await this.#createHost(this.#identity));
        // Held until this worker ends, because two holders would write to the same files.
        await new Promise<never>(() => {});
      });
    } catch (error) {
      this.#state = { kind: 'idle' };
      this.#post({ type: 'failed', error: toWire(error) });
    }
  }

  #lead(host: WorkerService): void {
    this.#state = { kind: 'leading', host };
    const control = this.#environment.openChannel(this.#names.controlChannel);
    const { worker } = this.#identity;
    const announce = () => {
      control.postMessage({ type: 'leads', worker, version: PROTOCOL_VERSION });
    };
    control.addEventListener('message', ({ data }: MessageEvent<ControlMessage | null>) => {
      if (data?.type === 'who') announce();
      if (data?.type === 'connect' && data.worker === worker) this.#connect(host, data);
    });
    this.#connectOwnPage(host);
    announce();
    void host.lost?.then((error) => {
      control.close();
      this.#end(error);
    });
  }

  // The host has lost its files. Their handles last as long as this worker, and prevent the next
  // worker from opening files of the same names.
  #end(error: Error): void {
    this.#state = { kind: 'ending' };
    for (const client of [...this.#own, ...this.#clients.values()]) client.end(error);
    const { after, page } = this.#environment;
    after(LAST_WORDS_MS, () => page.close());
  }

  #connectOwnPage(host: WorkerService): void {
    const { port1, port2 } = new MessageChannel();
    // The page may have a connection with a call under way; it closes the one that it does not use.
    const admitted = new WorkerEnd(host, new ChannelEndpoint(port1));
    this.#own.add(admitted);
    admitted.ended.addEventListener('abort', () => this.#own.delete(admitted));
    this.#post({ type: 'leads', port: port2 }, [port2]);
  }

  #connect(
    host: WorkerService,
    { client, connection }: ControlMessage & { type: 'connect' },
  ): void {
    // Any tab of the origin can post here, including one with other code; these become names.
    if (typeof client !== 'string' || typeof connection !== 'string') return;
    const channel = this.#environment.openChannel(this.#names.connectionChannel(connection));
    const admitted = this.#admit(client, host, new ChannelEndpoint(channel));
    const { locks } = this.#environment;
    whenReleased(locks, this.#names.clientLock(client), admitted.ended, () => admitted.end());
  }

  #admit(client: string, host: WorkerService, endpoint: ChannelEndpoint): WorkerEnd {
    this.#clients.get(client)?.end();
    const admitted = new WorkerEnd(host, endpoint);
    this.#clients.set(client, admitted);
    admitted.ended.addEventListener('abort', () => {
      if (this.#clients.get(client) === admitted) this.#clients.delete(client);
    });
    return admitted;
  }

  #post(message: WorkerMessage, transfer: Transferable[] = []): void {
    this.#environment.page.postMessage(message, transfer);
  }
}
