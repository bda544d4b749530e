// Checks that promises which callers hold settle, whatever happens to the object. A call that hangs is a failure, even
// if no data is lost.
//
// The bound is counted in turns of the event loop, not in time, so a slow machine changes nothing.

// This timer is the platform's, because a host replaces the timers of its realm later.
const { setImmediate } = globalThis;

/** The largest number of turns for everything that waits for nothing outside the process. */
export const TURNS_MAX = 200;

/**
 * The largest number of turns for work that may read all of an object's history, because each read of a row may take
 * turns.
 */
export const HISTORY_TURNS_MAX = 10 * TURNS_MAX;

export function turnOfEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Thrown if promises did not settle within the bound. */
export class NeverSettled extends Error {
  constructor(labels: readonly string[], turns: number) {
    super(`not settled within ${turns} turns: ${labels.join(', ')}`);
  }
}

/** Runs everything else for one turn. */
type Turn = () => void | Promise<void>;

export class SettleChecker {
  readonly #pending = new Map<object, string>();

  /** Tracks the promise until it settles, and returns it. */
  watch<T>(label: string, promise: Promise<T>): Promise<T> {
    const key = {};
    this.#pending.set(key, label);
    const settled = () => void this.#pending.delete(key);
    promise.then(settled, settled);
    return promise;
  }

  /** The labels of the promises that have not settled, in the order of the calls. */
  get pending(): string[] {
    return [...this.#pending.values()];
  }

  /**
   * Turns the event loop until every watched promise has settled. `turn` runs work that does not proceed by itself.
   *
   * @throws NeverSettled, with the labels of the rest
   */
  async allSettled(turn: Turn = () => {}): Promise<void> {
    for (let turns = 0; this.#pending.size > 0; turns++) {
      if (turns >= TURNS_MAX) throw new NeverSettled(this.pending, TURNS_MAX);
      await turn();
      await turnOfEventLoop();
    }
  }

  /** Turns the event loop until the promises with this label have settled. @throws NeverSettled */
  async settled(label: string, turn: Turn = () => {}): Promise<void> {
    for (let turns = 0; this.pending.includes(label); turns++) {
      if (turns >= TURNS_MAX) throw new NeverSettled([label], TURNS_MAX);
      await turn();
      await turnOfEventLoop();
    }
  }
}

/** The largest number of microtasks to wait for work that ends in this turn, before the event loop turns. */
const MICROTASKS_MAX = 30;

/** Returns the outcome of one promise, and runs turns meanwhile. @throws NeverSettled */
export async function settled<T>(
  label: string,
  promise: Promise<T>,
  turn: () => void = () => {},
  turnsMax = TURNS_MAX,
): Promise<T> {
  let isPending = true;
  const end = () => {
    isPending = false;
  };
  promise.then(end, end);
  for (let turns = 0; isPending && turns < turnsMax; turns++) {
    turn();
    for (let i = 0; isPending && i < MICROTASKS_MAX; i++) await undefined;
    if (isPending) await turnOfEventLoop();
  }
  if (isPending) throw new NeverSettled([label], turnsMax);
  return promise;
}

/** Returns the outcome of an action, which may be synchronous or asynchronous, as a promise. */
export async function promised<T>(action: () => T | PromiseLike<T>): Promise<T> {
  return action();
}
