// The clock of an emulated provider. It can be moved to a day, and continues from there.

import { dayOf } from './day.ts';

export class MovableClock {
  readonly #source: { now(): number };
  #offsetMs = 0;
  #isMoved = false;

  /** Starts at the beginning of the day `at`, `YYYY-MM-DD`. Without `at`, the clock shows its source's time. */
  constructor(at?: string, source: { now(): number } = Date) {
    this.#source = source;
    if (at !== undefined) this.moveTo(at);
  }

  /** Whether the clock was ever moved to a day. Until then it shows its source's time. */
  get isMoved(): boolean {
    return this.#isMoved;
  }

  now(): number {
    return this.#source.now() + this.#offsetMs;
  }

  /** Moves the clock to the beginning of the day. @throws RangeError if `date` is not a date */
  moveTo(date: string): void {
    const day = dayOf(date);
    if (day === undefined) throw new RangeError(`"${date}" must be a date, YYYY-MM-DD.`);
    this.#offsetMs = Date.parse(day) - this.#source.now();
    this.#isMoved = true;
  }
}
