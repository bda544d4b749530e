// The life of an instance: the reasons to keep it in memory, its eviction, and the notices of its end.
//
// Invariant: an instance ends once; whoever ends it, every holder and watcher gets the reason, and a
// later one gets it at once. The eviction timer belongs to this instance and ends with it.
//
// Knows nothing of files and events.

import { assert } from '../../../src/shared/contract/invariant.ts';

export interface LifecycleEnvironment {
  /** Milliseconds of the clock of `after`, which only go forward. */
  elapsed(): number;
  /** Runs the task after the delay; the result cancels it. */
  after(delayMs: number, task: () => void): () => void;
  readonly idleMs: number;
  /** Called when nothing holds the instance any more. */
  onRest?(): void;
  /** Called when nothing has held the instance for `idleMs`. */
  onEvict(): void;
}

/**
 * The state of an instance. `closing`: no event runs any more; answers wait for the flush of the writes they report.
 */
type State =
  | { readonly kind: 'busy' }
  | { readonly kind: 'idle'; readonly sinceMs: number }
  | { readonly kind: 'closing'; readonly reason: unknown }
  | { readonly kind: 'ended'; readonly reason: unknown };

type OnEnd = (reason: unknown) => void;

export class Lifecycle {
  readonly #environment: LifecycleEnvironment;
  readonly #held = new Set<{ readonly onEnd: OnEnd }>();
  /** Watchers of the end, which do not keep the instance in memory. */
  readonly #watching = new Set<{ readonly onEnd: OnEnd }>();
  #state: State = BUSY;
  /** The eviction timer. It stays set through short work, because setting it costs more than a call. */
  #cancelTimer: (() => void) | undefined;

  constructor(environment: LifecycleEnvironment) {
    this.#environment = environment;
  }

  /** True when nothing of the instance may run or leave any more. */
  get hasEnded(): boolean {
    return this.#state.kind === 'closing' || this.#state.kind === 'ended';
  }

  /** The reason why the instance ended; undefined before that. */
  get reason(): unknown {
    return 'reason' in this.#state ? this.#state.reason : undefined;
  }

  /** Called when the instance is complete: from now on it is evicted when nothing holds it. */
  start(): void {
    this.#rest();
  }

  /** Keeps the instance in memory until the result is called; calls `onEnd` if the instance ends before that. */
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

  /** Calls `onEnd` when the instance ends, unless the result is called before. */
  watch(onEnd: OnEnd): () => void {
    if (this.hasEnded) {
      onEnd(this.reason);
      return NOTHING;
    }
    const watch = { onEnd };
    this.#watching.add(watch);
    return () => void this.#watching.delete(watch);
  }

  /** True while nothing holds the instance. */
  get isIdle(): boolean {
    return this.#state.kind === 'idle';
  }

  /** Evicts the instance now, if it is idle. */
  evict(): void {
    if (this.isIdle) this.#environment.onEvict();
  }

  /** Begins an orderly end; returns false if an end has begun already. */
  close(reason: unknown): boolean {
    return !this.hasEnded && this.#leave({ kind: 'closing', reason });
  }

  /** Ends the instance; returns false if it has ended already. */
  end(reason: unknown): boolean {
    return this.#state.kind !== 'ended' && this.#leave({ kind: 'ended', reason });
  }

  #leave(state: State & { readonly reason: unknown }): true {
    this.#wake();
    this.#state = state;
    const told = [...this.#held, ...this.#watching];
    this.#held.clear();
    this.#watching.clear();
    this.#cancelTimer?.();
    for (const { onEnd } of told) onEnd(state.reason);
    return true;
  }

  #wake(): void {
    if (this.#state.kind === 'idle') this.#state = BUSY;
  }

  #rest(): void {
    if (this.#state.kind !== 'busy' || this.#held.size > 0) return;
    this.#state = { kind: 'idle', sinceMs: this.#environment.elapsed() };
    if (this.#cancelTimer === undefined) this.#evictAfter(this.#environment.idleMs);
    this.#environment.onRest?.();
  }

  #evictAfter(delayMs: number): void {
    const { after, elapsed, idleMs, onEvict } = this.#environment;
    this.#cancelTimer = after(delayMs, () => {
      this.#cancelTimer = undefined;
      assert(!this.hasEnded, 'an eviction timer outlived its instance');
      if (this.#state.kind !== 'idle') return; // The next rest sets the timer again.
      const leftMs = this.#state.sinceMs + idleMs - elapsed();
      if (leftMs <= 0) onEvict();
      else this.#evictAfter(Math.min(leftMs, idleMs)); // A test may have set the clock back.
    });
  }
}

const BUSY = { kind: 'busy' } as const;

const NOTHING = () => {};
