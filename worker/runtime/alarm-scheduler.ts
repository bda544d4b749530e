// When alarms run: one timer an object, retries with a growing delay, never two runs at once.
//
// Knows only names and times; the run itself, and what is stored, belong to the caller. Retries are
// workerd's: after 2, 4, 8, 16, 32 and 64 s plus up to a quarter, then the alarm is given up.
//
// Invariant: a run never starts before its scheduled time by the clock it is given.

/** What the handler is told of a run. */
export interface AlarmRun {
  /** The time it was set to, in milliseconds. */
  readonly scheduledTime: number;
  /** How many runs of it have failed. */
  readonly retryCount: number;
}

export interface AlarmClock {
  now(): number;
  /** Runs the task after the delay; the result cancels it. */
  after(delayMs: number, task: () => void): () => void;
  /** Uniform in [0, 1). */
  random(): number;
}

export interface AlarmRunner {
  /** Runs the handler; rejects when it failed. */
  run(name: string, run: AlarmRun): Promise<void>;
  /** The last retry has failed: forgets the alarm. */
  giveUp(name: string): Promise<void>;
}

const RETRIES_MAX = 6;
const RETRY_DELAY_MS = 2000;
const RETRY_JITTER = 0.25;
/** Longest delay of a browser timer. */
const TIMER_MS_MAX = 2 ** 31 - 1;

type State =
  | { readonly kind: 'waiting'; readonly run: AlarmRun; readonly cancel: () => void }
  /** `next`: set while running; null when it was deleted, undefined when neither. */
  | { readonly kind: 'running'; next: number | null | undefined };

export class AlarmScheduler {
  readonly #clock: AlarmClock;
  readonly #runner: AlarmRunner;
  readonly #alarms = new Map<string, State>();

  constructor(clock: AlarmClock, runner: AlarmRunner) {
    this.#clock = clock;
    this.#runner = runner;
  }

  /** The object's alarm was set to a time, or (null) deleted. */
  set(name: string, timeMs: number | null): void {
    const state = this.#alarms.get(name);
    if (state?.kind === 'running') {
      state.next = timeMs;
      return;
    }
    state?.cancel();
    this.#alarms.delete(name);
    if (timeMs !== null) this.#wait(name, { scheduledTime: timeMs, retryCount: 0 }, timeMs);
  }

  /** The object was opened and has this alarm stored; changes nothing about one that is known. */
  found(name: string, timeMs: number): void {
    if (!this.#alarms.has(name)) this.set(name, timeMs);
  }

  /** The object is gone. */
  forget(name: string): void {
    const state = this.#alarms.get(name);
    if (state?.kind === 'waiting') state.cancel();
    this.#alarms.delete(name);
  }

  #wait(name: string, run: AlarmRun, dueMs: number): void {
    const delayMs = Math.min(Math.max(0, dueMs - this.#clock.now()), TIMER_MS_MAX);
    const cancel = this.#clock.after(delayMs, () => {
      // Timers may come early by a fraction, and a long wait is made of several.
      if (this.#clock.now() < dueMs) this.#wait(name, run, dueMs);
      else void this.#start(name, run);
    });
    this.#alarms.set(name, { kind: 'waiting', run, cancel });
  }

  async #start(name: string, run: AlarmRun): Promise<void> {
    const state: State = { kind: 'running', next: undefined };
    this.#alarms.set(name, state);
    const failed = await this.#runner.run(name, run).then(
      () => false,
      () => true,
    );
    if (this.#alarms.get(name) !== state) return; // the object was forgotten meanwhile
    this.#alarms.delete(name);
    if (typeof state.next === 'number') this.set(name, state.next);
    if (!failed || state.next !== undefined) return;
    if (run.retryCount === RETRIES_MAX) {
      await this.#runner.giveUp(name);
      return;
    }
    const growth = 2 ** run.retryCount * (1 + RETRY_JITTER * this.#clock.random());
    const retry = { ...run, retryCount: run.retryCount + 1 };
    this.#wait(name, retry, this.#clock.now() + RETRY_DELAY_MS * growth);
  }
}
