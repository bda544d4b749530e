// Promises that were given to a caller and must settle, whatever happens to the object: a call that
// hangs is a failure of its own, even when nothing is lost.
//
// "Bounded" is counted in turns of the event loop, not in time, so that a slow machine changes nothing.

// Taken before a host replaces the timers of the scope.
const { setImmediate } = globalThis;

/** Turns that everything may take which waits for nothing outside of the process. */
export const TURNS_MAX = 200;

export function turnOfEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Promises never settled within the bound. */
export class NeverSettled extends Error {
  constructor(labels: readonly string[], turns: number) {
    super(`not settled within ${turns} turns: ${labels.join(', ')}`);
  }
}

/** What drives the rest of the world for a turn. */
type Turn = () => void | Promise<void>;

export class SettleChecker {
  readonly #pending = new Map<object, string>();

  /** Remembers the promise until it settles, and gives it back. */
  watch<T>(label: string, promise: Promise<T>): Promise<T> {
    const key = {};
    this.#pending.set(key, label);
    const settled = () => void this.#pending.delete(key);
    promise.then(settled, settled);
    return promise;
  }

  /** The labels of what has not settled, in order of the calls. */
  get pending(): string[] {
    return [...this.#pending.values()];
  }

  /**
   * Turns until everything that was watched has settled. `turn` drives what does not turn by itself.
   *
   * @throws NeverSettled, naming what has not
   */
  async allSettled(turn: Turn = () => {}): Promise<void> {
    for (let turns = 0; this.#pending.size > 0; turns++) {
      if (turns >= TURNS_MAX) throw new NeverSettled(this.pending, TURNS_MAX);
      await turn();
      await turnOfEventLoop();
    }
  }

  /** The same for what was watched under a label. */
  async settled(label: string, turn: Turn = () => {}): Promise<void> {
    for (let turns = 0; this.pending.includes(label); turns++) {
      if (turns >= TURNS_MAX) throw new NeverSettled([label], TURNS_MAX);
      await turn();
      await turnOfEventLoop();
    }
  }
}

/** Microtasks to wait for what ends in this turn, before the event loop has to turn. */
const MICROTASKS_MAX = 30;

/** The outcome of one promise, with the turns driven meanwhile. @throws NeverSettled */
export async function settled<T>(
  label: string,
  promise: Promise<T>,
  turn: () => void = () => {},
): Promise<T> {
  let isPending = true;
  const end = () => {
    isPending = false;
  };
  promise.then(end, end);
  for (let turns = 0; isPending && turns < TURNS_MAX; turns++) {
    turn();
    for (let i = 0; isPending && i < MICROTASKS_MAX; i++) await undefined;
    if (isPending) await turnOfEventLoop();
  }
  if (isPending) throw new NeverSettled([label], TURNS_MAX);
  return promise;
}

/** The outcome of an action that answers at once or later, as a promise. */
export async function promised<T>(action: () => T | PromiseLike<T>): Promise<T> {
  return action();
}
