// Decodes the messages of followers, and the arguments of their calls.
//
// Invariant: arguments that would hold the server for seconds reach no method. Their call is answered, so that a follower
// that has queued it does not send it for ever.

import { storageError } from '@ctx-storage/core/errors';
import { deserializeFromPeer, refusalOf } from '@ctx-storage/core/values';
import { decodeToServer } from '../protocol/decode.ts';
import type { MessageToServer } from '../protocol/messages.ts';

/**
 * The most arguments of a call (our choice). A message of ten bytes can name an array of any length, and V8 takes a minute
 * to pass 60 million arguments.
 */
const ARGUMENTS_MAX = 1000;

/** Returns the decoded message. @throws INVALID_ARGUMENT, CORRUPT */
export function decodeFollowerMessage(data: ArrayBuffer): MessageToServer {
  return decodeToServer(valueFromPeer(new Uint8Array(data)));
}

/** Returns the arguments of a call of `method`. @throws INVALID_ARGUMENT */
export function argumentsOf(method: string, bytes: unknown): unknown[] {
  const args = bytes instanceof Uint8Array ? valueFromPeer(bytes) : undefined;
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

function valueFromPeer(bytes: Uint8Array): unknown {
  const passed = deserializeFromPeer(bytes);
  const refusal = refusalOf(passed);
  if (refusal !== undefined) throw refusal;
  return passed.value;
}
