// The alarm of one object: its stored time, and the time that programs see while its handler runs.
//
// During a run the stored time stays, so that the handler runs again after a crash, but programs see no alarm until
// they set one. If the handler sets or deletes the alarm, that is kept even if the run fails.
//
// Invariant: only a run that succeeded clears the stored time, and only if the alarm was not
// changed.

import type { Metadata } from './metadata.ts';

interface Run {
  readonly timeMs: number;
  /**
   * True if an alarm was set or deleted since the run began. Undefined after a rollback: it must then be found out from
   * the stored time.
   */
  replaced: boolean | undefined;
}

export class Alarm {
  readonly #metadata: Metadata;
  #run: Run | undefined;

  constructor(metadata: Metadata) {
    this.#metadata = metadata;
  }

  /** The result of getAlarm: milliseconds, or null. */
  get timeMs(): number | null {
    return this.#isHidden ? null : this.#metadata.alarm;
  }

  /** The stored time of the alarm. */
  get storedMs(): number | null {
    return this.#metadata.alarm;
  }

  /** True if setting this time would change nothing. */
  isSetTo(timeMs: number | null): boolean {
    return !this.#isHidden && this.#metadata.alarm === timeMs;
  }

  /** Stores a time, or null for no alarm. The caller has opened a transaction. */
  set(timeMs: number | null): void {
    this.#metadata.setAlarm(timeMs);
    if (this.#run !== undefined) this.#run.replaced = true;
  }

  /** Begins a run of the handler for the stored time; returns false if no time is stored. */
  begin(): boolean {
    const timeMs = this.#metadata.alarm;
    if (timeMs === null) return false;
    this.#run = { timeMs, replaced: false };
    return true;
  }

  /** Ends the run; returns true if the caller must clear the stored time. */
  end(outcome: 'succeeded' | 'failed'): boolean {
    try {
      return outcome === 'succeeded' && this.#isHidden;
    } finally {
      this.#run = undefined;
    }
  }

  /** Called after a rollback, which may have undone a change of the alarm during the run. */
  rolledBack(): void {
    if (this.#run !== undefined) this.#run.replaced = undefined;
  }

  /** True while the handler runs and has not set or deleted the alarm. */
  get #isHidden(): boolean {
    if (this.#run === undefined) return false;
    this.#run.replaced ??= this.#metadata.alarm !== this.#run.timeMs;
    return !this.#run.replaced;
  }
}
