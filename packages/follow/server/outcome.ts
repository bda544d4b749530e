// Turns the result or error of a call into an outcome, a value that can be stored and sent any number of times.
//
// Invariant: an outcome is a copy, so later changes of the result do not reach it; and it fits into one row.
//
// Errors lose what shows the server's code, also those in a result: errors-without-frames.ts.

import { storageError } from '@ctx-storage/core/errors';
import { deserialize, serialize, serializeWith } from '@ctx-storage/core/values';
import type { FollowedOutcome } from '../protocol/messages.ts';
import { stripErrorsIn, withoutFrames } from './errors-without-frames.ts';

/** The largest stored outcome (our choice: below the 2 MB that a row may have on workerd). */
export const OUTCOME_BYTES_MAX = 2 ** 20;

/** Returns the outcome of a call that returned. If the result cannot be sent, the outcome is an error, as in RPC. */
export function valueOutcome(returned: unknown): FollowedOutcome {
  let bytes: Uint8Array;
  try {
    bytes = serializeWith(returned, refuseReference);
  } catch (error) {
    return errorOutcome(error);
  }
  if (bytes.length > OUTCOME_BYTES_MAX) return tooLarge('result', bytes.length);
  const value = deserialize(bytes);
  stripErrorsIn(value);
  return { kind: 'value', value };
}

export function errorOutcome(thrown: unknown): FollowedOutcome {
  const bytes = bytesOfThrown(thrown);
  if (bytes.length > OUTCOME_BYTES_MAX) return tooLarge('error', bytes.length);
  const error = deserialize(bytes);
  stripErrorsIn(error);
  return { kind: 'error', error };
}

function tooLarge(what: string, sizeBytes: number): FollowedOutcome {
  const fact = `The ${what} of the call has ${sizeBytes} bytes, at most ${OUTCOME_BYTES_MAX}`;
  const wayOut = 'The call has taken effect. Store the data, and let followers read them.';
  return errorOutcome(storageError('MESSAGE_TOO_LARGE', `${fact}. ${wayOut}`));
}

function refuseReference(): undefined {
  return undefined;
}

function bytesOfThrown(thrown: unknown): Uint8Array {
  try {
    return serialize(thrown instanceof Error ? withoutFrames(thrown) : sendableThrown(thrown));
  } catch {
    // A getter of the error has thrown another error.
    return serialize(new Error('The method threw an error that cannot be sent.'));
  }
}

/** Returns a thrown value that is not an error, or a text about it if it cannot be sent. */
function sendableThrown(thrown: unknown): unknown {
  try {
    serializeWith(thrown, refuseReference);
    return thrown;
  } catch {
    return Object.prototype.toString.call(thrown);
  }
}
