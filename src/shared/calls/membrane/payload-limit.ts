// How large the arguments and the result of a call may be.

import { storageError } from '../../contract/errors.ts';
import { type Draft, discardDraft } from './channel.ts';

/** Most bytes of the arguments or of the result of one call (workerd). */
const PAYLOAD_BYTES_MAX = 32 * 1024 * 1024;

/** The draft of arguments or of a result, discarded if it is too large. @throws MESSAGE_TOO_LARGE */
export function limited(draft: Draft): Draft {
  const { byteLength } = draft.payload;
  if (byteLength <= PAYLOAD_BYTES_MAX) return draft;
  discardDraft(draft);
  throw storageError(
    'MESSAGE_TOO_LARGE',
    'Serialized RPC arguments or return values are limited to 32MiB, but the size of this value ' +
      `was: ${byteLength} bytes. Pass a ReadableStream, or several smaller values.`,
  );
}
