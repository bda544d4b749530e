// Which worker leads, as this page sees it, and the one connection to it.
//
// The page starts its own worker, which queues to lead, and asks the other workers which of them leads. Its own
// worker hears the answer too, and judges it: it may have to take over from a leader of an older deployment,
// whose code this page never calls. When the worker that leads dies or steps down, the connection fails; the
// next request for a connection finds the worker that leads then, which may be the page's own. A page that
// follows its own deployment may end its worker meanwhile (reserve.ts).
//
// Invariant: there is one connection at a time, shared by all handles; a search ends within CONNECT_WAIT_MS.

import { deploymentIn } from '../../shared/contract/deployment.ts';
import { isStorageError, storageError } from '../../shared/contract/errors.ts';
import { acceptsMedium, mediumIn, type StorageMedium } from '../../shared/contract/medium.ts';
import { ChannelEndpoint } from '../../shared/wire/channel-endpoint.ts';
import {
  type ConnectionMessage,
  type ControlMessage,
  commonVersion,
  holdForLife,
  namesOf,
  type OtherLeader,
  OWN_VERSIONS,
  versionsIn,
  whenReleased,
} from '../../shared/wire/control.ts';
import { connectionClosed } from '../../shared/wire/errors-on-wire.ts';
import { PageEnd, Work } from '../../shared/wire/page-end.ts';
import type { PageEnvironment, WorkerLike, WorkerSource } from './environment.ts';
import type { Flags } from './flags.ts';
import { HEARTBEAT_MS, Heartbeat, SILENT_BEATS_MAX } from './heartbeat.ts';
import type { Followed, LeaderOptions, Search } from './leader-search.ts';
import {
  busy,
  CONNECT_WAIT_MS,
  denied,
  FINISH_MS,
  LAST_ANSWERS_MS,
  late,
  misfit,
  OTHERS_WAIT_MS,
  otherMedium,
  RESTART_MS,
  SILENT_WAIT_MS,
} from './leader-search.ts';
import { OwnWorker } from './own-worker.ts';
import { PageFollowers } from './page-followers.ts';
import { Reserve, WAKE_MS } from './reserve.ts';
import { PageStanding } from './status.ts';
import { Succession } from './succession.ts';

export type { LeaderOptions } from './leader-search.ts';

const workerIds = new WeakMap<WorkerLike, string>();

/** The connection and the worker at its other end. */
interface Link {
  readonly connection: PageEnd;
  readonly leader: string;
  /** True after the worker was silent for too long. */
  isSilent: boolean;
}

type State =
  /** No search is under way: the page is connected, or nobody has asked for a connection. */
  | { readonly kind: 'ready' }
  /** `search` is null before it begins, and once a leader was found. */
  | { readonly kind: 'connecting'; readonly connected: Promise<PageEnd>; search: Search | null }
  /** No leader is searched for any more. */
  | { readonly kind: 'closed' | 'cleared'; readonly error: Error };

const READY: State = { kind: 'ready' };

export class LeaderFinder {
  #options: LeaderOptions;
  readonly #environment: PageEnvironment;
  readonly #names: ReturnType<typeof namesOf>;
  readonly #client: string;
  /** The end of the same name, as the history names the connection: its bytes are in each commit. */
  readonly client: string;
  readonly #alive: Promise<void>;
  readonly #control: BroadcastChannel;
  /** How the page is connected now, and why it is not. */
  readonly standing: PageStanding;
  readonly #reserve: Reserve;
  readonly #followers: PageFollowers;
  /** Unanswered calls of the users of this directory. */
  readonly work = new Work();
  /** Ends that the page stays for the work as it goes away. */
  readonly #leave: () => void;
  /** Why it will be closed, once the work is done. */
  #finishing: Error | undefined;
  #worker: OwnWorker | null = null;
  #wasGiven = false;
  /** The latest connection, which may have failed; null: there was none. */
  #link: Link | null = null;
  #state: State = READY;
  #succession: Succession | null = null;

  constructor(options: LeaderOptions, environment: PageEnvironment) {
    this.#options = options;
    this.#environment = environment;
    this.standing = new PageStanding(environment.persistence);
    this.#names = namesOf(options.directory);
    this.#reserve = new Reserve(environment, this.#names, {
      rest: () => this.#rest(),
      wake: () => this.#startWorker(),
    });
    try {
      this.#client = environment.randomId();
      this.#control = environment.openChannel(this.#names.controlChannel);
    } catch (cause) {
      throw denied(options.operation, cause);
    }
    this.client = this.#client.slice(-12);
    this.#leave = environment.stayFor(() => this.work.isUnderWay);
    this.#followers = new PageFollowers(environment, this.#names, this.#control, {
      leader: () => (this.#worker?.id === this.#leader ? this.#worker?.id : undefined),
      frozen: () => this.restart('the browser froze the page of the worker, which other tabs used'),
    });
    this.#alive = holdForLife(environment.locks, this.#names.clientLock(this.#client));
    this.#alive.catch(() => {}); // each search for a leader reports it
    this.#control.addEventListener('message', ({ data }: MessageEvent<ControlMessage | null>) => {
      if (data?.type === 'leads') this.#hear(data);
      if (data?.type === 'silent') this.#endIfSilent(data.worker);
    });
  }

  /**
   * The current connection, or a new one.
   *
   * @throws WORKER_FAILED, WORKER_BUSY, VERSION_MISMATCH, SITE_DATA_CLEARED, and errors of opening
   * the storage
   */
  connection(): Promise<PageEnd> {
    if (this.#over !== undefined) return Promise.reject(this.#over);
    if (this.#link !== null && this.#isConnected) return Promise.resolve(this.#link.connection);
    if (this.#state.kind === 'connecting') return this.#state.connected;
    this.standing.change('connecting', this.standing.standing.reason);
    // A listener may have closed it, or have begun the search.
    if (this.#state.kind !== 'ready') return this.connection();
    const connected = this.#connect().finally(() => {
      if (this.#state.kind === 'connecting') this.#state = READY;
    });
    this.#state = { kind: 'connecting', connected, search: null };
    return connected;
  }

  /** Of this page's calls that can be cancelled. */
  get flags(): Flags {
    return this.#environment.flags;
  }

  /** Why it takes no new work; undefined: it does. */
  get end(): Error | undefined {
    return this.#over ?? this.#finishing;
  }

  /** Why no leader is searched for any more; undefined: one is. */
  get #over(): Error | undefined {
    return 'error' in this.#state ? this.#state.error : undefined;
  }

  get isClosed(): boolean {
    return this.#state.kind === 'closed' || this.#finishing !== undefined;
  }

  /** True once there was a connection. */
  get hasServed(): boolean {
    return this.#link !== null;
  }

  /** True while nothing depends on this page's worker, so that another may be used instead. */
  get mayChange(): boolean {
    if (this.#state.kind === 'connecting') return false;
    return (this.#worker === null && !this.#reserve.isResting) || !this.#isConnected;
  }

  /** From now on, this page's worker comes from another source. Only while it may change. */
  use(options: LeaderOptions): void {
    this.#replaceReserve();
    this.#abandonWorker();
    this.#wasGiven = false;
    this.#options = options;
    // Another tab's worker leads; the new one waits for its turn.
    if (this.#isConnected) this.#startWorker();
  }

  /**
   * Another worker of this page, which runs newer code, takes over from its worker in order.
   * @throws the error of the next worker; the one before goes on then
   */
  async succeed(source: WorkerSource): Promise<void> {
    if (this.#over !== undefined) throw this.#over;
    this.#replaceReserve();
    const [before, options] = [this.#worker, this.#options];
    const succession = new Succession(before, {
      standing: this.standing,
      after: this.#environment.after,
      leader: () => (this.#isConnected ? this.#leader : null),
      undo: () => {
        this.#abandonWorker();
        this.#options = options;
        this.#worker = before?.isGone ? null : before;
      },
    });
    this.#succession = succession;
    this.#worker = null;
    this.#options = { ...options, source };
    this.#startWorker();
    if (!this.#isConnected) this.connection().catch(() => {}); // it fails the succession, too
    await succession.done;
  }

  /** Ends this page's worker, whatever it does; it is started again. */
  restart(fact = 'its worker was stopped'): void {
    this.#worker?.terminate();
    // At once, so that calls from now on reach the next one.
    const isLed = this.#worker?.id === this.#leader;
    if (isLed) this.#link?.connection.fail(connectionClosed(fact));
  }

  get #isConnected(): boolean {
    return this.#link?.connection.failure === null && !this.#link.connection.isYielding;
  }

  /** The worker at the other end of the latest connection. */
  get #leader(): string | null {
    return this.#link?.leader ?? null;
  }

  get #search(): Search | null {
    return this.#state.kind === 'connecting' ? this.#state.search : null;
  }

  /** Closes it once all work is done, for which it waits FINISH_MS at most. */
  async finish(reason: Error): Promise<void> {
    this.#finishing ??= reason;
    const cancel = this.#environment.after(FINISH_MS, () => this.close(reason));
    await this.work.idle();
    cancel();
    this.close(reason);
  }

  /** Ends the connection for good, and the worker too if this page started it. */
  close(reason: Error): void {
    if (this.#over !== undefined) return;
    const search = this.#search;
    this.#state = { kind: 'closed', error: reason };
    this.#leave();
    this.#followers.close();
    this.standing.change('lost', reason);
    this.#link?.connection.leave(reason);
    search?.failed(reason);
    this.#succession?.fail(reason);
    this.#control.close();
    this.#replaceReserve();
    this.#abandonWorker();
  }

  async #connect(): Promise<PageEnd> {
    try {
      await this.#alive;
    } catch (cause) {
      const error = denied(this.#options.operation, cause);
      this.standing.change('lost', error as Error);
      throw error;
    }
    if (this.#over !== undefined) throw this.#over;
    let search: Search | undefined;
    try {
      return await new Promise<PageEnd>((found, failed) => {
        const waitMs = this.#link?.isSilent ? SILENT_WAIT_MS : CONNECT_WAIT_MS;
        const timing = { waitMs, cancelTimeout: () => {} };
        search = { found, failed, asked: null, isAlone: false, ...timing };
        if (this.#state.kind === 'connecting') this.#state.search = search;
        this.#endSearchAfter(search, waitMs);
        if (this.#reserve.isResting) this.#wakeUnlessFound(search);
        else this.#startWorker();
        this.#tell({ type: 'who' });
      });
    } catch (error) {
      this.#succession?.fail(error as Error);
      this.standing.change('lost', error as Error);
      throw error;
    } finally {
      this.#endSearch(search!);
    }
  }

  /** Workers that could lead may all be unable to. */
  #wakeUnlessFound(search: Search): void {
    this.#environment.after(WAKE_MS, () => {
      if (this.#search === search) this.#reserve.wake();
    });
  }

  /** Ends the page's worker, which can be started again, while another leads. */
  #rest(): boolean {
    const isNeeded =
      this.#state.kind !== 'ready' || !this.#isConnected || this.#succession?.isOver === false;
    if (isNeeded || this.#worker === null || this.#leader === this.#worker.id) return false;
    this.#abandonWorker();
    return true;
  }

  /** Another worker, or none, is the page's from now on. */
  #replaceReserve(): void {
    this.#reserve.leave();
    this.#reserve.isResting = false;
  }

  #endSearchAfter(search: Search, waitMs: number): void {
    search.cancelTimeout();
    search.waitMs = waitMs;
    const hasStarted = () => this.#link?.isSilent === true || this.#worker?.hasStarted === true;
    const end = () => search.failed(late(this.#options.operation, search.waitMs, hasStarted()));
    search.cancelTimeout = this.#environment.after(waitMs, end);
  }

  #endSearch(search: Search): void {
    search.cancelTimeout();
    search.asked?.endpoint.close();
    if (this.#state.kind === 'connecting') this.#state.search = null;
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
    const { directory, medium, wasmUrl, lateUrl = null, source } = this.#options;
    const { history = null, limits = null } = this.#options;
    const { startedMs, ownWasmUrl: pageWasmUrl } = this.#environment;
    const isDirect = source.kind === 'spawned'; // a given worker may have listeners of the app
    const chosen = { directory, medium, wasmUrl, lateUrl, pageWasmUrl, history, limits };
    this.#worker.start({ ...chosen, startedMs, isDirect });
  }

  // A worker that was given may be given again, to another finder, which alone hears it then.
  #abandonWorker(): void {
    this.#worker?.abandon();
    this.#worker = null;
  }

  #createWorker(): OwnWorker {
    const { source } = this.#options;
    if (source.kind === 'given' && this.#wasGiven) {
      throw new Error('the given worker was terminated; reload the page.');
    }
    this.#wasGiven = source.kind === 'given';
    const worker = source.kind === 'given' ? source.worker : source.spawn();
    const id = this.#idOf(worker);
    const isOwn = source.kind === 'spawned';
    const { operation } = this.#options;
    const startedBy = this.#search;
    const own = new OwnWorker(worker, id, isOwn, operation, this.#names, this.#environment, {
      heard: (leader) => {
        if (this.#worker?.id === id) this.#judge(leader);
      },
      leads: (channel, versions, medium) => {
        this.#reserve.leave();
        this.#supersede(id);
        const endpoint = new ChannelEndpoint(channel);
        if (commonVersion(OWN_VERSIONS, versions) === null) {
          endpoint.close();
          this.#search?.failed(misfit(this.#options.operation, versions, null));
        } else if (this.#search !== null) {
          this.#found(id, endpoint, medium);
          return;
        }
        new PageEnd(endpoint).leave(connectionClosed('the page already has one'));
        this.#seek();
      },
      failed: (error) => {
        this.#reserve.leave();
        this.#leaveToOthers(error, id);
      },
      gone: (error) => {
        this.#reserve.leave();
        if (this.#worker?.id === id) this.#worker = null;
        const search = this.#search;
        const link = this.#link?.leader === id ? this.#link : null;
        const wasSilent = link?.isSilent === true;
        if (link !== null) link.isSilent = false;
        link?.connection.fail(error);
        // A search needs another worker, unless it has started this one in vain.
        if (isOwn && search !== null && (own.hasStarted || search !== startedBy)) {
          if (wasSilent) this.#endSearchAfter(search, CONNECT_WAIT_MS);
          this.#startWorker();
          this.#tell({ type: 'who' });
          return;
        }
        if (link !== null) this.#seek();
        this.#leaveToOthers(error, id);
        if (isOwn) this.#startLater();
      },
    });
    return own;
  }

  // While the page follows, nobody asks for its worker, which takes over from an older leader or leads next.
  #startLater(): void {
    this.#environment.after(RESTART_MS, () => {
      if (this.#worker === null && this.#isConnected && !this.#reserve.isResting) {
        this.#startWorker();
      }
    });
  }

  // A worker that the caller started keeps its first name.
  #idOf(worker: WorkerLike): string {
    const id = workerIds.get(worker) ?? this.#environment.randomId();
    workerIds.set(worker, id);
    return id;
  }

  // Only a worker that this page can start again is ended; a worker of the caller may have work of its own.
  #endIfSilent(worker: string): void {
    const isSpawned = this.#options.source.kind === 'spawned';
    if (isSpawned && this.#worker?.id === worker) this.#worker.endIfSilent();
  }

  // A worker of another tab leads. The page's own worker hears that too, and reports its role to this
  // page; a worker that cannot be started reports nothing.
  #hear(leads: ControlMessage & { type: 'leads' }): void {
    const { worker } = leads;
    if (worker === this.#worker?.id) return; // it brings a connection along, which is faster
    this.#supersede(worker);
    this.#seek();
    const isResting = this.#reserve.isResting;
    if (isResting && !this.#reserve.isOfOwn(deploymentIn(leads.deployment))) {
      this.#reserve.wake(); // it judges this leader
      return;
    }
    if (!isResting && !this.#search?.isAlone) return;
    this.#follow({
      worker,
      versions: versionsIn(leads),
      build: null,
      medium: mediumIn(leads.medium),
    });
  }

  #judge({ order, own, worker, build, medium, ...versions }: OtherLeader): void {
    this.#reserve.judged(own);
    if (order === 'newer') this.standing.outdate();
    // The page's own worker takes over from one of an older deployment.
    if (order !== 'older') this.#follow({ worker, versions, build, medium });
    // It was started after the page had begun to follow.
    if (this.#isConnected && this.#leader === worker) this.#enterReserve();
  }

  #enterReserve(): void {
    // A worker that the caller started cannot be started again.
    if (this.#options.source.kind === 'spawned') this.#reserve.enter();
  }

  #follow({ worker, versions, build, medium }: Followed): void {
    this.#supersede(worker);
    this.#seek();
    const search = this.#search;
    if (search === null || search.asked?.worker === worker) return;
    const version = commonVersion(OWN_VERSIONS, versions);
    if (version === null) {
      search.failed(misfit(this.#options.operation, versions, build));
      return;
    }
    const { operation, directory, medium: wanted } = this.#options;
    if (!acceptsMedium(wanted, medium)) {
      search.failed(otherMedium(operation, directory, wanted, medium));
      return;
    }
    search.asked?.endpoint.close();
    const connection = this.#environment.randomId();
    const name = this.#names.connectionChannel(connection);
    const endpoint = new ChannelEndpoint(this.#environment.openChannel(name));
    endpoint.addEventListener('message', (event) => {
      const message = (event as MessageEvent<ConnectionMessage | null>).data;
      if (message?.type === 'accepted') this.#found(worker, endpoint, medium);
    });
    search.asked = { worker, endpoint };
    this.#tell({ type: 'connect', worker, client: this.#client, connection, version });
  }

  #found(worker: string, endpoint: ChannelEndpoint, medium: StorageMedium): void {
    const search = this.#search;
    if (search === null) {
      endpoint.close();
      return;
    }
    if (search.asked?.endpoint === endpoint) search.asked = null;
    this.#endSearch(search);
    const connection = new PageEnd(endpoint);
    const link: Link = { connection, leader: worker, isSilent: false };
    this.#link = link;
    this.standing.change(worker === this.#worker?.id ? 'leading' : 'following', null, medium);
    connection.onNotice = (notice) => this.standing.tell(notice);
    connection.whenLost((reason) => this.#lose(worker, connection, reason));
    connection.onYield = () => {
      this.standing.change(
        'connecting',
        connectionClosed('the worker that leads hands over to another'),
      );
      this.#seek();
    };
    new Heartbeat(connection, this.#environment, () => {
      link.isSilent = true;
      const duration = `for ${(SILENT_BEATS_MAX * HEARTBEAT_MS) / 1000} s`;
      connection.giveUp(
        connectionClosed(`the worker did not answer ${duration}`),
        busy(this.#options.operation, duration),
      );
      this.#endIfSilent(worker);
      this.#tell({ type: 'silent', worker });
    });
    if (worker !== this.#worker?.id) {
      this.#enterReserve();
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
  // run. But a worker that dies again and again is not started again and again: only a worker that served is.
  #lose(worker: string, connection: PageEnd, reason: Error): void {
    if (isStorageError(reason) && reason.code === 'SITE_DATA_CLEARED') this.#clear(reason);
    if (this.#over !== undefined || connection !== this.#link?.connection) return;
    const isOwn =
      (this.#worker === null && !this.#reserve.isResting) || this.#worker?.id === worker;
    if (isOwn && !connection.hasServed) {
      this.standing.change('lost', reason);
      return;
    }
    this.standing.change('connecting', reason);
    this.#seek();
  }

  #seek(): void {
    if (this.#search !== null || this.#over !== undefined || !this.hasServed) return;
    this.connection().catch(() => {});
  }

  // After site data is cleared, pages that were open do not share locks with later pages and
  // workers (Chromium 156), so this page can neither elect a leader with them nor watch one.
  #clear(error: Error): void {
    if (this.#over !== undefined) return;
    const search = this.#search;
    this.#state = { kind: 'cleared', error };
    this.standing.change('lost', error);
    search?.failed(error);
    this.#control.close();
    this.#replaceReserve();
    // A worker that led ends itself, after it has told every page.
    if (this.#leader !== this.#worker?.id) this.#worker?.terminate();
  }

  // Normally, a worker that leads proves that the one before it is dead. But the announcement may come from a
  // worker that has died since, so the abandoned worker is told to close this page's sessions. A leader that
  // steps down has answered everything before; but its answers come by another channel than this news, and may
  // come later. They end with its word that the connection is closed.
  #supersede(worker: string): void {
    if (this.#leader === worker) return;
    const connection = this.#link?.connection;
    const leave = () => connection?.leave(connectionClosed('another worker leads now'));
    const isAnswering = connection?.isYielding === true && connection.isWaiting;
    if (isAnswering) this.#environment.after(LAST_ANSWERS_MS, leave);
    else leave();
  }

  // This page's own worker cannot lead; another tab's worker may. A running worker still judges who leads.
  #leaveToOthers(error: Error, id?: string): void {
    if (id === undefined || this.#worker === null || this.#worker.id === id) {
      this.#succession?.fail(error);
    }
    const search = this.#search;
    if (search === null) return;
    this.#environment.after(OTHERS_WAIT_MS, () => search.failed(error));
    if (this.#worker?.hasStarted) return;
    search.isAlone = true;
    this.#tell({ type: 'who' });
  }

  #tell(message: ControlMessage): void {
    if (this.#over !== undefined) return;
    this.#control.postMessage(message);
  }
}
