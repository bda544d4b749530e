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
  async allSettled(turn: () => void | Promise<void> = () => {}, turnsMax = TURNS_MAX): Promise<void> {
    for (let turns = 0; this.#pending.size > 0; turns++) {
      if (turns >= turnsMax) throw new NeverSettled(this.pending, turnsMax);
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
