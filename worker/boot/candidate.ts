// A worker's share in electing the one that leads, and its service to pages when it does.
//
// The lock is taken here, inside the worker, so that a dead worker frees it. Whoever holds it makes
// the host and serves its own page by port, other tabs' pages by a channel each. A client that goes
// away is noticed by its lock, and its sessions are closed.
//
// Knows nothing about objects and files: the host is made by the caller.

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

/** What a worker's global scope gives. */
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
 * How long a worker whose files are gone still lives after it told its clients. The lock of a dead
 * worker may be freed before its last message is heard, and says less.
 */
const LAST_WORDS_MS = 500;

/** Makes the host, once this worker leads. Its rejection is told to the page. */
export type CreateHost = (options: HostOptions) => Promise<WorkerService>;

export type HostOptions = Pick<StartMessage, 'directory' | 'wasmUrl'>;

/**
 * Serves pages from now on. To be called before anything is awaited, or the first message is lost.
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
  /** Holds the lock until it is dead, and serves nobody. */
  | { readonly kind: 'ending' };

class Candidate {
  readonly #identity: StartMessage;
  readonly #createHost: CreateHost;
  readonly #environment: CandidateEnvironment;
  readonly #names: ReturnType<typeof namesOf>;
  readonly #alive: Promise<void>;
  /** By client; a page that connects again has given up its earlier connection. */
  readonly #clients = new Map<string, WorkerEnd>();
  /** Those of this worker's own page. */
  readonly #own = new Set<WorkerEnd>();
  #state: State = { kind: 'idle' };

  constructor(identity: StartMessage, createHost: CreateHost, environment: CandidateEnvironment) {
    this.#identity = identity;
    this.#createHost = createHost;
    this.#environment = environment;
    this.#names = namesOf(identity.directory);
    this.#alive = holdForLife(environment.locks, this.#names.workerLock(identity.worker));
  }

  /** The page looks for a leader: stand, or give it a new connection when this worker leads. */
  start(): void {
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
        // Held until this worker dies: two holders would write the same files.
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

  // The host has lost its files. Their handles live as long as this worker, which would keep the next
  // one from files of the same names.
  #end(error: Error): void {
    this.#state = { kind: 'ending' };
    for (const client of [...this.#own, ...this.#clients.values()]) client.end(error);
    const { after, page } = this.#environment;
    after(LAST_WORDS_MS, () => page.close());
  }

  #connectOwnPage(host: WorkerService): void {
    const { port1, port2 } = new MessageChannel();
    // It may have one already, and a call under way on it; it closes the one it does not use.
    const admitted = new WorkerEnd(host, new ChannelEndpoint(port1));
    this.#own.add(admitted);
    admitted.ended.addEventListener('abort', () => this.#own.delete(admitted));
    this.#post({ type: 'leads', port: port2 }, [port2]);
  }

  #connect(
    host: WorkerService,
    { client, connection }: ControlMessage & { type: 'connect' },
  ): void {
    // Every tab of the origin can post here, also one with other code; these become names.
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
