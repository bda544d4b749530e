// The clock of an emulated provider: it runs on from the moment it was moved to.

import { dayOf } from './day.ts';

export class MovableClock {
  readonly #source: { now(): number };
  #offsetMs = 0;

  /** Runs from the start of `at`, `YYYY-MM-DD`, or with its source when none is given. */
  constructor(at?: string, source: { now(): number } = Date) {
    this.#source = source;
    if (at !== undefined) this.moveTo(at);
  }

  now(): number {
    return this.#source.now() + this.#offsetMs;
  }

  /** @throws RangeError when it is no date */
  moveTo(date: string): void {
    const day = dayOf(date);
    if (day === undefined) throw new RangeError(`"${date}" must be a date, YYYY-MM-DD.`);
    this.#offsetMs = Date.parse(day) - this.#source.now();
  }
}
