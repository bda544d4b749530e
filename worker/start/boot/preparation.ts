// Loads the files of a waiting candidate's host before its turn comes: loading them at that time would delay every call.
//
// SQLite takes memory, so only the next candidate in line loads it. Other candidates check again when a leader is
// heard, or when the candidate ahead has ended.
//
// Invariant: a candidate loads its files once. No assertion keeps this: a load that failed is repeated when its turn
// comes.

import type { Deployment } from '../../../src/shared/contract/deployment.ts';
import { type namesOf, whenReleased } from '../../../src/shared/wire/control.ts';
import type { CompareDeployments } from './candidacy.ts';
import { type CandidateLocks, candidatesInLine } from './candidates.ts';

/** How long a worker is in line before it loads its host's files, so that its page's first answers come first. */
const PREPARE_MS = 1000;

export interface PreparationEnvironment {
  readonly locks: CandidateLocks;
  readonly names: ReturnType<typeof namesOf>;
  readonly after: (delayMs: number, task: () => void) => void;
  readonly orderOf: CompareDeployments;
  /** Whether the candidate waits for its turn. */
  isWaiting(): boolean;
  /** Loads the files of the host. */
  prepare(): Promise<unknown>;
}

export class CandidatePreparation {
  readonly #worker: string;
  readonly #deployment: Deployment;
  readonly #environment: PreparationEnvironment;
  /** True while a timer runs, after which this candidate checks whether it is the next in line. */
  #isLooking = false;
  /** True once all files were loaded, or loading was attempted. */
  #isPrepared = false;
  /** The worker ahead in line whose end is awaited; null before the first look. */
  #watched: string | null | undefined = null;

  constructor(worker: string, deployment: Deployment, environment: PreparationEnvironment) {
    this.#worker = worker;
    this.#deployment = deployment;
    this.#environment = environment;
  }

  /** Stops preparing, because the host is open, and so all files are loaded. */
  hostIsOpen(): void {
    this.#isPrepared = true;
  }

  prepareInLine(): void {
    if (this.#isLooking || this.#isPrepared) return;
    this.#isLooking = true;
    const { after, locks, names, isWaiting, prepare } = this.#environment;
    after(PREPARE_MS, async () => {
      const ahead = await this.#workerAhead();
      this.#isLooking = false;
      if (!isWaiting() || this.#isPrepared || ahead === this.#watched) return;
      this.#watched = ahead;
      if (ahead === undefined) {
        this.#isPrepared = true;
        // No caller waits for this preparation. If it fails, creating the host fails likewise when the candidate's turn
        // comes, and the page is informed then.
        prepare().catch(() => {});
        return;
      }
      const { signal } = new AbortController(); // The request waits until the worker ahead ends.
      whenReleased(locks, names.workerLock(ahead), signal, () => this.prepareInLine());
    });
  }

  /** Returns a worker that will lead before this one, unless that worker ends. */
  async #workerAhead(): Promise<string | undefined> {
    const { locks, names, orderOf } = this.#environment;
    const line = await candidatesInLine(locks, names.leaderLock, names.candidateLock);
    const own = line.findIndex(({ worker }) => worker === this.#worker);
    return line.find(({ deployment }, place) => {
      const order = orderOf(deployment, this.#deployment);
      return order === 'newer' || (order === 'same' && place < own);
    })?.worker;
  }
}
