// The time that the checks of a file take.
//
// Invariant: the checks take at most `importMs` in all, and hold the worker's thread only for a moment at a time
// where they have many steps: between two, others may run, and their time does not count.

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { Database } from '../sql/database.ts';
import type { Limits } from '../sql/query-limits.ts';
import type { Fault } from './import-faults.ts';

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
  #part = 'its schema';

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

  /** Before the check of this part of the file. @throws SQL_TIMEOUT when the time is over */
  async betweenSteps(part: string): Promise<void> {
    this.#part = part;
    const nowMs = this.#host.limits.now();
    if (nowMs >= this.#endMs) throw storageError('SQL_TIMEOUT', this.fault().fact);
    if (nowMs < this.#sliceEndMs) return;
    await new Promise<void>((resolve) => this.#host.nextTurn(resolve));
    const resumedMs = this.#host.limits.now();
    this.#endMs += resumedMs - nowMs;
    this.#sliceEndMs = resumedMs + SLICE_MS;
    for (const database of this.#databases) database.endBy(this.#endMs);
  }

  /** The fault of a file that takes longer. */
  fault(): Fault {
    return {
      fact:
        `checking the file took more than ${this.#host.limits.importMs} ms, and had come to ${this.#part}; ` +
        'the rest of it is not known',
      wayOut: 'raise limits.importMs (an option of openStorage, serve and createObjects)',
    };
  }
}
