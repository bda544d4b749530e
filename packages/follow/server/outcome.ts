// Turns the result or error of a call into an outcome, a value that can be stored and sent any number of times.
//
// Invariant: an outcome is a copy, so later changes of the result do not reach it; and it fits into one row.
//
// Errors lose the frames of their stack, which would show the server's code.

import { storageError } from '@ctx-storage/core/errors';
import { deserialize, serialize, serializeWith } from '@ctx-storage/core/values';
import type { FollowedOutcome } from '../protocol/messages.ts';

/** The largest stored outcome (our choice: below the 2 MB that a row may have on workerd). */
export const OUTCOME_BYTES_MAX = 2 ** 20;

/** The properties that every error may have; `withoutStack` sets or drops them itself. */
const STANDARD_PROPERTIES: ReadonlySet<string> = new Set(['name', 'message', 'stack', 'cause']);

/** Returns the outcome of a call that returned. If the result cannot be sent, the outcome is an error, as in RPC. */
export function valueOutcome(returned: unknown): FollowedOutcome {
  let bytes: Uint8Array;
  try {
    bytes = serializeWith(returned, refuseReference);
  } catch (error) {
    return errorOutcome(error);
  }
  if (bytes.length > OUTCOME_BYTES_MAX) return tooLarge('result', bytes.length);
  return { kind: 'value', value: deserialize(bytes) };
}

export function errorOutcome(thrown: unknown): FollowedOutcome {
  const bytes = serialize(thrown instanceof Error ? withoutStack(thrown) : sendableThrown(thrown));
  if (bytes.length > OUTCOME_BYTES_MAX) return tooLarge('error', bytes.length);
  return { kind: 'error', error: deserialize(bytes) };
}

function tooLarge(what: string, sizeBytes: number): FollowedOutcome {
  const fact = `The ${what} of the call has ${sizeBytes} bytes, at most ${OUTCOME_BYTES_MAX}`;
  const wayOut = 'The call has taken effect. Store the data, and let followers read them.';
  return errorOutcome(storageError('MESSAGE_TOO_LARGE', `${fact}. ${wayOut}`));
}

function refuseReference(): undefined {
  return undefined;
}

/** Copies an error's name, message and those properties that are strings, numbers or booleans. */
function withoutStack(error: Error): Error {
  const copy = new Error(String(error.message));
  const define = (name: string, value: unknown) => Object.defineProperty(copy, name, { value });
  define('name', String(error.name));
  define('stack', `${error.name}: ${error.message}`);
  for (const name of Object.getOwnPropertyNames(error)) {
    const value: unknown = Reflect.get(error, name);
    const isSimple = ['string', 'number', 'boolean'].includes(typeof value);
    if (isSimple && !STANDARD_PROPERTIES.has(name)) define(name, value);
  }
  return copy;
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
