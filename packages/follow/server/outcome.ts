// The answer to a call as a value that can be stored, sent and sent again.
//
// Invariant: an outcome shares nothing with the object, which may change its method's result later; and it fits a row.
//
// Errors come without frames: those show the server's code.

import { storageError } from '@ctx-storage/core/errors';
import { deserialize, serialize, serializeWith } from '@ctx-storage/core/values';
import type { FollowedOutcome } from '../protocol/messages.ts';

/** Our choice, below the 2 MB of a row on workerd. */
const OUTCOME_BYTES_MAX = 2 ** 20;

/** Properties of every error. */
const PLACED: ReadonlySet<string> = new Set(['name', 'message', 'stack', 'cause']);

/** Of a method's result. A result that cannot be sent gives an error, as in RPC. */
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
  const bytes = serialize(thrown instanceof Error ? withoutStack(thrown) : sendable(thrown));
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

/** A plain error of the same name, with the properties that are texts, numbers and truth values. */
function withoutStack(error: Error): Error {
  const copy = new Error(String(error.message));
  const define = (name: string, value: unknown) => Object.defineProperty(copy, name, { value });
  define('name', String(error.name));
  define('stack', `${error.name}: ${error.message}`);
  for (const name of Object.getOwnPropertyNames(error)) {
    const value: unknown = Reflect.get(error, name);
    const isSimple = ['string', 'number', 'boolean'].includes(typeof value);
    if (isSimple && !PLACED.has(name)) define(name, value);
  }
  return copy;
}

/** A thrown value that is not an error; a text about it, if it cannot be sent. */
function sendable(thrown: unknown): unknown {
  try {
    serializeWith(thrown, refuseReference);
    return thrown;
  } catch {
    return Object.prototype.toString.call(thrown);
  }
}
