// An answer as HTTP: the envelope `result success errors messages result_info`, and the true status.

import { type Answer, ApiError, refused } from '../call/call.ts';
import { type ErrorEntry, errorEntry } from '../call/error-codes.ts';

/** `success` is true if and only if the status is below 400. */
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

/** An error as HTTP: a refusal with its status, anything else as a failure of the emulator. */
export function failure(error: unknown, headers: Headers = new Headers()): Response {
  if (error instanceof ApiError) return envelope(refused(error), headers);
  const { status, entry } = errorEntry('INTERNAL', `The emulator failed: ${String(error)}`);
  return envelope({ status, result: null, errors: [entry] }, headers);
}
