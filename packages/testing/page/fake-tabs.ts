// Fake tabs for tests: all of one origin, each with a page and a worker of its own, over fake hosts that share a disk.
// Time passes only by advance().

import type { Abandoned, WorkerLike } from '../../../src/page/leader/environment.ts';
import { Flags } from '../../../src/page/leader/flags.ts';
import type { LeaderFinder } from '../../../src/page/leader/leader-finder.ts';
import { LeaderFinders } from '../../../src/page/leader/leader-finders.ts';
import { CONNECT_WAIT_MS } from '../../../src/page/leader/leader-search.ts';
import { Persistence, type PersistenceBrowser } from '../../../src/page/leader/status.ts';
import { checkStorageName, type WorkerChoice } from '../../../src/page/leader/worker-choice.ts';
import { connectObjects, type RemoteObjects } from '../../../src/page/storage/connect.ts';
import { openEarly, openPrepared, type Prepare } from '../../../src/page/storage/page-client.ts';
import { Session } from '../../../src/page/storage/session.ts';
import type { Build } from '../../../src/shared/contract/deployment.ts';
import { DEFAULT_DIRECTORY } from '../../../src/shared/contract/directory.ts';
import type { HistoryLimits } from '../../../src/shared/contract/history-limits.ts';
import type { StorageMedium } from '../../../src/shared/contract/medium.ts';
import type { OpenLimits } from '../../../src/shared/contract/open-limits.ts';
import type { RemoteStorage } from '../../../src/shared/contract/storage.ts';
import type {
  LiveService,
  ObjectsService,
  StorageService,
} from '../../../src/shared/wire/protocol.ts';
import type { WorkerService } from '../../../src/shared/wire/worker-end.ts';
import { type Agent, FakeBrowser, type FakeLocks } from './fake-browser.ts';
import { type Disk, FakeHost } from './fake-host.ts';
import { Settling } from './settling.ts';
import { turns } from './turns.ts';

/** The type of worker/start/boot/candidate, which page code does not import. */
export type RunCandidate = (
  code: {
    readonly build?: Build;
    readonly compareBuilds?: (one: Build, other: Build) => number;
    digest(): Promise<string>;
    prepare?(): Promise<unknown>;
    createHost(options: {
      readonly medium: StorageMedium | null;
      readonly history?: HistoryLimits | null;
      readonly limits?: OpenLimits | null;
    }): Promise<{ readonly service: WorkerService; readonly medium: StorageMedium }>;
  },
  environment: {
    readonly page: {
      postMessage(message: unknown, transfer?: Transferable[]): void;
      addEventListener(type: string, listener: (event: Event) => void): void;
      removeEventListener(type: string, listener: (event: Event) => void): void;
      close(): void;
    };
    readonly locks: FakeLocks;
    readonly after: (delayMs: number, task: () => void) => void;
    readonly elapsed: () => number;
    readonly openChannel: (name: string) => BroadcastChannel;
  },
) => void;

export class FakeTabs {
  readonly browser = new FakeBrowser();
  readonly disk: Disk = new Map();
  readonly runCandidate: RunCandidate;
  readonly objects: (() => ObjectsService) | undefined;
  readonly storage: StorageService | undefined;
  /** The live reads of every host; undefined if the hosts serve none. */
  live: LiveService | undefined;
  /** The flags that were revoked. */
  readonly revoked = new Set<string>();
  readonly flags: Flags;
  readonly #tabs: FakeTab[] = [];

  /** `objects` and `storage` replace those of every host, if given. */
  constructor(
    runCandidate: RunCandidate,
    objects?: () => ObjectsService,
    storage?: StorageService,
  ) {
    this.runCandidate = runCandidate;
    this.objects = objects;
    this.storage = storage;
    let lastFlag = 0;
    this.flags = new Flags({
      make: () => `blob:flag-${++lastFlag}`,
      revoke: (url) => void this.revoked.add(url),
      now: () => Date.now(),
    });
  }

  tab(deployment: FakeDeployment = {}): FakeTab {
    const tab = new FakeTab(this, deployment, this.#tabs.length);
    this.#tabs.push(tab);
    return tab;
  }

  /**
   * Ends the test: closes every handle of the tabs that are open, then the tabs.
   *
   * @throws Error if a promise of a handle does not settle by then
   */
  async close(): Promise<void> {
    try {
      await Promise.all(this.#tabs.map((tab) => tab.settle()));
    } finally {
      for (const tab of this.#tabs) tab.close();
    }
  }
}

/** The code that a tab's worker runs. */
export interface FakeDeployment {
  readonly build?: Build;
  readonly compareBuilds?: (one: Build, other: Build) => number;
  readonly code?: string;
  prepare?(): Promise<unknown>;
}

export class FakeTab {
  /** The workers, one for each start. */
  readonly workers: FakeWorker[] = [];
  /**
   * How the next workers behave: 'no script' is an address that cannot be loaded, 'never serves' a script that runs the
   * package's code but does not call serve().
   */
  script: 'serves' | 'no script' | 'says nothing' | 'never serves' = 'serves';
  /** The browser's answers about the persistence of the site's data. */
  readonly browserStorage: PersistenceBrowser = {};
  /** The error with which the next hosts cannot be created; null if they can. */
  hostError: Error | null = null;
  /** The deployment of the next workers. */
  deployment: FakeDeployment;
  readonly #page: Agent;
  readonly #tabs: FakeTabs;
  readonly #finders: LeaderFinders;
  readonly #collections = new Set<Abandoned>();
  readonly #settling = new Settling();
  /** Tasks that run when the page goes away. */
  readonly #hiding = new Set<() => void>();
  readonly #freezing = new Set<() => void>();
  /** Functions that close the handles that are open. */
  readonly #handles = new Set<() => Promise<void>>();
  #nowMs = 0;
  #timers: { readonly dueMs: number; readonly task: () => void }[] = [];

  /** `startedMs` is the time at which its page was opened. */
  constructor(tabs: FakeTabs, deployment: FakeDeployment, startedMs: number) {
    this.#tabs = tabs;
    this.deployment = deployment;
    this.#page = tabs.browser.agent();
    const { locks, openChannel, randomId } = this.#page;
    const after = (delayMs: number, task: () => void) => {
      const timer = { dueMs: this.#nowMs + delayMs, task };
      this.#timers.push(timer);
      return () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      };
    };
    // Besides the engine's collector, a test can run these tasks; each task runs once.
    const collected = new FinalizationRegistry<Abandoned>((left) => left.abandon());
    const whenCollected = (owner: object, left: Abandoned) => {
      const once = { abandon: () => void (this.#collections.delete(once) && left.abandon()) };
      this.#collections.add(once);
      collected.register(owner, once);
    };
    const now = () => this.#nowMs;
    const { flags } = tabs;
    const environment = {
      locks,
      openChannel,
      randomId,
      ownWasmUrl: null,
      scriptFault: async () => null,
      now,
      elapsed: now,
      startedMs,
      after,
      onPageHide: (task: () => void) => {
        this.#hiding.add(task);
        return () => void this.#hiding.delete(task);
      },
      onFreeze: (task: () => void) => {
        this.#freezing.add(task);
        return () => void this.#freezing.delete(task);
      },
      stayFor: () => () => {},
      nextTask: () => new Promise<void>((resolve) => void setTimeout(resolve)),
      flags,
      whenCollected,
      persistence: new Persistence(this.browserStorage),
      indexedDB: () => undefined,
    };
    this.#finders = new LeaderFinders(environment);
  }

  open(name: unknown = 'object', choice: Partial<WorkerChoice> = {}): Promise<RemoteStorage> {
    return this.#settling.add('openStorage', this.#open(name, choice));
  }

  async #open(name: unknown, choice: Partial<WorkerChoice>): Promise<RemoteStorage> {
    const checkedName = checkStorageName(name);
    const finder = this.#finders.finderFor(this.#choice('openStorage', choice));
    const { environment } = this.#finders;
    const session = new Session(checkedName, finder, environment.now);
    const storage = await openPrepared(session, environment, async () => {});
    return this.#watch(storage);
  }

  /** Opens a handle that does not wait for a worker; its calls wait for `prepare`. */
  openEarly(prepare: Prepare, name = 'object'): RemoteStorage {
    const options = { user: undefined, keeps: true };
    const choice = this.#choice('openStorage', {});
    return this.#watch(openEarly(this.#finders, name, choice, options, prepare, () => {}));
  }

  #watch(storage: RemoteStorage): RemoteStorage {
    const close = storage.close.bind(storage);
    this.#handles.add(close);
    storage.close = () => {
      this.#handles.delete(close); // Drop the handle, so that it can be collected.
      return close();
    };
    return this.#settling.watch(storage);
  }

  /**
   * Closes everything that is open, and advances time beyond every wait, so that all promises settle.
   *
   * @throws Error that names the promises that do not settle
   */
  async settle(): Promise<void> {
    if (this.#page.hasEnded) return;
    for (const close of this.#handles) void this.#settling.add('close', close());
    this.#handles.clear();
    // A call that was made before its handle was closed may search for a leader once for each time it is sent.
    for (let search = 0; search < 4 && this.#settling.pending.length > 0; search++) {
      this.advance(CONNECT_WAIT_MS);
      await turns();
    }
    await this.#settling.end();
  }

  connect<Classes extends object>(
    worker: WorkerLike | null = null,
    choice: Partial<WorkerChoice> = {},
  ): Promise<RemoteObjects<Classes>> {
    return connectObjects(this.#finders, this.#choice('connect', { worker, ...choice }));
  }

  /** Returns the page's search for the worker that leads the default directory. */
  finder(): LeaderFinder {
    return this.#finders.finderFor(this.#choice('finder', {}));
  }

  #choice(operation: string, choice: Partial<WorkerChoice>): WorkerChoice {
    return {
      operation,
      directory: DEFAULT_DIRECTORY,
      worker: null,
      start: null,
      startBy: (start) => start(),
      workerUrl: null,
      wasmUrl: null,
      lateUrl: null,
      medium: null,
      history: null,
      limits: null,
      spawn: () => this.startWorker(),
      ...choice,
    };
  }

  /** The host of this tab's worker; null while the worker does not lead. */
  get host(): FakeHost | null {
    return this.workers.at(-1)?.host ?? null;
  }

  /** The host of this tab's worker. @throws if the worker does not lead */
  get leadingHost(): FakeHost {
    if (this.host === null) throw new Error('The worker of this tab does not lead.');
    return this.host;
  }

  advance(durationMs: number): void {
    this.#nowMs += durationMs;
    const due = this.#timers.filter(({ dueMs }) => dueMs <= this.#nowMs);
    this.#timers = this.#timers.filter(({ dueMs }) => dueMs > this.#nowMs);
    for (const { task } of due) task();
  }

  /** Puts the page into the browser's back/forward cache, after its `pagehide`. */
  hide(): void {
    for (const task of [...this.#hiding]) task();
  }

  /** Tells the page that the browser is about to freeze it. Unlike in a browser, its code continues. */
  freeze(): void {
    for (const task of [...this.#freezing]) task();
  }

  /** Runs all tasks that wait for garbage collection, as if everything had been collected. */
  collectAll(): void {
    for (const left of [...this.#collections]) left.abandon();
  }

  terminateWorker(): void {
    this.workers.at(-1)?.terminate();
  }

  close(): void {
    // The page's code stops first, so it does not see its worker end.
    this.#page.end();
    for (const worker of this.workers) worker.terminate();
  }

  /** Starts a worker of this tab with the given script. */
  startWorker(script = this.script): FakeWorker {
    const worker = new FakeWorker(this.#tabs, script, () => this.hostError, this.deployment);
    this.workers.push(worker);
    return worker;
  }
}

export class FakeWorker implements WorkerLike {
  /** The hosts of this worker, one for each time it has led. */
  readonly hosts: FakeHost[] = [];
  /** The limits of the history with which the worker has led; undefined if it has not led. */
  history: HistoryLimits | null | undefined;
  /** The limits of opening with which the worker has led; undefined if it has not led. */
  limits: OpenLimits | null | undefined;
  readonly #tabs: FakeTabs;
  readonly #hostError: () => Error | null;
  readonly #deployment: FakeDeployment;
  readonly #agent: Agent;
  readonly #events = new EventTarget();
  readonly #channel = new MessageChannel();

  constructor(
    tabs: FakeTabs,
    script: FakeTab['script'],
    hostError: () => Error | null,
    deployment: FakeDeployment = {},
  ) {
    this.#tabs = tabs;
    this.#hostError = hostError;
    this.#deployment = deployment;
    this.#agent = tabs.browser.agent();
    const { port1: page, port2: scope } = this.#channel;
    page.addEventListener('message', ({ data }) => {
      this.#events.dispatchEvent(new MessageEvent('message', { data }));
    });
    page.start();
    if (script === 'no script') {
      setTimeout(() => this.#events.dispatchEvent(new Event('error')));
    }
    if (script === 'never serves') {
      scope.addEventListener('message', ({ data }) => {
        if (data.type === 'start') scope.postMessage({ type: 'loaded' });
      });
      scope.start();
    }
    if (script === 'serves') this.serve();
  }

  /** Runs the worker's script, unless it is of a kind that fails. */
  serve(): void {
    const scope = this.#channel.port2;
    const { locks, openChannel } = this.#agent;
    const worker = {
      postMessage: scope.postMessage.bind(scope),
      addEventListener: scope.addEventListener.bind(scope),
      removeEventListener: scope.removeEventListener.bind(scope),
      close: () => this.terminate(),
    };
    const after = (delayMs: number, task: () => void) => void setTimeout(task, delayMs);
    const { code: digest = 'code', ...deployment } = this.#deployment;
    const code: Parameters<RunCandidate>[0] = {
      ...deployment,
      digest: async () => digest,
      createHost: async ({ medium, history, limits }) => {
        Object.assign(this, { history, limits });
        return { service: await this.#createHost(), medium: medium ?? 'opfs' };
      },
    };
    const elapsed = () => performance.now();
    this.#tabs.runCandidate(code, { page: worker, locks, after, elapsed, openChannel });
    scope.start();
  }

  async #createHost(): Promise<WorkerService> {
    const error = this.#hostError();
    if (error !== null) throw error;
    const agent = this.#agent;
    const fake = new FakeHost(this.#tabs.disk);
    this.hosts.push(fake);
    const host = this.#tabs.storage ?? fake;
    const objects = this.#tabs.objects?.();
    const { live } = this.#tabs;
    return {
      ...(live !== undefined && { live }),
      ...(objects !== undefined && { objects: whileAlive(objects, agent) }),
      lost: fake.lost,
      notices: fake.notices,
      rest: () => fake.rest(),
      get isQuiet() {
        return fake.isQuiet;
      },
      end: (fact) => agent.whileAlive(() => fake.end(fact)),
      storage: {
        open: (target) => agent.whileAlive(() => host.open(target)),
        execute: (session, calls) => agent.whileAlive(async () => host.execute(session, calls)),
        cancel: (flags) => agent.whileAlive(async () => host.cancel?.(flags)),
        close: (session) => agent.whileAlive(() => host.close(session)),
      },
    };
  }

  postMessage(message: unknown): void {
    this.#channel.port1.postMessage(message);
  }

  addEventListener(type: string, listener: (event: Event) => void): void {
    this.#events.addEventListener(type, listener);
  }

  removeEventListener(type: string, listener: (event: Event) => void): void {
    this.#events.removeEventListener(type, listener);
  }

  /** The host of the last time that this worker led. */
  get host(): FakeHost | null {
    return this.hosts.at(-1) ?? null;
  }

  get isAlive(): boolean {
    return !this.#agent.hasEnded;
  }

  /** Ends the worker as Worker.terminate() does, without any message. */
  terminate(): void {
    this.#agent.end();
    this.#channel.port1.close();
  }
}

// Wraps the objects so that a worker that has ended answers nothing.
function whileAlive(objects: ObjectsService, agent: Agent): ObjectsService {
  return {
    connect(peer) {
      const connection = objects.connect(peer);
      return {
        ...connection,
        classes: () => agent.whileAlive(() => connection.classes()),
        call: (address, request) => agent.whileAlive(() => connection.call(address, request)),
        manage: (request) => agent.whileAlive(() => connection.manage(request)),
        ask: (number, request) => agent.whileAlive(() => connection.ask(number, request)),
      };
    },
  };
}

/** Returns the code of the error with which a call rejects, or `done` if it resolves. */
export const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'done',
    ({ code }) => code,
  );
