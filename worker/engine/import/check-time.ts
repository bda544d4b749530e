// The time that the checks of a file take.
//
// Invariant: the checks take at most `importMs` in all, and hold the worker's thread only for a moment at a time
// where they have many steps: between two, others may run, and their time does not count.

import type { Database } from '../sql/database.ts';
import type { Limits } from '../sql/query-limits.ts';
import { importInvalid } from './database-header.ts';

/** How long others wait at most, unless a single step takes longer. */
const SLICE_MS = 50;

/** The host's functions for the checks. */
export interface CheckHost {
  readonly limits: Pick<Limits, 'importMs' | 'now'>;
  /** Runs the task after other tasks of the thread that wait already. */
  nextTurn(task: () => void): void;
}

export class CheckTime {
  readonly #host: CheckHost;
  readonly #databases: Database[] = [];
  #endMs: number;
  #sliceEndMs: number;

  constructor(host: CheckHost) {
    const { importMs, now } = host.limits;
    this.#host = host;
    this.#sliceEndMs = now() + SLICE_MS;
    this.#endMs = this.#sliceEndMs - SLICE_MS + importMs;
  }

  /** All calls of this database end with the time. */
  bounds(database: Database): void {
    this.#databases.push(database);
    database.endBy(this.#endMs);
  }

  /** The databases that were bounded have their own limits again. */
  lift(): void {
    for (const database of this.#databases) database.endBy(undefined);
  }

  /** Between two steps. @throws IMPORT_INVALID when the time is over */
  async betweenSteps(): Promise<void> {
    const nowMs = this.#host.limits.now();
    if (nowMs >= this.#endMs) throw this.exceeded();
    if (nowMs < this.#sliceEndMs) return;
    await new Promise<void>((resolve) => this.#host.nextTurn(resolve));
    const resumedMs = this.#host.limits.now();
    this.#endMs += resumedMs - nowMs;
    this.#sliceEndMs = resumedMs + SLICE_MS;
    for (const database of this.#databases) database.endBy(this.#endMs);
  }

  exceeded(cause?: unknown): Error {
    return importInvalid(
      `checking the file took more than ${this.#host.limits.importMs} ms`,
      'remove its views, triggers and indexes on expressions, or raise limits.importMs',
      cause,
    );
  }
}
