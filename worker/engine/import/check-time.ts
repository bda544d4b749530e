// Limits the time of the checks of an imported file.
//
// Invariant: the checks take at most `importMs` in total. Between two steps of a long check, other tasks of the worker
// may run, and their time does not count.

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { Database } from '../sql/database.ts';
import type { Limits } from '../sql/query-limits.ts';
import type { Fault } from './import-faults.ts';

/** Maximum milliseconds for which other tasks wait, unless a single step takes longer. */
const SLICE_MS = 50;

/** The functions of the host that the checks use. */
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

  /** Makes all calls of this database end when the time of the checks is over. */
  bounds(database: Database): void {
    this.#databases.push(database);
    database.endBy(this.#endMs);
  }

  /** Gives the databases passed to `bounds` their own limits again. */
  lift(): void {
    for (const database of this.#databases) database.endBy(undefined);
  }

  /** Called before the check of a part of the file; lets other tasks run. @throws SQL_TIMEOUT if the time is over */
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

  /** Makes the fault of a file whose checks take longer. */
  fault(): Fault {
    return {
      fact:
        `checking the file took more than ${this.#host.limits.importMs} ms, and had come to ${this.#part}; ` +
        'the rest of it is not known',
      wayOut: 'raise limits.importMs (an option of openStorage, serve and createObjects)',
    };
  }
}
