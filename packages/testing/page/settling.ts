// Lists the promises that callers were given and that have not settled.
//
// A watched object returns the same results as the original. Each promise of it, of its cursors and of a closure's
// arguments is listed until it settles. If a promise is in the list when a test ends, the test has found a call that
// hangs.

/** Turns of a timer to wait, because messages over ports take several. */
const TURNS_MAX = 200;

// Objects with one of these members are watched, too: handles, `sql`, `kv`, cursors and iterators, but no data.
const WATCHED_MEMBERS = ['put', 'exec', 'next'] as const;

export class Settling {
  readonly #pending = new Map<Promise<unknown>, string>();

  /** The names of the calls that have not settled. */
  get pending(): string[] {
    return [...this.#pending.values()];
  }

  /** Lists the promise until it settles, and returns it. */
  add<T>(name: string, promise: Promise<T>): Promise<T> {
    this.#pending.set(promise, name);
    const settled = () => void this.#pending.delete(promise);
    promise.then(settled, settled);
    return promise;
  }

  /** Returns a proxy of the object; the promises that its methods return are listed. */
  watch<T extends object>(target: T): T {
    return new Proxy(target, {
      // Methods are called on the object itself, because a proxy has no private members.
      get: (_target, member) =>
        this.#result(String(member), Reflect.get(target, member, target), target),
    });
  }

  /** Waits for the listed promises. @throws Error that names the promises that have not settled in bounded turns */
  async end(): Promise<void> {
    for (let turns = 0; turns < TURNS_MAX && this.#pending.size > 0; turns++) {
      await new Promise((resolve) => setTimeout(resolve));
    }
    if (this.#pending.size > 0) throw new Error(`Never settled: ${this.pending.join(', ')}.`);
  }

  #result(name: string, value: unknown, owner: object): unknown {
    if (value instanceof Promise) return this.add(name, value);
    if (typeof value === 'function') {
      return (...parameters: unknown[]) => {
        const given = parameters.map((parameter) => this.#wrapClosure(parameter));
        return this.#result(name, Reflect.apply(value, owner, given), owner);
      };
    }
    return isWatchable(value) ? this.watch(value) : value;
  }

  /** Wraps a closure, so that the objects that it is given, such as the `txn` of a transaction, are watched. */
  #wrapClosure(parameter: unknown): unknown {
    if (typeof parameter !== 'function') return parameter;
    return (...given: unknown[]) =>
      parameter(...given.map((object) => (isWatchable(object) ? this.watch(object) : object)));
  }
}

function isWatchable(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  return WATCHED_MEMBERS.some((member) => typeof Reflect.get(value, member) === 'function');
}
