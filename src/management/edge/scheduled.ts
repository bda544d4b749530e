// Applies the schedule to one call on its day: adds headers to the answer, or refuses the call.

import { ApiError } from '../call/call.ts';
import { errorEntry } from '../call/error-codes.ts';
import type { Schedule } from '../schedule/entry.ts';
import { deprecationHeaders, successorPath } from '../schedule/headers.ts';
import { type EndOfOperation, lookup } from '../schedule/lookup.ts';

export interface ScheduledCall {
  readonly method: string;
  readonly path: string;
  readonly at: string;
  /** The prefix that the client used before the path, for links. */
  readonly base: string;
  /** Address of an HTML page with the schedule. */
  readonly documentation: string;
}

/**
 * Adds the deprecation headers for the call.
 *
 * @throws ApiError 410 if the operation has ended; it names the replacement
 */
export function applySchedule(headers: Headers, schedule: Schedule, call: ScheduledCall): void {
  const { method, path, at, base, documentation } = call;
  const found = lookup(method, path, at, { schedule, basePath: '' });
  const told = deprecationHeaders(found, { base, documentation });
  for (const [name, value] of Object.entries(told)) headers.set(name, value);
  if (found.state === 'gone') throw gone(call, found.change);
}

function gone({ method, path, documentation }: ScheduledCall, change: EndOfOperation): ApiError {
  const { entry, replacement } = change;
  const { status, entry: error } = errorEntry(
    'OPERATION_GONE',
    [
      `${method} ${path} ended on ${entry.date}.`,
      replacement ? ` Use ${replacement.text}` : ' Nothing replaces it',
      successor(change),
      entry.note === undefined ? '.' : `. ${entry.note}`,
    ].join(''),
  );
  return new ApiError(status, [{ ...error, documentation_url: `${documentation}#${entry.id}` }]);
}

function successor(change: EndOfOperation): string {
  const path = successorPath(change);
  const fields = change.replacement?.fields?.join(', ');
  return `${path === undefined ? '' : `: ${path}`}${fields === undefined ? '' : ` (${fields})`}`;
}
