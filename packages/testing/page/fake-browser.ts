// A fake browser for tests: its pages and workers run in one thread, but end as real ones do.
//
// When an agent ends, its locks are released and its channels closed; it sends no message, and answers nothing more.

import type { Locks } from '../../../src/shared/wire/control.ts';

/** The fake of the `navigator.locks` of a page or worker. */
export interface FakeLocks extends Locks {
  query(): Promise<{ readonly held: readonly FakeLock[]; readonly pending: readonly FakeLock[] }>;
}

interface FakeLock {
  readonly name: string;
  readonly clientId: string;
}

interface LockRequest {
  readonly agent: Agent;
  readonly mode: 'exclusive' | 'shared';
  readonly callback: () => Promise<void>;
  readonly settle: (result: Promise<void>) => void;
}

interface LockState {
  held: LockRequest[];
  queue: LockRequest[];
}

let lastBrowser = 0;

export class FakeBrowser {
  /**
   * The origin is different in each browser, because channels belong to the process, and messages of an earlier browser
   * may still be on their way.
   */
  readonly origin = `browser-${++lastBrowser}`;
  /** If false, the browser refuses to list locks. */
  listsLocks = true;
  readonly #locks = new Map<string, LockState>();
  readonly #agents: Agent[] = [];
  #lastId = 0;

  /** Makes a page or a worker. */
  agent(): Agent {
    const agent = new Agent(this);
    this.#agents.push(agent);
    return agent;
  }

  randomId(): string {
    return `id-${++this.#lastId}`;
  }

  /** Ends all agents that still run. */
  close(): void {
    for (const agent of this.#agents) agent.end();
  }

  request(name: string, request: LockRequest, signal: AbortSignal | undefined): void {
    const state = this.#locks.get(name) ?? { held: [], queue: [] };
    this.#locks.set(name, state);
    state.queue.push(request);
    signal?.addEventListener('abort', () => {
      const position = state.queue.indexOf(request);
      if (position === -1) return;
      state.queue.splice(position, 1);
      request.settle(Promise.reject(new DOMException('Aborted.', 'AbortError')));
    });
    this.#grant(state);
  }

  listLocks(which: 'held' | 'queue'): FakeLock[] {
    return [...this.#locks].flatMap(([name, state]) =>
      state[which].map(({ agent }) => ({ name, clientId: `${this.#agents.indexOf(agent)}` })),
    );
  }

  release(agent: Agent): void {
    for (const state of this.#locks.values()) {
      const others = (request: LockRequest) => request.agent !== agent;
      state.held = state.held.filter(others);
      state.queue = state.queue.filter(others);
      this.#grant(state);
    }
  }

  // Grants locks in the order of the requests; shared ones are held together.
  #grant(state: LockState): void {
    for (;;) {
      const next = state.queue[0];
      if (next === undefined) return;
      const isFree =
        state.held.length === 0 ||
        (next.mode === 'shared' && state.held.every(({ mode }) => mode === 'shared'));
      if (!isFree) return;
      state.queue.shift();
      state.held.push(next);
      // The callback is never called inside the call that requests or releases a lock.
      const work = Promise.resolve().then(() =>
        next.agent.hasEnded ? undefined : next.callback(),
      );
      const free = () => {
        state.held = state.held.filter((request) => request !== next);
        this.#grant(state);
      };
      work.then(free, free);
      next.settle(work);
    }
  }
}

export class Agent {
  readonly locks: FakeLocks;
  readonly #browser: FakeBrowser;
  readonly #channels: BroadcastChannel[] = [];
  #hasEnded = false;

  constructor(browser: FakeBrowser) {
    this.#browser = browser;
    this.locks = {
      request: (name, { mode = 'exclusive', signal }, callback) =>
        new Promise((resolve) => {
          if (this.#hasEnded) return;
          browser.request(name, { agent: this, mode, callback, settle: resolve }, signal);
        }),
      query: () =>
        this.whileAlive(async () => {
          if (!browser.listsLocks) throw new DOMException('query() is refused', 'SecurityError');
          return { held: browser.listLocks('held'), pending: browser.listLocks('queue') };
        }),
    };
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  readonly openChannel = (name: string): BroadcastChannel => {
    const channel = new BroadcastChannel(`${this.#browser.origin}/${name}`);
    this.#channels.push(channel);
    const post = channel.postMessage.bind(channel);
    channel.postMessage = (message) => {
      // The code of the ended worker may still run here; in a browser it would not.
      if (!this.#hasEnded) post(message);
    };
    return channel;
  };

  readonly randomId = (): string => this.#browser.randomId();

  /**
   * Does the work, unless this agent has ended. If the agent ends before the result arrives, the promise never settles.
   */
  whileAlive<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#hasEnded) return;
      work().then(
        (value) => !this.#hasEnded && resolve(value),
        (error) => !this.#hasEnded && reject(error),
      );
    });
  }

  /** Ends the agent, as if its tab was closed or its worker terminated. */
  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    for (const channel of this.#channels) channel.close();
    this.#browser.release(this);
  }
}
