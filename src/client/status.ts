// The state of one handle or connection as its user sees it: that of the connection to the worker that leads,
// and the writes made through it.
//
// Invariant: listeners hear of every change, at most once a turn, and read the latest state. A closed handle
// keeps no reference to the page's other state.

import type {
  ConnectionState,
  ConnectionStatus,
  PersistedState,
  StorageSpace,
} from '../contract/connection-status.ts';
import type { StorageMedium } from '../contract/medium.ts';
import { inMicrotask } from '../contract/microtask.ts';
import type { Notice } from '../rpc/notices.ts';
import { namedObject } from '../stubs/wire-address.ts';
import type { Persistence } from './persistence.ts';

/** The state of the connection, why, and from where the worker serves. */
export interface Standing {
  readonly medium: StorageMedium | null;
  readonly state: ConnectionState;
  readonly reason: Error | null;
}

/** What all handles of a directory share. */
export interface StandingSource {
  readonly standing: Standing;
  /** True once a newer deployment has led. */
  readonly isOutdated: boolean;
  readonly persistence: Persistence;
  /** Calls back after each change; the result ends this. */
  onStanding(changed: () => void): () => void;
  /** Calls back for each notice of the worker; the result ends this. */
  onNotice(told: (notice: Notice) => void): () => void;
}

/** How a write is counted. `unconfirmed`: its answer does not say that it is durable. */
export type WriteKind = 'confirmed' | 'unconfirmed';

export class Status
  extends EventTarget
  implements Omit<ConnectionStatus, 'addEventListener' | 'removeEventListener'>
{
  readonly #now: () => number;
  readonly #persistence: Persistence;
  readonly #unwatch: readonly (() => void)[];
  #source: StandingSource | null;
  #closed: Standing = { state: 'lost', reason: null, medium: null };
  #pendingWrites = 0;
  #savedAt: number | null = null;
  #isToldLater = false;
  /** Without one, no event is made: each write would make two. */
  #hasListener = false;
  #isOutdated: boolean;

  constructor(source: StandingSource, now: () => number) {
    super();
    this.#source = source;
    this.#now = now;
    this.#isOutdated = source.isOutdated;
    this.#persistence = source.persistence;
    const changed = () => this.#tell();
    this.#unwatch = [
      source.onStanding(changed),
      source.persistence.onChange(changed),
      source.onNotice((notice) => this.dispatchEvent(noticeEvent(notice))),
    ];
  }

  get state(): ConnectionState {
    return this.#standing.state;
  }

  get stateReason(): Error | null {
    return this.#standing.reason;
  }

  get medium(): StorageMedium | null {
    return this.#standing.medium;
  }

  get pendingWrites(): number {
    return this.#pendingWrites;
  }

  get savedAt(): number | null {
    return this.#savedAt;
  }

  get isOutdated(): boolean {
    return this.#isOutdated;
  }

  get persisted(): PersistedState {
    return this.#persistence.state;
  }

  estimate(): Promise<StorageSpace> {
    return this.#persistence.estimate();
  }

  override addEventListener(...listening: Parameters<EventTarget['addEventListener']>): void {
    this.#hasListener = true;
    super.addEventListener(...listening);
  }

  /** Counts a write until it is answered. */
  write<T>(work: Promise<T>, kind: WriteKind = 'confirmed'): Promise<T> {
    this.#pendingWrites += 1;
    this.#tell();
    const settle = (isSaved: boolean) => {
      this.#pendingWrites -= 1;
      // An answer follows the flush of all writes before it.
      if (isSaved && this.#pendingWrites === 0) this.#savedAt = this.#now();
      if (isSaved) this.#persistence.saved();
      this.#tell();
    };
    work.then(
      () => settle(kind === 'confirmed'),
      () => settle(false),
    );
    return work;
  }

  /** The handle or connection was closed. */
  close(reason: Error): void {
    if (this.#source === null) return;
    for (const end of this.#unwatch) end();
    this.#closed = { state: 'lost', reason, medium: this.medium };
    this.#source = null;
    this.#tell();
  }

  get #standing(): Standing {
    return this.#source?.standing ?? this.#closed;
  }

  #tell(): void {
    if (this.#isToldLater) return;
    this.#isToldLater = true;
    inMicrotask(() => {
      this.#isToldLater = false;
      if (this.#hasListener) this.dispatchEvent(new Event('statechange'));
      if (this.#isOutdated || this.#source?.isOutdated !== true) return;
      this.#isOutdated = true;
      this.dispatchEvent(new Event('outdated'));
    });
  }
}

function noticeEvent(notice: Notice): Event {
  const detail = notice.type === 'storagelow' ? notice.space : namedObject(notice.address);
  return new CustomEvent(notice.type, { detail });
}
