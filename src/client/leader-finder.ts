// Which worker leads, as this page sees it, and the one connection to it.
//
// The page starts its own worker, which queues to lead, and asks the other workers which of them
// leads. The first to answer gets the connection. When that worker dies, the connection fails; the
// next request for a connection finds the worker that leads then, which may be the page's own.
//
// Invariant: there is one connection at a time, shared by all handles, and a search for the leader
// ends within CONNECT_WAIT_MS.

import { isStorageError, storageError } from '../contract/errors.ts';
import { HANDLE_WAIT_MS } from '../contract/limits.ts';
import { ChannelEndpoint } from '../rpc/channel-endpoint.ts';
import { connectionClosed } from '../rpc/connection-closed.ts';
import {
  type ConnectionMessage,
  type ControlMessage,
  namesOf,
  PROTOCOL_VERSION,
  type StartMessage,
} from '../rpc/control.ts';
import { holdForLife, whenReleased } from '../rpc/locks.ts';
import { PageEnd } from '../rpc/page-end.ts';
import type { PageEnvironment, WorkerLike, WorkerSource } from './environment.ts';
import { HEARTBEAT_MS, Heartbeat, SILENT_BEATS_MAX } from './heartbeat.ts';
import { OwnWorker } from './own-worker.ts';
import type { Standing, StandingSource } from './status.ts';

/**
 * How long a page searches for a leader: the time for which a dying worker may keep the files, plus
 * the time to load the worker over a slow network.
 */
export const CONNECT_WAIT_MS = HANDLE_WAIT_MS + 24_000;

/**
 * How long another tab may take to announce that it leads, once this page's own worker has failed.
 */
export const OTHERS_WAIT_MS = 1000;

/** How long a page searches for a leader that was silent last time. */
export const SILENT_WAIT_MS = 1000;

/** Which leader a page searches for, and with which worker of its own. */
export interface LeaderOptions extends Pick<StartMessage, 'directory' | 'wasmUrl'> {
  /** The user's call, for error messages. */
  readonly operation: string;
  readonly source: WorkerSource;
}

/** A search under way. */
interface Search {
  readonly found: (connection: PageEnd) => void;
  readonly failed: (error: Error) => void;
  /** The leader of another tab that was asked for a connection and has not answered yet. */
  asked: { readonly worker: string; readonly endpoint: ChannelEndpoint } | null;
}

const workerIds = new WeakMap<WorkerLike, string>();

export class LeaderFinder implements StandingSource {
  #options: LeaderOptions;
  readonly #environment: PageEnvironment;
  readonly #names: ReturnType<typeof namesOf>;
  readonly #client: string;
  readonly #alive: Promise<void>;
  readonly #control: BroadcastChannel;
  readonly #watchers = new Set<() => void>();
  #standing: Standing = { state: 'connecting', reason: null };
  #worker: OwnWorker | null = null;
  #wasGiven = false;
  /** The latest one, which may have failed. */
  #connection: PageEnd | null = null;
  /** The worker at the other end of the connection. */
  #leader = '';
  #connecting: Promise<PageEnd> | null = null;
  #search: Search | null = null;
  /** True after the worker was silent for too long, until it is heard again. */
  #isSilent = false;
  /** Why no leader is searched for any more. */
  #end: { readonly kind: 'closed' | 'cleared'; readonly error: Error } | null = null;

  constructor(options: LeaderOptions, environment: PageEnvironment) {
    this.#options = options;
    this.#environment = environment;
    this.#names = namesOf(options.directory);
    this.#client = environment.randomId();
    this.#alive = holdForLife(environment.locks, this.#names.clientLock(this.#client));
    this.#control = environment.openChannel(this.#names.controlChannel);
    this.#control.addEventListener('message', ({ data }: MessageEvent<ControlMessage | null>) => {
      if (data?.type === 'leads') this.#hear(data.worker, data.version);
    });
  }

  /**
   * The current connection, or a new one.
   *
   * @throws WORKER_FAILED, WORKER_BUSY, STORAGE_LOCKED, SITE_DATA_CLEARED, and errors of opening
   * the storage
   */
  connection(): Promise<PageEnd> {
    if (this.#end !== null) return Promise.reject(this.#end.error);
    if (this.#connection !== null && this.#isConnected) return Promise.resolve(this.#connection);
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = null;
    });
    return this.#connecting;
  }

  /** Why no leader is searched for any more; undefined: one is. */
  get end(): Error | undefined {
    return this.#end?.error;
  }

  get isClosed(): boolean {
    return this.#end?.kind === 'closed';
  }

  /** How the page is connected now, and why it is not. */
  get standing(): Standing {
    return this.#standing;
  }

  onStanding(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  /** True once there was a connection. */
  get hasServed(): boolean {
    return this.#connection !== null;
  }

  /** True while nothing depends on this page's worker, so that another may be used instead. */
  get mayChange(): boolean {
    if (this.#connecting !== null) return false;
    return this.#worker === null || !this.#isConnected;
  }

  /** From now on, this page's worker comes from another source. Only while it may change. */
  use(options: LeaderOptions): void {
    this.#abandonWorker();
    this.#wasGiven = false;
    this.#options = options;
    // Another tab's worker leads; the new one waits for its turn.
    if (this.#isConnected) this.#startWorker();
  }

  get #isConnected(): boolean {
    return this.#connection?.failure === null;
  }

  /** Ends the connection for good, and the worker too if this page started it. */
  close(reason: Error): void {
    if (this.#end !== null) return;
    this.#end = { kind: 'closed', error: reason };
    this.#stand('lost', reason);
    this.#connection?.leave(reason);
    this.#search?.failed(reason);
    this.#control.close();
    this.#abandonWorker();
  }

  async #connect(): Promise<PageEnd> {
    this.#stand('connecting', this.#standing.reason);
    await this.#alive;
    if (this.#end !== null) throw this.#end.error;
    let cancelTimeout = () => {};
    try {
      this.#connection = await new Promise<PageEnd>((found, failed) => {
        this.#search = { found, failed, asked: null };
        const waitMs = this.#isSilent ? SILENT_WAIT_MS : CONNECT_WAIT_MS;
        cancelTimeout = this.#environment.after(waitMs, () => failed(this.#lateness()));
        this.#startWorker();
        this.#tell({ type: 'who' });
      });
      return this.#connection;
    } catch (error) {
      this.#stand('lost', error as Error);
      throw error;
    } finally {
      cancelTimeout();
      this.#endSearch();
    }
  }

  #endSearch(): void {
    this.#search?.asked?.endpoint.close();
    this.#search = null;
  }

  #startWorker(): void {
    try {
      this.#worker ??= this.#createWorker();
    } catch (cause) {
      if (isStorageError(cause)) {
        this.#search?.failed(cause); // the caller's mistake, which another tab cannot mend
        return;
      }
      const { message: fact } = cause as Error;
      const message = `${this.#options.operation}: the worker could not be started: ${fact}`;
      this.#leaveToOthers(storageError('WORKER_FAILED', message, { cause }));
      return;
    }
    const { directory, wasmUrl } = this.#options;
    this.#worker.start({ directory, wasmUrl });
  }

  // A worker that was given may be given again, to another finder, which alone hears it then.
  #abandonWorker(): void {
    this.#worker?.abandon(this.#options.source.kind === 'spawned');
    this.#worker = null;
  }

  #createWorker(): OwnWorker {
    const { source } = this.#options;
    if (source.kind === 'given' && this.#wasGiven) {
      throw new Error('the one that was given was terminated; reload the page.');
    }
    this.#wasGiven = source.kind === 'given';
    const worker = source.kind === 'given' ? source.worker : source.spawn();
    const id = this.#idOf(worker);
    return new OwnWorker(worker, id, this.#options.operation, this.#names, this.#environment, {
      leads: (port) => {
        this.#supersede(id);
        const endpoint = new ChannelEndpoint(port);
        if (this.#search !== null) {
          this.#found(id, endpoint);
          return;
        }
        new PageEnd(endpoint).leave(connectionClosed('the page already has one'));
        this.#seek();
      },
      failed: (error) => this.#leaveToOthers(error),
      gone: (error) => {
        this.#worker = null;
        if (this.#leader === id) this.#connection?.fail(error);
        this.#leaveToOthers(error);
      },
    });
  }

  // A worker that the caller started keeps its first name.
  #idOf(worker: WorkerLike): string {
    const id = workerIds.get(worker) ?? this.#environment.randomId();
    workerIds.set(worker, id);
    return id;
  }

  // A worker of another tab leads.
  #hear(worker: string, version: number): void {
    if (worker === this.#worker?.id) return; // it brings a port along, which is faster
    this.#supersede(worker);
    if (this.#search === null) this.#seek();
    const search = this.#search;
    if (search === null || search.asked?.worker === worker) return;
    if (version !== PROTOCOL_VERSION) {
      search.failed(
        storageError(
          'STORAGE_LOCKED',
          `${this.#options.operation}: another tab holds the files with another version of this ` +
            'package; close or reload that tab.',
        ),
      );
      return;
    }
    search.asked?.endpoint.close();
    const connection = this.#environment.randomId();
    const name = this.#names.connectionChannel(connection);
    const endpoint = new ChannelEndpoint(this.#environment.openChannel(name));
    endpoint.addEventListener('message', (event) => {
      const message = (event as MessageEvent<ConnectionMessage | null>).data;
      if (message?.type === 'accepted') this.#found(worker, endpoint);
    });
    search.asked = { worker, endpoint };
    this.#tell({ type: 'connect', worker, client: this.#client, connection });
  }

  #found(worker: string, endpoint: ChannelEndpoint): void {
    const search = this.#search;
    if (search === null) {
      endpoint.close();
      return;
    }
    if (search.asked?.endpoint === endpoint) search.asked = null;
    this.#endSearch();
    const connection = new PageEnd(endpoint);
    this.#leader = worker;
    this.#isSilent = false;
    this.#stand(worker === this.#worker?.id ? 'leading' : 'following', null);
    connection.whenLost((reason) => this.#lose(worker, connection, reason));
    new Heartbeat(connection, this.#environment.after, () => {
      this.#isSilent = true;
      connection.leave(this.#busy(`for ${(SILENT_BEATS_MAX * HEARTBEAT_MS) / 1000} s`));
    });
    if (worker !== this.#worker?.id) {
      const watch = new AbortController();
      const { locks } = this.#environment;
      whenReleased(locks, this.#names.workerLock(worker), watch.signal, () => {
        connection.fail(connectionClosed('the tab whose worker led was closed'));
      });
      void connection.lost.then(() => watch.abort());
    }
    search.found(connection);
  }

  // The page looks for the next leader without a call, so that its users learn of it, and the objects' alarms
  // run. But a worker that dies again and again is not started again and again: only one that served.
  #lose(worker: string, connection: PageEnd, reason: Error): void {
    if (isStorageError(reason) && reason.code === 'SITE_DATA_CLEARED') this.#clear(reason);
    if (this.#end !== null) return;
    const isOwn = this.#worker === null || this.#worker.id === worker;
    if (isOwn && connection.heardCount <= 1) {
      this.#stand('lost', reason);
      return;
    }
    this.#stand('connecting', reason);
    this.#seek();
  }

  #seek(): void {
    if (this.#end === null && this.hasServed) this.connection().catch(() => {});
  }

  #stand(state: Standing['state'], reason: Error | null): void {
    if (this.#standing.state === state && this.#standing.reason === reason) return;
    this.#standing = { state, reason };
    for (const changed of this.#watchers) changed();
  }

  // After site data is cleared, pages that were open do not share locks with later pages and
  // workers (Chromium 156), so this page can neither elect a leader with them nor watch one.
  #clear(error: Error): void {
    if (this.#end !== null) return;
    this.#end = { kind: 'cleared', error };
    this.#stand('lost', error);
    this.#search?.failed(error);
    this.#control.close();
    // A worker that led ends itself, after it has told every page.
    if (this.#leader !== this.#worker?.id) this.#worker?.terminate();
  }

  // Normally, a worker that leads proves that the one before it is dead. But the announcement may
  // come from a worker that has died since, so the abandoned worker is told to close this page's
  // sessions.
  #supersede(worker: string): void {
    if (this.#leader === worker) return;
    this.#connection?.leave(connectionClosed('another worker leads now'));
  }

  // This page's own worker cannot lead; another tab's worker may.
  #leaveToOthers(error: Error): void {
    const search = this.#search;
    if (search !== null) this.#environment.after(OTHERS_WAIT_MS, () => search.failed(error));
  }

  #lateness(): Error {
    const { operation } = this.#options;
    const waitMs = this.#isSilent ? SILENT_WAIT_MS : CONNECT_WAIT_MS;
    const waited = `within ${waitMs / 1000} s`;
    if (this.#isSilent || this.#worker?.isStanding) return this.#busy(waited);
    return storageError(
      'WORKER_FAILED',
      `${operation}: the worker did not start ${waited}: its script still loads, or it never runs this ` +
        "package's code. The worker of connect() calls serve({ … }) of ctx-storage/worker.",
    );
  }

  #busy(duration: string): Error {
    return storageError(
      'WORKER_BUSY',
      `${this.#options.operation}: the worker that holds the files (this tab's or another's) did not ` +
        `answer ${duration}; a long query keeps it busy, or the browser has suspended it. Whether ` +
        'a write under way takes effect is not known. Try again later.',
    );
  }

  #tell(message: ControlMessage): void {
    if (this.#end !== null) return;
    this.#control.postMessage(message);
  }
}
