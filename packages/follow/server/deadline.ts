// Runs a task at a time, once: when the next connection of an object must be ended.
//
// A timer keeps an object in memory, so that it does not hibernate. Therefore a time further away than a minute gets no
// timer: the code that sets the deadline also checks the time at each event, and sets the deadline again.

/** The longest delay of a timer (our choice). */
const TIMER_MS_MAX = 60_000;

export interface DeadlineEnvironment {
  now(): number;
  /** Runs the task after a delay. The returned function cancels it. */
  after(delayMs: number, task: () => void): () => void;
}

export class Deadline {
  readonly #environment: DeadlineEnvironment;
  readonly #task: () => void;
  #timer: { readonly atMs: number; cancel(): void } | null = null;

  constructor(environment: DeadlineEnvironment, task: () => void) {
    this.#environment = environment;
    this.#task = task;
  }

  /** Sets the time instead of the last one; Infinity for none. */
  set(atMs: number): void {
    if (this.#timer?.atMs === atMs) return;
    this.#timer?.cancel();
    this.#timer = null;
    const delayMs = atMs - this.#environment.now();
    if (delayMs > TIMER_MS_MAX) return;
    const cancel = this.#environment.after(Math.max(delayMs, 0), () => {
      this.#timer = null;
      this.#task();
    });
    this.#timer = { atMs, cancel };
  }
}
