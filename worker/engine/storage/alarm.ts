// The alarm of one object: its stored time, and programs' view of it while its handler runs.
//
// During a run the stored time stays, so that the handler runs again after a crash, but programs
// see no alarm until they set one. If the handler sets or deletes the alarm, that counts, however
// the run ends.
//
// Invariant: only a run that succeeded clears the stored time, and only if the alarm was not
// changed.

import type { Metadata } from './metadata.ts';

interface Run {
  readonly timeMs: number;
  /** An alarm was set or deleted since the run began; undefined: ask, because something was undone. */
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

  /** The stored time. */
  get storedMs(): number | null {
    return this.#metadata.alarm;
  }

  /** True when setting this time would change nothing. */
  isSetTo(timeMs: number | null): boolean {
    return !this.#isHidden && this.#metadata.alarm === timeMs;
  }

  /** Stores a time, or null for no alarm. The caller has opened a transaction. */
  set(timeMs: number | null): void {
    this.#metadata.setAlarm(timeMs);
    if (this.#run !== undefined) this.#run.replaced = true;
  }

  /** Begins a run of the handler for the stored time; false if no time is stored. */
  begin(): boolean {
    const timeMs = this.#metadata.alarm;
    if (timeMs === null) return false;
    this.#run = { timeMs, replaced: false };
    return true;
  }

  /** Ends the run; true if the caller must clear the stored time. */
  end(outcome: 'succeeded' | 'failed'): boolean {
    try {
      return outcome === 'succeeded' && this.#isHidden;
    } finally {
      this.#run = undefined;
    }
  }

  /** After a rollback, a change of the alarm during the run may be undone. */
  rolledBack(): void {
    if (this.#run !== undefined) this.#run.replaced = undefined;
  }

  /** True while a run has not replaced the alarm that it runs for. */
  get #isHidden(): boolean {
    if (this.#run === undefined) return false;
    this.#run.replaced ??= this.#metadata.alarm !== this.#run.timeMs;
    return !this.#run.replaced;
  }
}
