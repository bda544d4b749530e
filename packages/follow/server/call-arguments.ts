// Reads the arguments of a follower's call from its message.

import { storageError } from '@ctx-storage/core/errors';
import { deserialize } from '@ctx-storage/core/values';

/**
 * The most arguments of a call (our choice). A message of ten bytes can name an array of any length, and V8 takes a minute
 * to pass 60 million arguments.
 */
const ARGUMENTS_MAX = 1000;

/** Returns the arguments of a call of `method`. @throws INVALID_ARGUMENT */
export function argumentsOf(method: string, bytes: unknown): unknown[] {
  const args = decoded(bytes);
  if (!Array.isArray(args)) {
    throw storageError('INVALID_ARGUMENT', `${method}(): the arguments are not an array.`);
  }
  if (args.length > ARGUMENTS_MAX) {
    throw storageError(
      'INVALID_ARGUMENT',
      `${method}(): ${args.length} arguments, at most ${ARGUMENTS_MAX}. Pass an array instead.`,
    );
  }
  return args;
}

/** Returns the value of a message's bytes; undefined if they are no bytes, or of no value. */
function decoded(bytes: unknown): unknown {
  try {
    return bytes instanceof Uint8Array ? deserialize(bytes) : undefined;
  } catch {
    return undefined;
  }
}
