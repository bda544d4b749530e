// Makes a worker a candidate, and lets it serve pages when it leads: performs the effects of its candidacy (candidacy.ts).
//
// The leader's lock is taken inside the worker, so that a dead worker frees it.
//
// Invariant: an event is handled after all effects of the one before. The lock is held until the candidacy releases it.
//
// This file does not know objects and files: the caller creates the host.

import { type Build, deploymentIn } from '../../../src/shared/contract/deployment.ts';
import { assert, isDefect } from '../../../src/shared/contract/invariant.ts';
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
} from '../../../src/shared/wire/control.ts';
import { toWire } from '../../../src/shared/wire/errors-on-wire.ts';
import { Machine } from '../../../src/shared/wire/machine.ts';
import type { WorkerService } from '../../../src/shared/wire/worker-end.ts';
import {
  type Candidacy,
  type CandidacyEffect,
  type CandidacyEvent,
  type CompareDeployments,
  type Judgement,
  newCandidacy,
  type Question,
  stepCandidacy,
} from './candidacy.ts';
import { type CandidateLocks, livingCandidates, Presence } from './candidates.ts';
import { type CompareBuilds, orderOf } from './deployment-order.ts';
import { Leadership } from './leadership.ts';
import { CandidatePreparation } from './preparation.ts';

/** The members of a worker's global scope that this file uses. */
export interface CandidateEnvironment {
  /** Posts messages to the page that started this worker, and receives messages from it. */
  readonly page: {
    postMessage(message: unknown, transfer?: Transferable[]): void;
    addEventListener(type: string, listener: (event: Event) => void): void;
    removeEventListener(type: string, listener: (event: Event) => void): void;
    /** Ends this worker. */
    close(): void;
  };
  readonly locks: CandidateLocks;
  readonly after: (delayMs: number, task: () => void) => void;
  /** Returns milliseconds that never decrease. */
  readonly elapsed: () => number;
  readonly openChannel: (name: string) => BroadcastChannel;
}

/**
 * How long a worker whose files are gone waits between telling its clients and ending. Otherwise its lock may be
 * released before the message arrives, and a released lock does not tell clients the reason.
 */
const LAST_WORDS_MS = 500;

/** The services of a worker that leads, and its medium. */
export interface ServedHost {
  readonly service: WorkerService;
  readonly medium: StorageMedium;
}

export type DirectoryOptions = Pick<
  StartMessage,
  'directory' | 'medium' | 'wasmUrl' | 'pageWasmUrl' | 'lateUrl' | 'history' | 'limits'
>;

/** The code of a worker: it creates the host, and tells how its deployment differs from other deployments. */
export interface HostedCode {
  /** The app's name for its deployment. @default no name */
  readonly build?: Build;
  readonly compareBuilds?: CompareBuilds;
  /** Returns a digest that differs between different code. */
  digest(): Promise<string>;
  /**
   * Loads the files of the host while another worker still leads. A candidate that takes over reports a rejection to
   * its page; a candidate that waits in line tries again when its turn comes.
   */
  prepare?(options: DirectoryOptions): Promise<unknown>;
  /** Creates the host. If this rejects, the page receives the error. */
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

class Candidate {
  readonly #identity: StartMessage;
  readonly #code: HostedCode;
  readonly #environment: CandidateEnvironment;
  readonly #names: ReturnType<typeof namesOf>;
  readonly #alive: Promise<void>;
  readonly #control: BroadcastChannel;
  readonly #candidacy: Machine<Candidacy, CandidacyEvent, CandidacyEffect>;
  #presence: Presence | null = null;
  #preparation: CandidatePreparation | null = null;
  /** Releases the leader's lock. */
  #release = () => {};
  /** The services of the host while it is open; otherwise null. */
  #service: WorkerService | null = null;
  #leadership: Leadership | null = null;
  /** How many connections this worker's own page was given over the page's own channel. */
  #connectionCount = 0;
  /** True once this worker has violated an assertion, so that it is about to end. */
  #isBroken = false;

  constructor(identity: StartMessage, code: HostedCode, environment: CandidateEnvironment) {
    this.#identity = identity;
    this.#code = code;
    this.#environment = environment;
    this.#names = namesOf(identity.directory);
    this.#candidacy = new Machine(
      newCandidacy(identity.worker),
      (state, event) => stepCandidacy(state, event, this.#orderOf),
      (effect) => this.#perform(effect),
    );
    this.#alive = holdForLife(environment.locks, this.#names.workerLock(identity.worker));
    this.#control = environment.openChannel(this.#names.controlChannel);
    this.#control.addEventListener('message', ({ data }: MessageEvent<ControlMessage | null>) => {
      this.#hear(data);
    });
  }

  readonly #orderOf: CompareDeployments = (other, own) =>
    orderOf(other, own, this.#code.compareBuilds);

  /** The page searches for a leader: become a candidate, or connect the page if this worker leads. */
  start(): void {
    this.#step({ kind: 'started' });
  }

  /** A violated assertion ends this worker, and with it the lock: its page and all others search for another leader. */
  #step(event: CandidacyEvent): void {
    if (this.#isBroken) return;
    try {
      this.#candidacy.handle(event);
    } catch (error) {
      if (!isDefect(error)) throw error;
      this.#isBroken = true;
      this.#post({ type: 'failed', error: toWire(error) });
      this.#end(error as Error);
    }
  }

  #perform(effect: CandidacyEffect): void {
    const { page } = this.#environment;
    switch (effect.kind) {
      case 'introduce':
        this.#introduce().catch((error) => this.#step({ kind: 'failed', error }));
        return;
      case 'queue':
        this.#queue();
        return;
      case 'release':
        assert(this.#service === null, 'the lock was released before its host closed');
        this.#release();
        return;
      case 'hide':
        this.#presence?.hide();
        return;
      case 'list':
        void this.#list(effect.question);
        return;
      case 'prepare':
        void this.#prepare(effect.judgement);
        return;
      case 'prepareInLine':
        this.#preparation?.prepareInLine();
        return;
      case 'open':
        void this.#open();
        return;
      case 'serve':
        this.#serve(effect.medium);
        return;
      case 'connectOwnPage':
        this.#leadership?.connectOwnPage();
        return;
      case 'confirm':
        void this.#alive.then(() => page.postMessage({ type: 'standing' }));
        return;
      case 'yield':
        void this.#leadership?.yield(effect.fact).then(() => {
          this.#service = null;
          this.#step({ kind: 'yielded' });
        });
        return;
      case 'end':
        this.#end(effect.error);
        return;
      case 'report':
        this.#post({ type: 'failed', error: toWire(effect.error) });
        return;
      case 'post':
        this.#post(effect.message);
        return;
      case 'tell':
        this.#control.postMessage(effect.message);
        return;
    }
  }

  async #introduce(): Promise<void> {
    await this.#alive;
    this.#post({ type: 'standing' });
    const { worker, startedMs } = this.#identity;
    const { build = null } = this.#code;
    const deployment = this.#candidacy.state.deployment ?? {
      build,
      code: await this.#code.digest(),
      startedMs: typeof startedMs === 'number' ? startedMs : 0,
    };
    const { locks, after } = this.#environment;
    this.#presence ??= new Presence(locks, this.#names.candidateLock, { worker, deployment });
    this.#preparation ??= new CandidatePreparation(worker, deployment, {
      locks,
      names: this.#names,
      after,
      isWaiting: () => this.#candidacy.state.place.kind === 'waiting',
      orderOf: this.#orderOf,
      prepare: async () => this.#code.prepare?.(this.#identity),
    });
    this.#step({ kind: 'introduced', deployment });
  }

  #queue(): void {
    const failed = (error: unknown) => this.#step({ kind: 'failed', error });
    const turn = () =>
      new Promise<void>((release) => {
        this.#release = release;
        this.#step({ kind: 'turn' });
      });
    this.#environment.locks.request(this.#names.leaderLock, {}, turn).catch(failed);
    // The presence is shown after the lock was requested, so that a candidate that others see is in the queue.
    this.#presence?.show().catch(failed);
  }

  async #list(question: Question): Promise<void> {
    try {
      await this.#presence?.show(); // Other workers look for this presence when they are asked.
      const { locks } = this.#environment;
      const living = await livingCandidates(locks, this.#names.candidateLock);
      this.#step({ kind: 'listed', question, living });
    } catch (error) {
      this.#step({ kind: 'failed', error });
    }
  }

  async #prepare(judgement: Judgement): Promise<void> {
    try {
      await this.#code.prepare?.(this.#identity);
    } catch (error) {
      this.#step({ kind: 'notPrepared', judgement, error });
      return;
    }
    this.#step({ kind: 'prepared', judgement });
  }

  async #open(): Promise<void> {
    let opened: ServedHost;
    try {
      opened = await this.#code.createHost(this.#identity);
    } catch (error) {
      this.#step({ kind: 'notOpened', error });
      return;
    }
    this.#service = opened.service;
    this.#step({ kind: 'opened', medium: opened.medium });
  }

  #serve(medium: StorageMedium): void {
    const service = this.#service!;
    this.#preparation?.hostIsOpen();
    const { locks, after, elapsed, openChannel, page } = this.#environment;
    this.#leadership = new Leadership(service, {
      locks,
      names: this.#names,
      after,
      elapsed,
      openChannel,
      openOwnChannel: () => this.#openOwnChannel(medium),
      close: () => page.close(),
    });
    this.#leadership.connectOwnPage();
    void service.lost?.then((error) => {
      if (this.#service === service) this.#step({ kind: 'lost', error });
    });
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

  #hear(message: ControlMessage | null): void {
    const { worker } = this.#identity;
    switch (message?.type) {
      case 'leads': {
        if (typeof message.worker !== 'string') return;
        const leader = {
          worker: message.worker,
          deployment: deploymentIn(message.deployment),
          medium: mediumIn(message.medium),
          ...versionsIn(message),
        };
        this.#step({ kind: 'heard', leader });
        return;
      }
      case 'who':
        this.#step({ kind: 'asked' });
        return;
      case 'takeover':
        if (message.worker === worker) this.#step({ kind: 'takeover', by: message.by });
        return;
      case 'connect':
        if (message.worker === worker && this.#candidacy.state.place.kind === 'leading') {
          this.#leadership?.connect(message);
        }
    }
  }

  // The open file handles of lost files last as long as this worker, and prevent the next worker from opening files of
  // the same names.
  #end(error: Error): void {
    this.#control.close();
    this.#leadership?.end(error);
    const { after, page } = this.#environment;
    after(LAST_WORDS_MS, () => page.close());
  }

  #post(message: WorkerMessage, transfer: Transferable[] = []): void {
    this.#environment.page.postMessage(message, transfer);
  }
}
