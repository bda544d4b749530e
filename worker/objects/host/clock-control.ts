// The clock of a host as tests and tools drive it: through whatever is due, with alarms run to their end.

import type { Clock } from '../clock/clock.ts';
import type { HostEnvironment } from '../instance/environment.ts';
import type { AlarmEnd, FinishedAlarm, ObjectAlarms } from './object-alarms.ts';

/** Turns of the event loop in which the work of a timer settles, unless it waits for an event. */
const SETTLE_TURNS = 20;
/** How long the clock waits for a running handler before it moves to a timer the handler may await. */
const PATIENCE_MS = 50;

export class ClockControl {
  readonly #clock: Clock;
  readonly #alarms: ObjectAlarms;
  readonly #environment: HostEnvironment;

  constructor(clock: Clock, alarms: ObjectAlarms, environment: HostEnvironment) {
    this.#clock = clock;
    this.#alarms = alarms;
    this.#environment = environment;
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return this.#clock.now();
  }

  /** Stops the clock at this time and runs overdue tasks. @throws INVALID_ARGUMENT */
  set(timeMs: number): Promise<void> {
    return this.#clock.set(timeMs, this.#settled);
  }

  /** Stops the clock and moves it on through everything that is due. @throws INVALID_ARGUMENT */
  advance(durationMs: number): Promise<void> {
    return this.#clock.advance(durationMs, this.#settled);
  }

  /**
   * Moves to the next alarm, or to the retry of one, and runs its handler; resolves to null when no alarm is set. Every
   * task due on the way runs too, and may change which alarm is next.
   *
   * @throws errors of opening the object's files
   */
  runNextAlarm(): Promise<FinishedAlarm | null> {
    let end: AlarmEnd | undefined;
    const unsubscribe = this.#alarms.subscribe((ended) => {
      end ??= ended;
    });
    const found = () => {
      if (end?.kind === 'unreached') throw end.error;
      if (end !== undefined) return end.alarm;
      const isAwaited = this.#alarms.hasNext || this.#alarms.running().length > 0;
      return isAwaited ? undefined : null;
    };
    return this.#clock.advanceTo(found, this.#settled).finally(unsubscribe);
  }

  /** Ends the control of the clock, which follows the system again. */
  resume(): Promise<void> {
    return this.#clock.resume();
  }

  // Waits until the tasks of a timer settle. A handler may itself wait for the clock, so the clock must not wait for
  // the handler without a limit.
  readonly #settled = async (): Promise<void> => {
    const { nextTurn, afterRealTime } = this.#environment;
    for (let turn = 0; turn < SETTLE_TURNS; turn++) {
      await new Promise<void>((resolve) => nextTurn(resolve));
    }
    for (;;) {
      const runs = this.#alarms.running();
      if (runs.length === 0) return;
      const patience = new Promise<'late'>((resolve) =>
        afterRealTime(PATIENCE_MS, () => resolve('late')),
      );
      const first = await Promise.race([Promise.all(runs), patience]);
      if (first === 'late' && this.#clock.hasWork) return;
    }
  };
}
