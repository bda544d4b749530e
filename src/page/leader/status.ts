// The state of one handle or connection as its user sees it: the state of the connection to the worker that leads, the
// writes made through the handle, and whether the browser keeps the site's data when it needs space.
//
// All handles of a directory share one PageStanding and one Persistence; each handle has its own Status.
//
// Invariant: listeners hear of every change, at most once a turn, and read the latest state. A closed handle keeps no
// reference to the page's other state. A page asks for persistence at most once, after its first write is durable, and
// nothing waits for the answer: Firefox asks its user, who may never answer. No assertion keeps this: each of these is
// one flag, which the code sets where it reads it.
//
// Does not know how a leader is found.

import { namedObject } from '../../shared/calls/stubs/wire-address.ts';
import type {
  ConnectionState,
  ConnectionStatus,
  PersistedState,
  StorageSpace,
} from '../../shared/contract/connection-status.ts';
import { storageError } from '../../shared/contract/errors.ts';
import type { StorageMedium } from '../../shared/contract/medium.ts';
import { inMicrotask } from '../../shared/wire/channel-endpoint.ts';
import type { Notice } from '../../shared/wire/control.ts';

/** The state of the connection, why, and from where the worker serves. */
export interface Standing {
  readonly medium: StorageMedium | null;
  readonly state: ConnectionState;
  readonly reason: Error | null;
}

/** The state that all handles of a directory share. */
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

/** How a write is counted. `unconfirmed`: the answer of the write does not say that it is durable. */
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
  /** True once a listener was added. No events are made before, because each write would make two. */
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

  /** Called when the handle or connection was closed. */
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

const MEMBERS: Readonly<Record<keyof ConnectionStatus, 'fact' | 'method'>> = {
  state: 'fact',
  stateReason: 'fact',
  medium: 'fact',
  pendingWrites: 'fact',
  savedAt: 'fact',
  isOutdated: 'fact',
  persisted: 'fact',
  estimate: 'method',
  addEventListener: 'method',
  removeEventListener: 'method',
};

/** Adds the members of ConnectionStatus to a class. They return the values of the status of each instance. */
export function defineStatus<Self>(prototype: object, statusOf: (self: Self) => Status): void {
  for (const [name, kind] of Object.entries(MEMBERS)) {
    const member = (self: Self) => Reflect.get(statusOf(self), name);
    const methods = {
      [name](this: Self, ...args: unknown[]) {
        return Reflect.apply(member(this), statusOf(this), args);
      },
    };
    const property =
      kind === 'method'
        ? { value: methods[name], writable: true }
        : {
            get(this: Self) {
              return member(this);
            },
          };
    Object.defineProperty(prototype, name, { ...property, configurable: true });
  }
}

export class PageStanding implements StandingSource {
  readonly persistence: Persistence;
  readonly #watchers = new Set<() => void>();
  readonly #listeners = new Set<(notice: Notice) => void>();
  #standing: Standing = { state: 'connecting', reason: null, medium: null };
  #isOutdated = false;

  constructor(persistence: Persistence) {
    this.persistence = persistence;
  }

  get standing(): Standing {
    return this.#standing;
  }

  get isOutdated(): boolean {
    return this.#isOutdated;
  }

  onStanding(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  onNotice(told: (notice: Notice) => void): () => void {
    this.#listeners.add(told);
    return () => this.#listeners.delete(told);
  }

  /** Changes the state of the connection. The medium is remembered while there is no connection. */
  change(
    state: Standing['state'],
    reason: Error | null,
    medium: StorageMedium | null = this.#standing.medium,
  ): void {
    const { standing } = this;
    const isSame = standing.state === state && standing.reason === reason;
    if (isSame && standing.medium === medium) return;
    this.#standing = { state, reason, medium };
    for (const changed of this.#watchers) changed();
  }

  /** Called when a newer deployment leads. */
  outdate(): void {
    if (this.#isOutdated) return;
    this.#isOutdated = true;
    for (const changed of this.#watchers) changed();
  }

  tell(notice: Notice): void {
    for (const told of this.#listeners) told(notice);
  }
}

/** The parts of the browser that persistence needs; absent in browsers that lack them. */
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

  /** Called when a write is durable, so that there is data to persist. */
  saved(): void {
    if (this.#hasAsked) return;
    this.#hasAsked = true;
    void this.#ask();
  }

  /** Estimates the storage space of the site. @throws IO when the browser does not tell */
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
