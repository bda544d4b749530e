// How an instance lives and ends: what keeps it in memory, when it is evicted, and who is told of
// its end.
//
// Keeps true: an instance ends once; everything that was held or watched when it ended is told the
// reason, whoever ended it; what is held later is told at once. The eviction timer belongs to this instance
// and ends with it.
//
// Knows nothing of files and events.

export interface LifecycleEnvironment {
  /** Runs the task after the delay; the result cancels it. */
  after(delayMs: number, task: () => void): () => void;
  readonly idleMs: number;
  /** Nothing was held for `idleMs`. */
  onEvict(): void;
}

/** `closing`: no event runs any more; answers wait until the writes they report are on disk. */
type State =
  | { readonly kind: 'busy' }
  | { readonly kind: 'idle'; readonly cancelEviction: () => void }
  | { readonly kind: 'closing'; readonly reason: unknown }
  | { readonly kind: 'ended'; readonly reason: unknown };

type OnEnd = (reason: unknown) => void;

export class Lifecycle {
  readonly #environment: LifecycleEnvironment;
  readonly #held = new Set<{ readonly onEnd: OnEnd }>();
  /** Told of the end as well, but they keep nothing in memory. */
  readonly #watching = new Set<{ readonly onEnd: OnEnd }>();
  #state: State = { kind: 'busy' };

  constructor(environment: LifecycleEnvironment) {
    this.#environment = environment;
  }

  /** Nothing of the instance may run or leave any more. */
  get hasEnded(): boolean {
    return this.#state.kind === 'closing' || this.#state.kind === 'ended';
  }

  /** Why it ended; undefined while it lives. */
  get reason(): unknown {
    return 'reason' in this.#state ? this.#state.reason : undefined;
  }

  /** The instance was made: from now on it is evicted when nothing is held. */
  start(): void {
    this.#rest();
  }

  /** Keeps the instance until the result is called; `onEnd` is told when it ends before that. */
  hold(onEnd: OnEnd): () => void {
    if (this.hasEnded) {
      onEnd(this.reason);
      return NOTHING;
    }
    this.#wake();
    const hold = { onEnd };
    this.#held.add(hold);
    return () => {
      if (this.#held.delete(hold)) this.#rest();
    };
  }

  /** Tells `onEnd` when the instance ends, unless the result is called before. */
  watch(onEnd: OnEnd): () => void {
    if (this.hasEnded) {
      onEnd(this.reason);
      return NOTHING;
    }
    const watch = { onEnd };
    this.#watching.add(watch);
    return () => void this.#watching.delete(watch);
  }

  /** Begins an orderly end. False when it has begun already. */
  close(reason: unknown): boolean {
    return !this.hasEnded && this.#leave({ kind: 'closing', reason });
  }

  /** Ends the instance. False when it has ended already. */
  end(reason: unknown): boolean {
    return this.#state.kind !== 'ended' && this.#leave({ kind: 'ended', reason });
  }

  #leave(state: State & { readonly reason: unknown }): true {
    this.#wake();
    this.#state = state;
    const told = [...this.#held, ...this.#watching];
    this.#held.clear();
    this.#watching.clear();
    for (const { onEnd } of told) onEnd(state.reason);
    return true;
  }

  #wake(): void {
    if (this.#state.kind !== 'idle') return;
    this.#state.cancelEviction();
    this.#state = { kind: 'busy' };
  }

  #rest(): void {
    if (this.#state.kind !== 'busy' || this.#held.size > 0) return;
    const { after, idleMs, onEvict } = this.#environment;
    this.#state = { kind: 'idle', cancelEviction: after(idleMs, onEvict) };
  }
}

const NOTHING = () => {};
