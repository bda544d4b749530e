// Holds one LeaderFinder for each directory that this page uses. Handles on storage and connections to classes share
// it, and with it the page's worker.
//
// Invariant: a caller's choice of worker is used or refused, never ignored. A choice whose start has failed is replaced
// by the next one. It is not asserted: the choice is the caller's, and a conflict is a typed error.

import { storageError } from '../../shared/contract/errors.ts';
import type { PageEnvironment } from './environment.ts';
import { LeaderFinder, type LeaderOptions } from './leader-finder.ts';
import { completeChoice, difference, sourceOf, type WorkerChoice } from './worker-choice.ts';

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

  /**
   * Returns the finder of the directory that the caller chose.
   *
   * @throws INVALID_ARGUMENT when the directory is served by another worker of this page
   */
  finderFor(choice: WorkerChoice): LeaderFinder {
    const known = this.#known.get(choice.directory);
    if (known === undefined || known.finder.isClosed) {
      const finder = new LeaderFinder(optionsOf(choice), this.environment);
      this.#known.set(choice.directory, { finder, choice });
      return finder;
    }
    const { finder } = known;
    // A choice that never worked is not completed by a later one, because its options may be the reason.
    const isKept = finder.hasServed || !finder.mayChange;
    const wanted = isKept ? completeChoice(choice, known.choice) : choice;
    const differing = difference(wanted, known.choice);
    if (differing === null) return finder;
    if (!finder.mayChange) throw refusal(choice, differing);
    finder.use(optionsOf(wanted));
    this.#known.set(choice.directory, { finder, choice: wanted });
    return finder;
  }
}

function optionsOf(choice: WorkerChoice): LeaderOptions {
  const { operation, directory, medium, wasmUrl, lateUrl, history, limits } = choice;
  const places = { directory, medium, wasmUrl, lateUrl };
  return { operation, ...places, history, limits, source: sourceOf(choice) };
}

function refusal({ operation, directory }: WorkerChoice, differing: string): Error {
  return storageError(
    'INVALID_ARGUMENT',
    `${operation}: ${differing} differs from that of the first handle or connection on directory ` +
      `"${directory}", whose worker is in use; one worker of a page serves a directory. Repeat the ` +
      'choice, close() that connection first, or name another directory.',
  );
}
