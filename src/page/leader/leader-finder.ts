// The page's one connection to the worker that leads: performs the effects of its side of the election (tab-steps.ts) with
// locks, channels, workers and timers.
//
// Invariant: there is one connection at a time, shared by all handles; a search ends within CONNECT_WAIT_MS. No
// assertion keeps that time, because timers come late.

import { deploymentIn } from '../../shared/contract/deployment.ts';
import { isStorageError, storageError } from '../../shared/contract/errors.ts';
import { assert, isDefect } from '../../shared/contract/invariant.ts';
import { acceptsMedium, mediumIn } from '../../shared/contract/medium.ts';
import { ChannelEndpoint } from '../../shared/wire/channel-endpoint.ts';
import {
  type ConnectionMessage,
  type ControlMessage,
  commonVersion,
  holdForLife,
  namesOf,
  type OtherLeader,
  OWN_VERSIONS,
  type Versions,
  versionsIn,
  whenReleased,
} from '../../shared/wire/control.ts';
import { connectionClosed } from '../../shared/wire/errors-on-wire.ts';
import { Machine } from '../../shared/wire/machine.ts';
import { PageEnd, Work } from '../../shared/wire/page-end.ts';
import type { PageEnvironment, WorkerLike, WorkerSource } from './environment.ts';
import type { Flags } from './flags.ts';
import { HEARTBEAT_MS, Heartbeat, SILENT_BEATS_MAX } from './heartbeat.ts';
import {
  busy,
  deniedFunctionError,
  FINISH_MS,
  LAST_ANSWERS_MS,
  type LeaderOptions,
  late,
  misfit,
  otherMedium,
} from './leader-search.ts';
import { OwnWorker } from './own-worker.ts';
import { PageFollowers } from './page-followers.ts';
import { ReservePlace } from './reserve.ts';
import { PageStanding } from './status.ts';
import {
  type FoundLeader,
  isConnected,
  newTab,
  type Tab,
  type TabEffect,
  type TabEvent,
  type TabTimer,
  withoutConnection,
} from './tab.ts';
import { stepTab } from './tab-steps.ts';

export type { LeaderOptions } from './leader-search.ts';

const workerIds = new WeakMap<WorkerLike, string>();

/** The promise of a search. */
interface Searching {
  readonly connected: Promise<PageEnd>;
  readonly found: (connection: PageEnd) => void;
  readonly failed: (error: Error) => void;
}

/** The promise of a succession, and the way to undo the succession. */
interface Succeeding {
  readonly settle: (error: Error | null) => void;
  readonly before: LeaderOptions;
}

export class LeaderFinder {
  #options: LeaderOptions;
  readonly #environment: PageEnvironment;
  readonly #names: ReturnType<typeof namesOf>;
  readonly #client: string;
  /**
   * The last part of `#client`, by which the history names the connection. It is short, because its bytes are in each
   * commit.
   */
  readonly client: string;
  readonly #alive: Promise<void>;
  readonly #control: BroadcastChannel;
  /** The state of the page's connection, and its reason. */
  readonly standing: PageStanding;
  readonly #place: ReservePlace;
  readonly #followers: PageFollowers;
  /** The unanswered calls of the users of this directory. */
  readonly work = new Work();
  /** Stops the page from staying for its work as it goes away. */
  readonly #leave: () => void;
  readonly #tab: Machine<Tab, TabEvent, TabEffect>;
  readonly #workers = new Map<string, OwnWorker>();
  readonly #timers = new Map<TabTimer, () => void>();
  /** The reason for which the finder will be closed, once its work is done; undefined if it stays open. */
  #finishing: Error | undefined;
  #wasGiven = false;
  /** The latest connection, which may have failed; null if there was no connection. */
  #connection: PageEnd | null = null;
  /** The channel to the leader that was asked, or over which the own worker offers a connection. */
  #asked: ChannelEndpoint | null = null;
  #offered: ChannelEndpoint | null = null;
  #searching: Searching | null = null;
  #succeeding: Succeeding | null = null;

  constructor(options: LeaderOptions, environment: PageEnvironment) {
    this.#options = options;
    this.#environment = environment;
    this.standing = new PageStanding(environment.persistence);
    this.#names = namesOf(options.directory);
    this.#tab = new Machine(
      newTab(options.source.kind === 'spawned'),
      (state, event) => stepTab(this.#withoutFailedConnection(state), event),
      (effect) => this.#perform(effect),
    );
    this.#place = new ReservePlace(environment.locks, () => this.#step({ kind: 'first' }));
    try {
      this.#client = environment.randomId();
      this.#control = environment.openChannel(this.#names.controlChannel);
    } catch (cause) {
      throw deniedFunctionError(options.operation, cause);
    }
    this.client = this.#client.slice(-12);
    this.#leave = environment.stayFor(() => this.work.isUnderWay);
    this.#followers = new PageFollowers(environment, this.#names, this.#control, {
      leader: () => {
        const { own, link } = this.#tab.state;
        return own !== null && own.id === link?.leader ? own.id : undefined;
      },
      frozen: () => this.restart('the browser froze the page of the worker, which other tabs used'),
    });
    this.#alive = holdForLife(environment.locks, this.#names.clientLock(this.#client));
    this.#alive.catch(() => {}); // Each search for a leader reports the error.
    this.#control.addEventListener('message', ({ data }: MessageEvent<ControlMessage | null>) => {
      if (data?.type === 'leads') this.#hear(data);
      if (data?.type === 'silent') this.#step({ kind: 'blamed', worker: data.worker });
    });
  }

  /**
   * Returns the current connection, or a new one.
   *
   * @throws WORKER_FAILED, WORKER_BUSY, VERSION_MISMATCH, SITE_DATA_CLEARED, and errors of opening the storage
   */
  connection(): Promise<PageEnd> {
    if (this.#over !== undefined) return Promise.reject(this.#over);
    if (this.#connection !== null && this.#isConnected) return Promise.resolve(this.#connection);
    this.#step({ kind: 'wanted' });
    const { phase } = this.#tab.state;
    if (phase.kind === 'entering' || phase.kind === 'searching') return this.#searching!.connected;
    // The call comes from a listener within a step of the election, so the search can begin only after that step.
    if (this.#tab.isPerforming) return Promise.resolve().then(() => this.connection());
    return this.connection();
  }

  /** The flags of this page's calls that can be cancelled. */
  get flags(): Flags {
    return this.#environment.flags;
  }

  /** The reason why this page accepts no new work; undefined while it accepts work. */
  get end(): Error | undefined {
    return this.#over ?? this.#finishing;
  }

  /** The reason why no leader is searched for any more; undefined while leaders are searched for. */
  get #over(): Error | undefined {
    const { phase } = this.#tab.state;
    return phase.kind === 'over' ? phase.error : undefined;
  }

  get isClosed(): boolean {
    const { phase } = this.#tab.state;
    return (phase.kind === 'over' && !phase.isCleared) || this.#finishing !== undefined;
  }

  /** True once there was a connection. */
  get hasServed(): boolean {
    return this.#tab.state.link !== null;
  }

  /** True while no user depends on this page's worker, so that another worker may be used instead. */
  get mayChange(): boolean {
    const { phase, own, resting } = this.#tab.state;
    if (phase.kind === 'entering' || phase.kind === 'searching') return false;
    return (own === null && !resting.isResting) || !this.#isConnected;
  }

  /** Sets another source for this page's worker. Only allowed while `mayChange` is true. */
  use(options: LeaderOptions): void {
    this.#wasGiven = false;
    this.#options = options;
    this.#step({ kind: 'exchanged', isSpawned: options.source.kind === 'spawned' });
  }

  /**
   * Starts a worker of this page with newer code, which takes over from the page's worker in order. @throws the error
   * of the new worker; the previous one then continues
   */
  async succeed(source: WorkerSource): Promise<void> {
    if (this.#over !== undefined) throw this.#over;
    const before = this.#options;
    const settled = new Promise<Error | null>((settle) => {
      this.#succeeding = { settle, before };
    });
    this.#options = { ...before, source };
    this.#step({ kind: 'succeeded' });
    const error = await settled;
    if (error !== null) throw error;
  }

  /** Ends this page's worker, whatever it does, and starts it again. */
  restart(fact = 'its worker was stopped'): void {
    this.#step({ kind: 'restarted', reason: connectionClosed(fact) });
  }

  get #isConnected(): boolean {
    return isConnected(this.#withoutFailedConnection(this.#tab.state));
  }

  /**
   * Marks the connection as failed in the state. Its users may know of the failure before the connection reports it.
   */
  #withoutFailedConnection(state: Tab): Tab {
    const hasFailed = this.#connection !== null && this.#connection.failure !== null;
    return hasFailed && isConnected(state) ? withoutConnection(state) : state;
  }

  /** Closes the finder once all work is done, or after FINISH_MS. */
  async finish(reason: Error): Promise<void> {
    this.#finishing ??= reason;
    const cancel = this.#environment.after(FINISH_MS, () => this.close(reason));
    await this.work.idle();
    cancel();
    this.close(reason);
  }

  /** Ends the connection for good, and the worker too if this page started it. */
  close(reason: Error): void {
    this.#step({ kind: 'closed', error: reason });
  }

  /**
   * Performs a step of the election. A violated assertion closes the finder: its calls reject, and the next handle uses
   * another finder.
   */
  #step(event: TabEvent): void {
    try {
      this.#tab.handle(event);
    } catch (error) {
      if (!isDefect(error) || event.kind === 'closed') throw error;
      this.#searching?.failed(error as Error);
      this.close(error as Error);
    }
  }

  #perform(effect: TabEffect): void {
    const { after } = this.#environment;
    switch (effect.kind) {
      case 'search':
        assert(this.#searching === null, 'a page has two searches');
        this.#searching = newSearching();
        return;
      case 'enter':
        this.#enter();
        return;
      case 'searched':
        if (effect.error === null) this.#searching?.found(this.#connection!);
        else this.#searching?.failed(effect.error);
        this.#searching = null;
        return;
      case 'stand': {
        const { as, reason = this.standing.standing.reason, medium } = effect;
        this.standing.change(as, reason, medium);
        return;
      }
      case 'outdate':
        this.standing.outdate();
        return;
      case 'spawn':
        this.#tab.handleNext(this.#spawnWorker());
        return;
      case 'start':
        this.#start();
        return;
      case 'abandon':
        this.#workers.get(effect.worker)?.abandon();
        this.#workers.delete(effect.worker);
        return;
      case 'terminate':
        this.#workers.get(effect.worker)?.terminate();
        return;
      case 'askWhetherSilent':
        this.#own?.endIfSilent();
        return;
      case 'tell':
        this.#control.postMessage(effect.message);
        return;
      case 'ask':
        this.#ask(effect);
        return;
      case 'stopSearch':
        this.#setTimer('search', () => {});
        this.#askNobody();
        return;
      case 'connect':
        this.#connect(effect);
        return;
      case 'decline':
        new PageEnd(this.#offered!).leave(connectionClosed('the page already has one'));
        return;
      case 'failLink':
        this.#connection?.fail(effect.reason);
        return;
      case 'leaveLink':
        this.#leaveLink(effect.reason);
        return;
      case 'after': {
        const { delayMs, timer, event } = effect;
        this.#setTimer(
          timer,
          after(delayMs, () => this.#step(event)),
        );
        return;
      }
      case 'limitSearch':
        this.#limitSearch(effect.search, effect.waitMs);
        return;
      case 'cancel':
        this.#setTimer(effect.timer, () => {});
        return;
      case 'place':
        this.#place.move(effect.line);
        return;
      case 'settleSuccession': {
        const { settle, before } = this.#succeeding!;
        if (effect.error !== null) this.#options = before;
        settle(effect.error);
        return;
      }
      case 'shut':
        this.#control.close();
        if (this.isClosed) {
          this.#leave();
          this.#followers.close();
        }
    }
  }

  get #own(): OwnWorker | undefined {
    const { own } = this.#tab.state;
    return own === null ? undefined : this.#workers.get(own.id);
  }

  #setTimer(timer: TabTimer, cancel: () => void): void {
    if (timer === null) return;
    this.#timers.get(timer)?.();
    this.#timers.set(timer, cancel);
  }

  #enter(): void {
    this.#alive.then(
      () => this.#step({ kind: 'entered' }),
      (cause) => {
        const error = deniedFunctionError(this.#options.operation, cause) as Error;
        this.#step({ kind: 'refused', error });
      },
    );
  }

  #limitSearch(search: number, waitMs: number): void {
    const end = () => {
      const { link, own } = this.#tab.state;
      const hasStarted = link?.isSilent === true || own?.hasStarted === true;
      const error = late(this.#options.operation, waitMs, hasStarted);
      this.#step({ kind: 'searchOver', search, error });
    };
    this.#setTimer('search', this.#environment.after(waitMs, end));
  }

  #start(): void {
    const { directory, medium, wasmUrl, lateUrl = null, source } = this.#options;
    const { history = null, limits = null } = this.#options;
    const { startedMs, ownWasmUrl: pageWasmUrl } = this.#environment;
    // A worker that the app passed may have listeners of the app for its messages.
    const isDirect = source.kind === 'spawned';
    const chosen = { directory, medium, wasmUrl, lateUrl, pageWasmUrl, history, limits };
    this.#own?.start({ ...chosen, startedMs, isDirect });
  }

  #spawnWorker(): TabEvent {
    const { operation } = this.#options;
    try {
      const own = this.#createWorker();
      this.#workers.set(own.id, own);
      return { kind: 'spawned', worker: own.id };
    } catch (cause) {
      if (isStorageError(cause)) return { kind: 'notSpawned', error: cause, isFinal: true };
      const { message: fact } = cause as Error;
      const message = `${operation}: the worker could not be started: ${fact}`;
      const error = storageError('WORKER_FAILED', message, { cause });
      return { kind: 'notSpawned', error, isFinal: false };
    }
  }

  #createWorker(): OwnWorker {
    const { source, operation } = this.#options;
    if (source.kind === 'given' && this.#wasGiven) {
      throw new Error('the given worker was terminated; reload the page.');
    }
    this.#wasGiven = source.kind === 'given';
    const given = source.kind === 'given' ? source.worker : source.spawn();
    const worker = this.#idOf(given);
    const isSpawned = source.kind === 'spawned';
    return new OwnWorker(given, worker, isSpawned, operation, this.#names, this.#environment, {
      started: () => this.#step({ kind: 'started', worker }),
      heard: (leader) => this.#reportJudgement(worker, leader),
      leads: (channel, versions, medium) => {
        this.#offered = new ChannelEndpoint(channel);
        const refusal = this.#misfit(versions, null);
        this.#step({ kind: 'leads', worker, medium, refusal });
      },
      failed: (error) => this.#step({ kind: 'failed', worker, error }),
      gone: (error) => {
        this.#workers.delete(worker);
        this.#step({ kind: 'gone', worker, error });
      },
    });
  }

  // A worker that the caller started keeps its first name.
  #idOf(worker: WorkerLike): string {
    const id = workerIds.get(worker) ?? this.#environment.randomId();
    workerIds.set(worker, id);
    return id;
  }

  #hear(leads: ControlMessage & { type: 'leads' }): void {
    const deployment = deploymentIn(leads.deployment);
    const line = deployment === null ? null : this.#names.reserveLock(deployment);
    this.#step({ kind: 'announced', leader: this.#foundLeader(leads, null), line });
  }

  #reportJudgement(by: string, leads: OtherLeader): void {
    const { order, own, build } = leads;
    const line = own === null ? null : this.#names.reserveLock(own);
    this.#step({ kind: 'judged', by, leader: this.#foundLeader(leads, build), order, line });
  }

  #foundLeader(
    leads: { readonly worker: string; readonly medium: unknown } & Versions,
    build: OtherLeader['build'],
  ): FoundLeader {
    const { operation, directory, medium: wanted } = this.#options;
    const medium = mediumIn(leads.medium);
    const versions = versionsIn(leads);
    const conflict = acceptsMedium(wanted, medium)
      ? null
      : otherMedium(operation, directory, wanted, medium);
    const refusal = this.#misfit(versions, build) ?? conflict;
    const version = commonVersion(OWN_VERSIONS, versions) ?? 0;
    return { worker: leads.worker, medium, version, refusal };
  }

  /** Returns why this page cannot use a worker of these versions; null if it can. */
  #misfit(versions: Versions, build: OtherLeader['build']): Error | null {
    const isCommon = commonVersion(OWN_VERSIONS, versions) !== null;
    return isCommon ? null : misfit(this.#options.operation, versions, build);
  }

  #ask({ worker, connection: number, version }: TabEffect & { kind: 'ask' }): void {
    this.#askNobody();
    const connection = this.#environment.randomId();
    const name = this.#names.connectionChannel(connection);
    const endpoint = new ChannelEndpoint(this.#environment.openChannel(name));
    endpoint.addEventListener('message', (event) => {
      const message = (event as MessageEvent<ConnectionMessage | null>).data;
      if (message?.type === 'accepted') this.#step({ kind: 'accepted', connection: number });
    });
    this.#asked = endpoint;
    const client = this.#client;
    this.#control.postMessage({ type: 'connect', worker, client, connection, version });
  }

  #askNobody(): void {
    this.#asked?.close();
    this.#asked = null;
  }

  #connect({ link, leader, isOffered }: TabEffect & { kind: 'connect' }): void {
    const endpoint = isOffered ? this.#offered! : this.#asked!;
    if (!isOffered) this.#asked = null;
    const connection = new PageEnd(endpoint);
    this.#connection = connection;
    connection.onNotice = (notice) => this.standing.tell(notice);
    connection.whenLost((reason) => {
      const isCleared = isStorageError(reason) && reason.code === 'SITE_DATA_CLEARED';
      const { hasServed } = connection;
      this.#step({ kind: 'lost', link, reason, hasServed, isCleared });
    });
    connection.onYield = () => this.#step({ kind: 'yields', link });
    new Heartbeat(connection, this.#environment, () => {
      const duration = `for ${(SILENT_BEATS_MAX * HEARTBEAT_MS) / 1000} s`;
      connection.giveUp(
        connectionClosed(`the worker did not answer ${duration}`),
        busy(this.#options.operation, duration),
      );
      this.#step({ kind: 'silent', link });
    });
    // The page's own worker needs no watch, because its end is noticed in any case.
    if (leader === this.#tab.state.own?.id) return;
    const watch = new AbortController();
    whenReleased(this.#environment.locks, this.#names.workerLock(leader), watch.signal, () => {
      connection.fail(connectionClosed('the tab whose worker led was closed'));
    });
    void connection.lost.then(() => watch.abort());
  }

  #leaveLink(reason: Error): void {
    const connection = this.#connection;
    const leave = () => connection?.leave(reason);
    const isAnswering = connection?.isYielding === true && connection.isWaiting;
    if (isAnswering && this.#over === undefined) this.#environment.after(LAST_ANSWERS_MS, leave);
    else leave();
  }
}

function newSearching(): Searching {
  let found!: Searching['found'];
  let failed!: Searching['failed'];
  const connected = new Promise<PageEnd>((resolve, reject) => {
    found = resolve;
    failed = reject;
  });
  connected.catch(() => {}); // If nobody waits for the search, the connection status reports its error.
  return { connected, found, failed };
}
