// Makes a worker a candidate, and lets it serve pages when it leads.
//
// The leader's lock is taken inside the worker, so that a dead worker frees it. Candidates wait in its queue.
// When its turn comes, a candidate goes back in the queue while a candidate of a newer deployment waits; and a
// candidate that hears that an older deployment leads asks that leader to step down. So the newest living
// deployment leads, and the last tab does, whatever it runs.
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
} from '../../../src/shared/contract/deployment.ts';
import { mediumIn, type StorageMedium } from '../../../src/shared/contract/medium.ts';
import type { WireChannel } from '../../../src/shared/wire/channel-endpoint.ts';
import { OwnChannel } from '../../../src/shared/wire/channel-endpoint.ts';
import {
  type ControlMessage,
  holdForLife,
  namesOf,
  OWN_VERSIONS,
  type StartMessage,
  versionsIn,
  type WorkerMessage,
  whenReleased,
} from '../../../src/shared/wire/control.ts';
import { toWire } from '../../../src/shared/wire/errors-on-wire.ts';
import type { WorkerService } from '../../../src/shared/wire/worker-end.ts';
import {
  type CandidateLocks,
  candidatesInLine,
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
  /** Milliseconds that only go forward. */
  readonly elapsed: () => number;
  readonly openChannel: (name: string) => BroadcastChannel;
}

/**
 * How long a worker whose files are gone waits after it has told its clients, before it ends.
 * Otherwise its lock may be released before the message arrives, and the lock does not tell the
 * reason.
 */
const LAST_WORDS_MS = 500;

/** How long a worker is in line before it prepares to lead, so that its page's first answers come first. */
const PREPARE_MS = 1000;

/** The services of a worker that leads, and its medium. */
export interface ServedHost {
  readonly service: WorkerService;
  readonly medium: StorageMedium;
}

export type DirectoryOptions = Pick<
  StartMessage,
  'directory' | 'medium' | 'wasmUrl' | 'pageWasmUrl' | 'lateUrl' | 'history' | 'limits'
>;

/** The host of a worker that leads, and how its deployment differs from others. */
export interface HostedCode {
  /** The app's name for its deployment. @default nothing */
  readonly build?: Build;
  readonly compareBuilds?: CompareBuilds;
  /** A digest that differs when the code does. */
  digest(): Promise<string>;
  /**
   * Loads the files of the host, while another still leads. A candidate that takes over reports a
   * rejection to its page; a candidate that waits in line tries again when its turn comes.
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

/** Whether a candidate that waits takes over from an older leader. */
type Takeover =
  | { readonly kind: 'none' }
  /** It has asked this leader to step down. */
  | { readonly kind: 'asked'; readonly leader: string }
  /** Its host could not be created: it leads if nobody else does, and takes over from nobody. */
  | { readonly kind: 'refused' };

/** In the queue, or creating the host. */
interface Waiting {
  readonly kind: 'waiting';
  readonly takeover: Takeover;
}

type State =
  | { readonly kind: 'new' }
  /** It is in no queue; its page was told, and may start it again. */
  | { readonly kind: 'failed' }
  /** The others do not see it yet. */
  | { readonly kind: 'introducing' }
  | Waiting
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

/** As the other candidates see it, from the first time on that it is in the queue. */
interface Introduced {
  readonly deployment: Deployment;
  readonly presence: Presence;
}

const NO_TAKEOVER: Takeover = { kind: 'none' };

type Leads = ControlMessage & { readonly type: 'leads' };

class Candidate {
  readonly #identity: StartMessage;
  readonly #code: HostedCode;
  readonly #environment: CandidateEnvironment;
  readonly #names: ReturnType<typeof namesOf>;
  readonly #alive: Promise<void>;
  readonly #control: BroadcastChannel;
  #introduced: Introduced | null = null;
  /** Those it has stood back for since it last heard of a leader. */
  readonly #stoodBackFor = new Set<string>();
  /** Those it has stepped down for. */
  readonly #steppedDownFor = new Set<string>();
  /** Those it has asked to step down before its last turn. */
  readonly #askedBefore = new Set<string>();
  /** It has a timer to look whether it is the next in line. */
  #isLooking = false;
  /** Everything is loaded, or was tried to be. */
  #isPrepared = false;
  /** The worker ahead in line whose end it waits for; null: it has not looked. */
  #watched: string | null | undefined = null;
  /** How often a leader was heard. */
  #heardCount = 0;
  /** How many connections its own page was given over its own channel. */
  #connectionCount = 0;
  #state: State = { kind: 'new' };

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
    switch (this.#state.kind) {
      case 'new':
        void this.#stand(NO_TAKEOVER);
        return;
      case 'failed':
        void this.#stand({ kind: 'refused' });
        return;
      case 'leading':
        this.#state.leadership.connectOwnPage();
    }
    // The page may have forgotten this worker since it said so.
    void this.#alive.then(() => this.#post({ type: 'standing' }));
  }

  async #stand(takeover: Takeover): Promise<void> {
    this.#state = { kind: 'introducing' };
    try {
      await this.#alive;
      this.#post({ type: 'standing' });
      this.#introduced ??= await this.#introduce();
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#state = { kind: 'waiting', takeover };
    this.#queue(this.#introduced);
    this.#control.postMessage({ type: 'who' });
  }

  async #introduce(): Promise<Introduced> {
    const { worker, startedMs } = this.#identity;
    const { build = null } = this.#code;
    const deployment = {
      build,
      code: await this.#code.digest(),
      startedMs: typeof startedMs === 'number' ? startedMs : 0,
    };
    const { locks } = this.#environment;
    const presence = new Presence(locks, this.#names.candidateLock, { worker, deployment });
    return { deployment, presence };
  }

  #queue(introduced: Introduced): void {
    const { locks } = this.#environment;
    const { leaderLock } = this.#names;
    locks
      .request(leaderLock, {}, () => this.#takeTurn(introduced))
      .catch((error) => this.#fail(error));
    // Requested second: observers of the candidate know that it is in the queue.
    introduced.presence.show().catch((error) => this.#fail(error));
  }

  /** It holds the lock until this settles. */
  async #takeTurn(introduced: Introduced): Promise<void> {
    const state = this.#state;
    if (state.kind === 'waiting' && state.takeover.kind === 'asked') {
      this.#askedBefore.add(state.takeover.leader);
      this.#state = { ...state, takeover: NO_TAKEOVER };
    }
    await introduced.presence.show();
    if (await this.#standsBack(introduced)) {
      this.#queue(introduced);
      return;
    }
    await this.#lead(await this.#code.createHost(this.#identity), introduced);
  }

  /** Whether one of a newer deployment waits, which leads in its place. */
  async #standsBack(introduced: Introduced): Promise<boolean> {
    const newer = (await this.#living()).filter(
      ({ worker, deployment }) =>
        !this.#stoodBackFor.has(worker) && this.#orderOf(deployment, introduced) === 'newer',
    );
    for (const { worker } of newer) this.#stoodBackFor.add(worker);
    return newer.length > 0;
  }

  #lead({ service, medium }: ServedHost, { deployment }: Introduced): Promise<void> {
    this.#isPrepared = true;
    const { locks, after, elapsed, openChannel, page } = this.#environment;
    const leadership = new Leadership(service, {
      locks,
      names: this.#names,
      after,
      elapsed,
      openChannel,
      openOwnChannel: () => this.#openOwnChannel(medium),
      close: () => page.close(),
    });
    const stopped = new Promise<void>((stop) => {
      this.#state = { kind: 'leading', medium, leadership, stop };
    });
    leadership.connectOwnPage();
    this.#announce(medium, deployment);
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

  #announce(medium: StorageMedium, deployment: Deployment): void {
    const { worker } = this.#identity;
    this.#control.postMessage({ type: 'leads', worker, deployment, medium, ...OWN_VERSIONS });
  }

  #hear(message: ControlMessage | null): void {
    const { worker } = this.#identity;
    const introduced = this.#introduced;
    if (introduced === null) return;
    if (message?.type === 'leads' && message.worker !== worker) {
      void this.#judge(message, introduced);
    }
    const state = this.#state;
    if (state.kind !== 'leading') return;
    if (message?.type === 'who') this.#announce(state.medium, introduced.deployment);
    if (message?.type === 'connect' && message.worker === worker) state.leadership.connect(message);
    if (message?.type === 'takeover' && message.worker === worker) {
      void this.#yieldTo(message.by, introduced);
    }
  }

  // The page follows the leader, waits until this worker has taken over from it, or learns that it is outdated.
  async #judge(leads: Leads, introduced: Introduced): Promise<void> {
    if (typeof leads.worker !== 'string') return;
    this.#stoodBackFor.clear();
    this.#heardCount += 1;
    const count = this.#heardCount;
    const other = deploymentIn(leads.deployment);
    // A leader of a version that tells nothing of its deployment would not step down.
    let order = other === null ? 'same' : this.#orderOf(other, introduced);
    if (order === 'older' && !(await this.#mayTakeOverFrom(leads.worker, introduced))) {
      order = 'same';
    }
    if (count !== this.#heardCount) return; // another one was heard since
    const { worker } = leads;
    this.#post({
      type: 'heard',
      worker,
      build: other?.build ?? null,
      order,
      own: order === 'same' && other !== null ? introduced.deployment : null,
      medium: mediumIn(leads.medium),
      ...versionsIn(leads),
    });
    if (order !== 'older') {
      this.#prepareInLine(introduced);
      return;
    }
    const state = this.#state;
    if (state.kind !== 'waiting') return; // it leads since, so the message is of an earlier leader
    this.#state = { ...state, takeover: { kind: 'asked', leader: worker } };
    this.#control.postMessage({ type: 'takeover', worker, by: this.#identity.worker });
  }

  // Loading when its turn comes would delay every call at that time. SQLite takes memory, so only the next one in line
  // loads it. Another one looks again when a leader is heard, or when the one ahead of it has ended.
  #prepareInLine(introduced: Introduced): void {
    if (this.#isLooking || this.#isPrepared) return;
    this.#isLooking = true;
    const { after, locks } = this.#environment;
    after(PREPARE_MS, async () => {
      const ahead = await this.#workerAhead(introduced);
      this.#isLooking = false;
      if (this.#state.kind !== 'waiting' || this.#isPrepared || ahead === this.#watched) return;
      this.#watched = ahead;
      if (ahead === undefined) {
        this.#isPrepared = true;
        // Nobody waits for it yet: when its turn comes, creating the host fails likewise, and its page is told.
        this.#code.prepare?.(this.#identity).catch(() => {});
        return;
      }
      const { signal } = new AbortController(); // until that worker ends
      const lock = this.#names.workerLock(ahead);
      whenReleased(locks, lock, signal, () => this.#prepareInLine(introduced));
    });
  }

  /** A worker that will lead before this one, unless it ends. */
  async #workerAhead(introduced: Introduced): Promise<string | undefined> {
    const { leaderLock, candidateLock } = this.#names;
    const line = await candidatesInLine(this.#environment.locks, leaderLock, candidateLock);
    const own = line.findIndex(({ worker }) => worker === this.#identity.worker);
    return line.find(({ deployment }, place) => {
      const order = this.#orderOf(deployment, introduced);
      return order === 'newer' || (order === 'same' && place < own);
    })?.worker;
  }

  async #mayTakeOverFrom(leader: string, { presence }: Introduced): Promise<boolean> {
    if (this.#state.kind !== 'waiting' || this.#state.takeover.kind === 'refused') return false;
    if (this.#askedBefore.has(leader)) return false;
    await presence.show(); // the leader looks for it
    const living = await this.#living();
    // A leader that sees no candidates would not step down.
    if (living.length === 0) return false;
    if (living.some(({ worker }) => this.#steppedDownFor.has(worker))) return false;
    try {
      await this.#code.prepare?.(this.#identity);
      return true;
    } catch (error) {
      const state = this.#state;
      if (state.kind === 'waiting') this.#state = { ...state, takeover: { kind: 'refused' } };
      this.#post({ type: 'failed', error: toWire(error) });
      return false;
    }
  }

  // Only for a candidate in the queue: then somebody leads afterwards.
  async #yieldTo(by: string, introduced: Introduced): Promise<void> {
    const newer = (await this.#living()).find(({ worker }) => worker === by);
    if (newer === undefined || this.#state.kind !== 'leading') return;
    const { leadership, stop } = this.#state;
    this.#state = { kind: 'yielding' };
    this.#steppedDownFor.add(by);
    this.#queue(introduced);
    await leadership.yield(`${nameOfNewer(newer.deployment)} has taken over`);
    if (!this.#isYielding()) return; // its files were cleared meanwhile
    this.#state = { kind: 'waiting', takeover: NO_TAKEOVER };
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
    this.#introduced?.presence.hide();
    this.#state = { kind: 'failed' };
    this.#post({ type: 'failed', error: toWire(error) });
  }

  #living(): Promise<LivingCandidate[]> {
    return livingCandidates(this.#environment.locks, this.#names.candidateLock);
  }

  #orderOf(other: Deployment, { deployment }: Introduced) {
    return orderOf(other, deployment, this.#code.compareBuilds);
  }

  #post(message: WorkerMessage, transfer: Transferable[] = []): void {
    this.#environment.page.postMessage(message, transfer);
  }
}
