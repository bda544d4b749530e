// One LeaderFinder for each directory that this page uses. Handles on storage and connections to
// classes share it, and with it the page's worker.

import { storageError } from '../contract/errors.ts';
import type { PageEnvironment, WorkerLike, WorkerSource } from './environment.ts';
import { LeaderFinder } from './leader-finder.ts';

/** A caller's options about the worker; null for those it did not give. */
export interface WorkerChoice {
  /** The user's call, for error messages. */
  readonly operation: string;
  readonly directory: string;
  /** A worker that the caller started. */
  readonly worker: WorkerLike | null;
  readonly workerUrl: string | null;
  readonly wasmUrl: string | null;
  /** Starts the worker if none was given. */
  readonly spawn: () => WorkerLike;
}

interface Known {
  readonly finder: LeaderFinder;
  readonly choice: WorkerChoice;
}

export class LeaderFinders {
  readonly environment: PageEnvironment;
  readonly #known = new Map<string, Known>();

  constructor(environment: PageEnvironment) {
    this.environment = environment;
  }

  /** @throws INVALID_ARGUMENT when the directory is served by another worker of this page */
  finderFor(choice: WorkerChoice): LeaderFinder {
    const known = this.#known.get(choice.directory);
    if (known !== undefined && !known.finder.isClosed) {
      checkSame(known.choice, choice);
      return known.finder;
    }
    const { operation, directory, wasmUrl } = choice;
    const options = { operation, directory, wasmUrl, source: sourceOf(choice) };
    const finder = new LeaderFinder(options, this.environment);
    this.#known.set(directory, { finder, choice });
    return finder;
  }
}

function sourceOf({ worker, spawn }: WorkerChoice): WorkerSource {
  return worker === null ? { kind: 'spawned', spawn } : { kind: 'given', worker };
}

// A later handle may omit the worker's options or repeat them; different ones would be ignored.
function checkSame(known: WorkerChoice, given: WorkerChoice): void {
  for (const option of ['worker', 'workerUrl', 'wasmUrl'] as const) {
    if (given[option] !== null && given[option] !== known[option]) {
      throw storageError(
        'INVALID_ARGUMENT',
        `${given.operation}: ${option} differs from that of the first handle on directory ` +
          `"${given.directory}"; one worker of a page serves a directory.`,
      );
    }
  }
}
