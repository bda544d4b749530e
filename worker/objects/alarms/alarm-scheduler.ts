// When alarms run: one timer per object, retries with a growing delay, never two runs at once.
//
// Retries are workerd's: after 2, 4, 8, 16, 32 and 64 s plus up to a quarter, then the alarm is given
// up. A failure that is not the handler's fault does not count: it is retried without end, with delays of
// up to 17 minutes.
//
// Invariant: a run never starts before its scheduled time by the clock it is given.
//
// Knows only names and times; the run itself, and what is stored, belong to the caller.

/** What the handler is told about a run. */
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

/**
 * How a run ended. `failed`: the handler failed and is retried. `dropped`: it failed and asked for no
 * retry. `unreached`: the handler could not run to its end, through no fault of its own.
 */
export type AlarmOutcome = 'succeeded' | 'failed' | 'dropped' | 'unreached';

export interface AlarmRunner {
  /** Runs the handler. Never rejects. */
  run(name: string, run: AlarmRun): Promise<AlarmOutcome>;
  /** The last retry has failed: forgets the alarm. */
  giveUp(name: string): Promise<void>;
}

const RETRIES_MAX = 6;
const RETRY_DELAY_MS = 2000;
const RETRY_JITTER = 0.25;
/** Largest exponent of the growing delay, as on workerd. */
const GROWTH_MAX = 9;

/** `unreached`: how many runs in a row did not reach the handler. */
interface Attempt extends AlarmRun {
  readonly unreached: number;
}

interface Waiting {
  readonly kind: 'waiting';
  readonly attempt: Attempt;
  readonly dueMs: number;
  readonly cancel: () => void;
}

interface Running {
  readonly kind: 'running';
  /** The time it was set to while running; null when it was deleted, undefined when neither. */
  next: number | null | undefined;
  readonly ended: Promise<void>;
}

type State = Waiting | Running;

export class AlarmScheduler {
  readonly #clock: AlarmClock;
  readonly #runner: AlarmRunner;
  readonly #alarms = new Map<string, State>();
  #isClosed = false;

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
    if (timeMs !== null) this.#wait(name, first(timeMs), timeMs);
  }

  /** The object has this alarm stored; an alarm that is already known stays as it is. */
  found(name: string, timeMs: number): void {
    if (!this.#alarms.has(name)) this.set(name, timeMs);
  }

  /**
   * What is known of the object's alarm may be wrong: the object is looked at now. A run or retry that
   * is under way looks anyway.
   */
  doubt(name: string): void {
    const state = this.#alarms.get(name);
    if (state?.kind === 'running') return;
    if (state !== undefined && state.attempt.retryCount + state.attempt.unreached > 0) return;
    this.set(name, this.#clock.now());
  }

  /** The object was deleted. */
  forget(name: string): void {
    const state = this.#alarms.get(name);
    if (state?.kind === 'waiting') state.cancel();
    this.#alarms.delete(name);
  }

  /** Forgets all alarms and accepts no more. */
  close(): void {
    this.#isClosed = true;
    for (const name of [...this.#alarms.keys()]) this.forget(name);
  }

  /** The alarm that runs next, and when. */
  next(): { readonly name: string; readonly dueMs: number } | null {
    let found: { readonly name: string; readonly dueMs: number } | null = null;
    for (const [name, state] of this.#alarms) {
      if (state.kind === 'waiting' && (found === null || state.dueMs < found.dueMs)) {
        found = { name, dueMs: state.dueMs };
      }
    }
    return found;
  }

  /** One promise per run under way, which resolves when it ends. */
  running(): Promise<void>[] {
    return [...this.#alarms.values()].flatMap((state) =>
      state.kind === 'running' ? [state.ended] : [],
    );
  }

  #wait(name: string, attempt: Attempt, dueMs: number): void {
    if (this.#isClosed) return;
    const cancel = this.#clock.after(dueMs - this.#clock.now(), () => this.#start(name, attempt));
    this.#alarms.set(name, { kind: 'waiting', attempt, dueMs, cancel });
  }

  #start(name: string, attempt: Attempt): void {
    const { scheduledTime, retryCount } = attempt;
    const ended = this.#runner
      .run(name, { scheduledTime, retryCount })
      .then((outcome) => this.#end(name, state, attempt, outcome));
    const state: Running = { kind: 'running', next: undefined, ended };
    this.#alarms.set(name, state);
  }

  async #end(name: string, state: Running, attempt: Attempt, outcome: AlarmOutcome): Promise<void> {
    if (this.#alarms.get(name) !== state) return; // the object was forgotten meanwhile
    this.#alarms.delete(name);
    if (typeof state.next === 'number') this.set(name, state.next);
    if (state.next !== undefined) return;
    if (outcome === 'succeeded') return;
    const { retryCount, unreached } = attempt;
    if (outcome === 'unreached') this.#retry(name, { ...attempt, unreached: unreached + 1 });
    else if (outcome === 'failed' && retryCount < RETRIES_MAX) {
      this.#retry(name, { ...attempt, retryCount: retryCount + 1, unreached: 0 });
    } else await this.#runner.giveUp(name);
  }

  #retry(name: string, attempt: Attempt): void {
    const failures = Math.min(attempt.retryCount + attempt.unreached - 1, GROWTH_MAX);
    const growth = 2 ** failures * (1 + RETRY_JITTER * this.#clock.random());
    this.#wait(name, attempt, this.#clock.now() + RETRY_DELAY_MS * growth);
  }
}

function first(scheduledTime: number): Attempt {
  return { scheduledTime, retryCount: 0, unreached: 0 };
}
