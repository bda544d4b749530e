// Limits the size of the arguments and of the result of a call.

import { storageError } from '../../contract/errors.ts';
import { type Draft, discardDraft } from './channel.ts';

/** The most bytes of the arguments, or of the result, of one call, as in workerd. */
const PAYLOAD_BYTES_MAX = 32 * 1024 * 1024;

/** Returns the draft of arguments or of a result. Discards it if it is too large. @throws MESSAGE_TOO_LARGE */
export function checkDraftSize(draft: Draft): Draft {
  const { byteLength } = draft.payload;
  if (byteLength <= PAYLOAD_BYTES_MAX) return draft;
  discardDraft(draft);
  throw storageError(
    'MESSAGE_TOO_LARGE',
    'Serialized RPC arguments or return values are limited to 32MiB, but the size of this value ' +
      `was: ${byteLength} bytes. Pass a ReadableStream, or several smaller values.`,
  );
}
