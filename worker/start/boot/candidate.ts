// Makes a worker a candidate, and lets it serve pages when it leads.
//
// The leader's lock is taken inside the worker, so that a dead worker frees it. Candidates wait in its queue.
// One whose turn comes stands back, behind the others, while a candidate of a newer deployment waits; and one
// that hears that an older deployment leads asks that leader to step down. So the newest deployment that lives
// leads, and the last tab that is left does, whatever it runs.
//
// Invariant: a worker creates the host only while it holds the lock, and frees the lock only after the host
// has closed. The election ends in whatever way deployments compare: a candidate stands back for another once
// until somebody leads, asks each leader to step down once, and asks nobody while one lives that it stepped
// down for.
//
// Does not know objects and files: the caller creates the host.

import {
  type Build,
  type Deployment,
  deploymentIn,
  nameOfNewer,
} from '../../src/contract/deployment.ts';
import { mediumIn, type StorageMedium } from '../../src/contract/medium.ts';
import type { WireChannel } from '../../src/rpc/channel-endpoint.ts';
import {
  type ControlMessage,
  namesOf,
  OWN_VERSIONS,
  type StartMessage,
  versionsIn,
  type WorkerMessage,
} from '../../src/rpc/control.ts';
import { toWire } from '../../src/rpc/errors-on-wire.ts';
import { holdForLife } from '../../src/rpc/locks.ts';
import { OwnChannel } from '../../src/rpc/own-channel.ts';
import type { WorkerService } from '../../src/rpc/worker-end.ts';
import {
  type CandidateLocks,
  type LivingCandidate,
  livingCandidates,
  Presence,
} from './candidates.ts';
import { type CompareBuilds, orderOf } from './deployment-order.ts';
import { Leadership } from './leadership.ts';

/** The part of a worker's global scope that is used. */
export interface CandidateEnvironment {
  /** To and from the page that started this worker. */
  readonly page: {
    postMessage(message: unknown, transfer?: Transferable[]): void;
    addEventListener(type: string, listener: (event: Event) => void): void;
    removeEventListener(type: string, listener: (event: Event) => void): void;
    /** Ends this worker. */
    close(): void;
  };
  readonly locks: CandidateLocks;
  readonly after: (delayMs: number, task: () => void) => void;
  readonly openChannel: (name: string) => BroadcastChannel;
}

/**
 * How long a worker whose files are gone waits after it has told its clients, before it ends.
 * Otherwise its lock may be released before the message arrives, and the lock does not tell the
 * reason.
 */
const LAST_WORDS_MS = 500;

/** How long a worker waits in line before it prepares to lead, so that its page's first answers come first. */
const PREPARE_MS = 1000;

/** What a worker that leads serves, and from which medium. */
export interface ServedHost {
  readonly service: WorkerService;
  readonly medium: StorageMedium;
}

export type DirectoryOptions = Pick<StartMessage, 'directory' | 'medium' | 'wasmUrl'>;

/** What a worker hosts once it leads, and how its deployment differs from others. */
export interface HostedCode {
  /** What the app calls its deployment. @default nothing */
  readonly build?: Build;
  readonly compareBuilds?: CompareBuilds;
  /** A digest that differs when the code does. */
  digest(): Promise<string>;
  /**
   * Loads what the host needs, while another still leads. Whoever is to take over has its page told of a
   * rejection; one that waits in line tries again when its turn comes.
   */
  prepare?(options: DirectoryOptions): Promise<unknown>;
  /** Creates the host. The page receives its rejection. */
  createHost(options: DirectoryOptions): Promise<ServedHost>;
}

/**
 * Serves pages from now on. Call it before anything is awaited; otherwise the first message is
 * lost.
 */
export function runCandidate(code: HostedCode, environment: CandidateEnvironment): void {
  let candidate: Candidate | undefined;
  environment.page.addEventListener('message', (event) => {
    const { data } = event as MessageEvent<StartMessage | null>;
    if (data?.type !== 'start') return;
    candidate ??= new Candidate(data, code, environment);
    candidate.start();
  });
}

type State =
  | { readonly kind: 'idle' }
  /** In the queue, or creating the host. */
  | { readonly kind: 'standing' }
  | {
      readonly kind: 'leading';
      readonly medium: StorageMedium;
      readonly leadership: Leadership;
      readonly stop: () => void;
    }
  /** Holds the lock until its host has closed; it is in the queue again already. */
  | { readonly kind: 'yielding' }
  /** Holds the lock until it has ended, and serves no page. */
  | { readonly kind: 'ending' };

type Leads = ControlMessage & { readonly type: 'leads' };

class Candidate {
  readonly #identity: StartMessage;
  readonly #code: HostedCode;
  readonly #environment: CandidateEnvironment;
  readonly #names: ReturnType<typeof namesOf>;
  readonly #alive: Promise<void>;
  readonly #control: BroadcastChannel;
  /** Known, and shown to the others, before it is in the queue for the first time. */
  #deployment!: Deployment;
  #presence!: Presence;
  /** Those it has stood back for since it last heard of a leader. */
  readonly #stoodBackFor = new Set<string>();
  /** Those it has stepped down for. */
  readonly #steppedDownFor = new Set<string>();
  /** The leader that it has asked to step down, until its turn comes. */
  #asked: string | null = null;
  /** Those it asked before that. */
  readonly #askedBefore = new Set<string>();
  /** Its host could not be created: it leads if nobody else does, and takes over from nobody. */
  #hasFailed = false;
  #heardCount = 0;
  /** How many connections its own page was given over its own channel. */
  #connectionCount = 0;
  #isPreparing = false;
  #state: State = { kind: 'idle' };

  constructor(identity: StartMessage, code: HostedCode, environment: CandidateEnvironment) {
    this.#identity = identity;
    this.#code = code;
    this.#environment = environment;
    this.#names = namesOf(identity.directory);
    this.#alive = holdForLife(environment.locks, this.#names.workerLock(identity.worker));
    this.#control = environment.openChannel(this.#names.controlChannel);
    this.#control.addEventListener('message', ({ data }: MessageEvent<ControlMessage | null>) => {
      this.#hear(data);
    });
  }

  /**
   * The page searches for a leader: become a candidate, or connect the page if this worker leads.
   */
  start(): void {
    // The page may have forgotten this worker since it said so.
    if (this.#state.kind !== 'idle') void this.#alive.then(() => this.#post({ type: 'standing' }));
    if (this.#state.kind === 'leading') this.#state.leadership.connectOwnPage();
    if (this.#state.kind === 'idle') void this.#stand();
  }

  async #stand(): Promise<void> {
    this.#state = { kind: 'standing' };
    try {
      await this.#alive;
      this.#post({ type: 'standing' });
      await this.#introduce();
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#queue();
    this.#control.postMessage({ type: 'who' });
  }

  async #introduce(): Promise<void> {
    if (this.#deployment !== undefined) return;
    const { worker, startedMs } = this.#identity;
    const { build = null } = this.#code;
    this.#deployment = {
      build,
      code: await this.#code.digest(),
      startedMs: typeof startedMs === 'number' ? startedMs : 0,
    };
    const candidate = { worker, deployment: this.#deployment };
    this.#presence = new Presence(this.#environment.locks, this.#names.candidateLock, candidate);
  }

  #queue(): void {
    const { locks } = this.#environment;
    locks.request(this.#names.leaderLock, {}, () => this.#takeTurn()).catch((e) => this.#fail(e));
    // Requested second: those who see the candidate know that it is in the queue.
    this.#presence.show().catch((error) => this.#fail(error));
  }

  /** It holds the lock until this settles. */
  async #takeTurn(): Promise<void> {
    if (this.#asked !== null) this.#askedBefore.add(this.#asked);
    this.#asked = null;
    await this.#presence.show();
    if (await this.#standsBack()) {
      this.#queue();
      return;
    }
    const host = await this.#code.createHost(this.#identity);
    this.#hasFailed = false;
    await this.#lead(host);
  }

  /** Whether one of a newer deployment waits, which leads in its place. */
  async #standsBack(): Promise<boolean> {
    const newer = (await this.#living()).filter(
      ({ worker, deployment }) =>
        !this.#stoodBackFor.has(worker) && this.#orderOf(deployment) === 'newer',
    );
    for (const { worker } of newer) this.#stoodBackFor.add(worker);
    return newer.length > 0;
  }

  #lead({ service, medium }: ServedHost): Promise<void> {
    const { locks, after, openChannel, page } = this.#environment;
    const leadership = new Leadership(service, {
      locks,
      names: this.#names,
      after,
      openChannel,
      openOwnChannel: () => this.#openOwnChannel(medium),
      close: () => page.close(),
    });
    const stopped = new Promise<void>((stop) => {
      this.#state = { kind: 'leading', medium, leadership, stop };
    });
    leadership.connectOwnPage();
    this.#announce(medium);
    void service.lost?.then((error) => this.#end(leadership, error));
    return stopped;
  }

  #openOwnChannel(medium: StorageMedium): WireChannel {
    const { worker, isDirect } = this.#identity;
    const leads = { type: 'leads', medium, ...OWN_VERSIONS } as const;
    if (isDirect !== true) {
      const { port1, port2 } = new MessageChannel();
      this.#post({ ...leads, port: port2 }, [port2]);
      return port1;
    }
    this.#connectionCount += 1;
    const connection = `${worker}/${this.#connectionCount}`;
    this.#post({ ...leads, connection });
    return new OwnChannel(this.#environment.page, connection);
  }

  #announce(medium: StorageMedium): void {
    const { worker } = this.#identity;
    const deployment = this.#deployment;
    this.#control.postMessage({ type: 'leads', worker, deployment, medium, ...OWN_VERSIONS });
  }

  #hear(message: ControlMessage | null): void {
    const { worker } = this.#identity;
    const state = this.#state;
    if (message?.type === 'leads' && message.worker !== worker) void this.#judge(message);
    if (state.kind !== 'leading') return;
    if (message?.type === 'who') this.#announce(state.medium);
    if (message?.type === 'connect' && message.worker === worker) state.leadership.connect(message);
    if (message?.type === 'takeover' && message.worker === worker) void this.#yieldTo(message.by);
  }

  // The page follows the leader, waits until this worker has taken over from it, or learns that it is outdated.
  async #judge(leads: Leads): Promise<void> {
    if (typeof leads.worker !== 'string' || this.#deployment === undefined) return;
    this.#stoodBackFor.clear();
    this.#heardCount += 1;
    const count = this.#heardCount;
    const other = deploymentIn(leads.deployment);
    // A leader of a version that tells nothing of its deployment would not step down.
    let order = other === null ? 'same' : this.#orderOf(other);
    if (order === 'older' && !(await this.#mayTakeOverFrom(leads.worker))) order = 'same';
    if (count !== this.#heardCount) return; // another one was heard since
    const { worker } = leads;
    this.#post({
      type: 'heard',
      worker,
      build: other?.build ?? null,
      order,
      medium: mediumIn(leads.medium),
      ...versionsIn(leads),
    });
    if (order !== 'older') {
      this.#prepareInLine();
      return;
    }
    this.#asked = worker;
    this.#control.postMessage({ type: 'takeover', worker, by: this.#identity.worker });
  }

  // What it would load when its turn comes would make everyone wait who calls then.
  #prepareInLine(): void {
    if (this.#isPreparing) return;
    this.#isPreparing = true;
    this.#environment.after(PREPARE_MS, () => {
      // Nobody waits for it yet: when its turn comes, creating the host fails likewise, and its page is told.
      if (this.#state.kind === 'standing') this.#code.prepare?.(this.#identity).catch(() => {});
    });
  }

  async #mayTakeOverFrom(leader: string): Promise<boolean> {
    if (this.#state.kind !== 'standing' || this.#hasFailed) return false;
    if (this.#askedBefore.has(leader)) return false;
    await this.#presence.show(); // the leader looks for it
    const living = await this.#living();
    if (living.some(({ worker }) => this.#steppedDownFor.has(worker))) return false;
    try {
      await this.#code.prepare?.(this.#identity);
      return true;
    } catch (error) {
      this.#hasFailed = true;
      this.#post({ type: 'failed', error: toWire(error) });
      return false;
    }
  }

  // Only for one that is in the queue: then somebody leads afterwards.
  async #yieldTo(by: string): Promise<void> {
    const newer = (await this.#living()).find(({ worker }) => worker === by);
    if (newer === undefined || this.#state.kind !== 'leading') return;
    const { leadership, stop } = this.#state;
    this.#state = { kind: 'yielding' };
    this.#steppedDownFor.add(by);
    this.#queue();
    await leadership.yield(`${nameOfNewer(newer.deployment)} has taken over`);
    if (!this.#isYielding()) return; // its files were cleared meanwhile
    this.#state = { kind: 'standing' };
    stop();
  }

  #isYielding(): boolean {
    return this.#state.kind === 'yielding';
  }

  // The host has lost its files. Their handles last as long as this worker, and prevent the next
  // worker from opening files of the same names.
  #end(leadership: Leadership, error: Error): void {
    const { kind } = this.#state;
    if (kind !== 'leading' && kind !== 'yielding') return;
    this.#state = { kind: 'ending' };
    this.#control.close();
    leadership.end(error);
    const { after, page } = this.#environment;
    after(LAST_WORDS_MS, () => page.close());
  }

  #fail(error: unknown): void {
    this.#hasFailed = true;
    this.#presence?.hide();
    this.#state = { kind: 'idle' };
    this.#post({ type: 'failed', error: toWire(error) });
  }

  #living(): Promise<LivingCandidate[]> {
    return livingCandidates(this.#environment.locks, this.#names.candidateLock);
  }

  #orderOf(other: Deployment) {
    return orderOf(other, this.#deployment, this.#code.compareBuilds);
  }

  #post(message: WorkerMessage, transfer: Transferable[] = []): void {
    this.#environment.page.postMessage(message, transfer);
  }
}
