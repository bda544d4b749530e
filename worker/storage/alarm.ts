// The alarm of one object: its stored time, and what programs see of it while its handler runs.
//
// During a run the stored time stays, so that a crash runs it again, but programs see no alarm until
// they set one. Setting or deleting one settles the run: whatever its outcome, what was set counts.
//
// Invariant: the stored time is only cleared by a run that succeeded and that nothing replaced.

import type { Metadata } from './metadata.ts';

interface Run {
  readonly timeMs: number;
  /** An alarm was set or deleted since the run began. */
  replaced: boolean;
}

export class Alarm {
  readonly #metadata: Metadata;
  #run: Run | undefined;

  constructor(metadata: Metadata) {
    this.#metadata = metadata;
  }

  /** What getAlarm gives: milliseconds, or null. */
  get timeMs(): number | null {
    return this.#run?.replaced === false ? null : this.#metadata.alarm;
  }

  /** What is stored. */
  get storedMs(): number | null {
    return this.#metadata.alarm;
  }

  /** True when setting this time would change nothing. */
  isSetTo(timeMs: number | null): boolean {
    return this.#run?.replaced !== false && this.#metadata.alarm === timeMs;
  }

  /** Stores a time, or none. The caller has opened a transaction. */
  set(timeMs: number | null): void {
    this.#metadata.setAlarm(timeMs);
    if (this.#run !== undefined) this.#run.replaced = true;
  }

  /** Begins a run of the handler for the stored time; false when there is none any more. */
  begin(): boolean {
    const timeMs = this.#metadata.alarm;
    if (timeMs === null) return false;
    this.#run = { timeMs, replaced: false };
    return true;
  }

  /** Ends the run; true when the stored time is now to be cleared. */
  end(outcome: 'succeeded' | 'failed'): boolean {
    const run = this.#run;
    this.#run = undefined;
    return outcome === 'succeeded' && run?.replaced === false;
  }

  /** Tells of a rollback: what replaced the run may have been undone. */
  rolledBack(): void {
    if (this.#run !== undefined) this.#run.replaced = this.#metadata.alarm !== this.#run.timeMs;
  }
}
