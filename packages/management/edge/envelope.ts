// Writes an answer as an HTTP response with its real status; the body has the members result, success, errors, messages
// and result_info.

import { type Answer, ApiError, errorAnswer } from '../call/call.ts';
import { type ErrorEntry, errorEntry } from '../call/error-codes.ts';

/** Makes the response. `success` is true if and only if the status is below 400. */
export function envelope(
  answer: Answer,
  headers: Headers,
  messages: readonly ErrorEntry[] = [],
): Response {
  const { status, result, errors, pageInfo } = answer;
  const success = status < 400;
  for (const [name, value] of Object.entries(answer.headers ?? {})) headers.set(name, value);
  headers.set('content-type', 'application/json; charset=utf-8');
  const body = {
    result: success ? result : null,
    success,
    errors,
    messages,
    ...(pageInfo && { result_info: pageInfo }),
  };
  return new Response(JSON.stringify(body), { status, headers });
}

/** Writes an error as an HTTP response: an ApiError with its status, any other as a failure of the emulator. */
export function failure(error: unknown, headers: Headers = new Headers()): Response {
  if (error instanceof ApiError) return envelope(errorAnswer(error), headers);
  const { status, entry } = errorEntry('INTERNAL', `The emulator failed: ${String(error)}`);
  return envelope({ status, result: null, errors: [entry] }, headers);
}
