// Decides when alarms run: one timer per object, retries with a growing delay, never two runs of an object's alarm at
// once.
//
// Retries are workerd's: after 2, 4, 8, 16, 32 and 64 s plus up to a quarter; then the alarm is abandoned. A failure
// that is not the handler's fault does not count: the run is retried without end, with delays of up to 17 minutes.
//
// Invariant: a first run never starts before its scheduled time by the wall clock. Retries count monotonic time from
// the failure, so setting the wall clock neither hastens nor delays them. Times are not asserted, because the wall
// clock may be set back after a run was due.
//
// Knows only names and times; the caller runs the alarm and stores it.

import { assert } from '../../../src/shared/contract/invariant.ts';
import {
  ALARM_RETRIES_MAX,
  ALARM_RETRY_DOUBLINGS_MAX,
  ALARM_RETRY_JITTER,
  ALARM_RETRY_MS,
} from '../../../src/shared/contract/limits.ts';

/** The properties of a run that its handler receives. */
export interface AlarmRun {
  /** The time for which the alarm was set, in milliseconds. */
  readonly scheduledTime: number;
  /** Number of runs of the alarm that have failed. */
  readonly retryCount: number;
}

export interface AlarmClock {
  /** Milliseconds since the epoch, by the wall clock. */
  now(): number;
  /** Runs the task when the wall clock shows this time; the result cancels it. */
  at(timeMs: number, task: () => void): () => void;
  /** Runs the task after the delay; the result cancels it. */
  after(delayMs: number, task: () => void): () => void;
  /** Returns a random number in [0, 1), uniformly distributed. */
  random(): number;
}

/**
 * How a run ended. `failed`: the handler failed and is retried. `dropped`: the handler failed and asked for no retry.
 * `unreached`: the handler could not run to its end, through no fault of its own.
 */
export type AlarmOutcome = 'succeeded' | 'failed' | 'dropped' | 'unreached';

export interface AlarmRunner {
  /**
   * Runs the handler. Never rejects. `retryCount` returns how many runs of the stored alarm have failed; call it once
   * the object is open, because opening may bring another alarm (`stored`).
   */
  run(name: string, retryCount: () => number): Promise<AlarmOutcome>;
  /** Called when the last retry has failed: deletes the object's alarm. */
  giveUp(name: string): Promise<void>;
}

/** A run of an alarm. `unreached` counts the runs in a row that did not reach the handler. */
interface Attempt extends AlarmRun {
  readonly unreached: number;
}

interface Waiting {
  readonly kind: 'waiting';
  readonly attempt: Attempt;
  readonly cancel: () => void;
}

interface Running {
  readonly kind: 'running';
  attempt: Attempt;
  /** The time to which the alarm was set during the run; null if it was deleted, undefined if neither happened. */
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

  /** Called when the object's alarm was set to a time, or (null) deleted. */
  set(name: string, timeMs: number | null): void {
    const state = this.#alarms.get(name);
    if (state?.kind === 'running') {
      state.next = timeMs;
      return;
    }
    state?.cancel();
    this.#alarms.delete(name);
    if (timeMs === null) return;
    this.#wait(name, first(timeMs), (task) => this.#clock.at(timeMs, task));
  }

  /**
   * Plans to open the object at this time, to read its alarm. If an alarm of the object is already known, that alarm
   * stays as it is.
   */
  found(name: string, timeMs: number): void {
    if (!this.#alarms.has(name)) this.set(name, timeMs);
  }

  /**
   * Called when the object was opened, with its stored alarm, or null if none is stored: replaces the known alarm.
   * Retries continue if the stored alarm is the one that failed. Returns true if another alarm, or none, was known.
   */
  stored(name: string, timeMs: number | null): boolean {
    const state = this.#alarms.get(name);
    if ((state?.attempt.scheduledTime ?? null) === timeMs) return false;
    if (state?.kind !== 'running') this.set(name, timeMs);
    else if (timeMs !== null) state.attempt = first(timeMs);
    return true;
  }

  /**
   * Called when the known alarm of the object may be wrong: plans to open the object now, to read its alarm. A run or
   * retry that is under way reads the alarm anyway.
   */
  doubt(name: string): void {
    const state = this.#alarms.get(name);
    if (state?.kind === 'running') {
      state.next = undefined;
      return;
    }
    if (state !== undefined && state.attempt.retryCount + state.attempt.unreached > 0) return;
    this.set(name, this.#clock.now());
  }

  /** Called when the object was deleted. */
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

  /** True when an alarm waits for its time, or for its next retry. */
  get isWaiting(): boolean {
    return [...this.#alarms.values()].some(({ kind }) => kind === 'waiting');
  }

  /** Returns one promise per running handler; it resolves when the run ends. */
  running(): Promise<void>[] {
    return [...this.#alarms.values()].flatMap((state) =>
      state.kind === 'running' ? [state.ended] : [],
    );
  }

  #wait(name: string, attempt: Attempt, wait: (task: () => void) => () => void): void {
    if (this.#isClosed) return;
    const cancel = wait(() => this.#start(name, attempt));
    this.#alarms.set(name, { kind: 'waiting', attempt, cancel });
  }

  #start(name: string, attempt: Attempt): void {
    assert(this.#alarms.get(name)?.kind === 'waiting', 'an alarm ran that did not wait');
    const ended = Promise.resolve()
      .then(() => this.#runner.run(name, () => state.attempt.retryCount))
      .then((outcome) => this.#end(name, state, outcome));
    const state: Running = { kind: 'running', attempt, next: undefined, ended };
    this.#alarms.set(name, state);
  }

  async #end(name: string, state: Running, outcome: AlarmOutcome): Promise<void> {
    if (this.#alarms.get(name) !== state) return; // The object was forgotten meanwhile.
    this.#alarms.delete(name);
    if (typeof state.next === 'number') this.set(name, state.next);
    if (state.next !== undefined) return;
    if (outcome === 'succeeded') return;
    const { attempt } = state;
    const { retryCount, unreached } = attempt;
    if (outcome === 'unreached') this.#retry(name, { ...attempt, unreached: unreached + 1 });
    else if (outcome === 'failed' && retryCount < ALARM_RETRIES_MAX) {
      this.#retry(name, { ...attempt, retryCount: retryCount + 1, unreached: 0 });
    } else await this.#runner.giveUp(name);
  }

  #retry(name: string, attempt: Attempt): void {
    const failures = attempt.retryCount + attempt.unreached;
    const doublings = Math.min(failures - 1, ALARM_RETRY_DOUBLINGS_MAX);
    const growth = 2 ** doublings * (1 + ALARM_RETRY_JITTER * this.#clock.random());
    this.#wait(name, attempt, (task) => this.#clock.after(ALARM_RETRY_MS * growth, task));
  }
}

function first(scheduledTime: number): Attempt {
  return { scheduledTime, retryCount: 0, unreached: 0 };
}

/** The argument of an alarm handler; its members cannot be changed. */
export class AlarmInvocationInfo {
  /** The time for which the alarm was set, in milliseconds since the epoch. */
  declare readonly scheduledTime: number;
  /** True when an earlier run of this alarm failed. */
  declare readonly isRetry: boolean;
  /** Number of runs of this alarm that failed. */
  declare readonly retryCount: number;

  constructor({ scheduledTime, retryCount }: AlarmRun) {
    const members = { scheduledTime, retryCount, isRetry: retryCount > 0 };
    for (const [name, value] of Object.entries(members)) {
      Object.defineProperty(this, name, { value, enumerable: true });
    }
  }

  get [Symbol.toStringTag](): string {
    return 'AlarmInvocationInfo';
  }

  static {
    // Define the name, because minifiers rename the class.
    Object.defineProperty(AlarmInvocationInfo, 'name', { value: 'AlarmInvocationInfo' });
  }
}
