// Has a candidate that waits load what it needs to lead, while another one leads.
//
// Loading when its turn comes would delay every call at that time. But SQLite takes memory, so only the next one in line
// loads it; each other one looks again when the one ahead of it ends, or when another leader is heard.
//
// Invariant: it prepares once, and never while the candidate leads.

import { type Locks, whenReleased } from '../../../src/shared/wire/control.ts';

/** How long a worker is in line before it prepares, so that its page's first answers come first. */
const PREPARE_MS = 1000;

export interface PreparationEnvironment {
  readonly locks: Locks;
  readonly after: (delayMs: number, task: () => void) => void;
  readonly workerLock: (worker: string) => string;
  /** True while the candidate is in the queue and does not lead. */
  isWaiting(): boolean;
  /** A worker that will lead before this one, unless it ends; null: this one is the next. */
  workerAhead(): Promise<string | null>;
  prepare(): Promise<unknown> | undefined;
}

export class Preparation {
  readonly #environment: PreparationEnvironment;
  /** `timed`: it will look whether it is the next; `made`: everything is loaded, or was tried to be. */
  #state: 'none' | 'timed' | 'made' = 'none';
  /** Ends the wait for the end of the one ahead. */
  #watch = new AbortController();

  constructor(environment: PreparationEnvironment) {
    this.#environment = environment;
  }

  /** It waits, and somebody leads. */
  inLine(): void {
    if (this.#state !== 'none' || !this.#environment.isWaiting()) return;
    this.#state = 'timed';
    this.#environment.after(PREPARE_MS, () => void this.#look());
  }

  /** It leads: everything is loaded. */
  made(): void {
    this.#state = 'made';
    this.#watch.abort();
  }

  async #look(): Promise<void> {
    const ahead = await this.#environment.workerAhead();
    if (this.#state !== 'timed') return;
    this.#state = 'none';
    if (!this.#environment.isWaiting()) return;
    if (ahead === null) {
      this.made();
      // Nobody waits for it yet: when its turn comes, creating the host fails likewise, and its page is told.
      this.#environment.prepare()?.catch(() => {});
      return;
    }
    const { locks, workerLock } = this.#environment;
    this.#watch.abort();
    this.#watch = new AbortController();
    whenReleased(locks, workerLock(ahead), this.#watch.signal, () => this.inLine());
  }
}
