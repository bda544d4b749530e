// Whether the browser keeps the site's data when it needs space, and how much space there is.
//
// Invariant: a page asks at most once, after its first write is durable, and nothing waits for the answer:
// Firefox asks its user, who may never answer.

import type { PersistedState, StorageSpace } from '../contract/connection-status.ts';
import { storageError } from '../contract/errors.ts';

/** The parts of the browser that are used; those that it lacks are missing. */
export interface PersistenceBrowser {
  readonly persist?: (() => Promise<boolean>) | undefined;
  readonly persisted?: (() => Promise<boolean>) | undefined;
  readonly estimate?:
    | (() => Promise<{ readonly usage?: number; readonly quota?: number }>)
    | undefined;
}

export class Persistence {
  readonly #browser: PersistenceBrowser;
  readonly #watchers = new Set<() => void>();
  #state: PersistedState = 'unknown';
  #hasAsked = false;

  constructor(browser: PersistenceBrowser) {
    this.#browser = browser;
  }

  get state(): PersistedState {
    return this.#state;
  }

  /** Calls back after each change; the result ends this. */
  onChange(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  /** A write is durable: now there is something to keep. */
  saved(): void {
    if (this.#hasAsked) return;
    this.#hasAsked = true;
    void this.#ask();
  }

  /** @throws IO when the browser does not tell */
  async estimate(): Promise<StorageSpace> {
    try {
      const { usage, quota } = (await this.#browser.estimate?.()) ?? {};
      if (usage !== undefined && quota !== undefined) return { usage, quota };
    } catch (cause) {
      throw storageError('IO', `estimate: the browser failed: ${String(cause)}`, { cause });
    }
    throw storageError('IO', 'estimate: this browser does not tell how much space is used.');
  }

  async #ask(): Promise<void> {
    try {
      if (await this.#browser.persisted?.()) {
        this.#become('granted');
        return;
      }
      if (this.#browser.persist === undefined) {
        this.#become('unavailable');
        return;
      }
      this.#become('asked');
      this.#become((await this.#browser.persist()) ? 'granted' : 'refused');
    } catch {
      this.#become('unavailable');
    }
  }

  #become(state: PersistedState): void {
    this.#state = state;
    for (const changed of this.#watchers) changed();
  }
}
