// Checks the answers of a peer, which are outcomes. A call must settle in any case, so an answer of
// another shape becomes an outcome too: an INTERNAL error.

import { storageError } from '../contract/errors.ts';
import { type Outcome, toWire } from './errors-on-wire.ts';

/** The answer if it is an outcome. Its result is not checked. */
export function checkOutcome<T>(answer: unknown): Outcome<T> {
  if (typeof answer === 'object' && answer !== null && ('ok' in answer || 'error' in answer)) {
    return answer as Outcome<T>;
  }
  return { error: toWire(storageError('INTERNAL', 'The answer to the call is not an outcome.')) };
}

/** One outcome for each of `count` calls. A single error is the outcome of all of them. */
export function checkOutcomes(answer: unknown, count: number): Outcome[] {
  if (Array.isArray(answer)) {
    const outcomes: Outcome[] = [];
    for (let i = 0; i < count; i++) outcomes.push(checkOutcome(answer[i]));
    return outcomes;
  }
  const outcome = checkOutcome(answer);
  return new Array(count).fill('error' in outcome ? outcome : checkOutcome(undefined));
}
