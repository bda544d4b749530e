// What a peer's answer may be: an outcome. A call settles by it in any case, so an answer of another
// shape is the outcome of a defect, not an exception in the middle of settling.

import { storageError } from '../contract/errors.ts';
import { type Outcome, toWire } from './errors-on-wire.ts';

/** The answer, or the defect that it is none. The result itself is the caller's to trust. */
export function checkOutcome<T>(answer: unknown): Outcome<T> {
  if (typeof answer === 'object' && answer !== null && ('ok' in answer || 'error' in answer)) {
    return answer as Outcome<T>;
  }
  return { error: toWire(storageError('INTERNAL', 'The answer to the call is not an outcome.')) };
}

/** One outcome a call, whatever came. */
export function checkOutcomes(answer: unknown, count: number): Outcome[] {
  const given: readonly unknown[] = Array.isArray(answer) ? answer : [];
  return Array.from({ length: count }, (_, i) => checkOutcome(given[i]));
}
