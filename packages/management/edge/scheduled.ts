// Applies the schedule to one call on its day: adds headers to the answer, or refuses the call.

import { ApiError } from '../call/call.ts';
import { type ErrorName, errorEntry } from '../call/error-codes.ts';
import type { Schedule } from '../schedule/entry.ts';
import { deprecationHeaders, successorPath } from '../schedule/headers.ts';
import { type EndOfOperation, lookup } from '../schedule/lookup.ts';
import { matchPath } from '../schedule/paths.ts';

const SETTINGS = '/zones/:zone_id/settings';

export interface ScheduledCall {
  readonly method: string;
  readonly path: string;
  readonly at: string;
  /** The prefix that the client used before the path, for links to other paths. */
  readonly base: string;
  /** The address of an HTML page with the schedule. */
  readonly documentation: string;
}

/**
 * Adds the deprecation headers for the call.
 *
 * @throws ApiError 410 that names the replacement, if the operation has ended
 */
export function applySchedule(headers: Headers, schedule: Schedule, call: ScheduledCall): void {
  const { method, path, at, base, documentation } = call;
  const found = lookup(method, path, at, { schedule, basePath: '' });
  const deprecation = deprecationHeaders(found, { base, documentation });
  for (const [name, value] of Object.entries(deprecation)) headers.set(name, value);
  if (found.state === 'gone') throw operationGoneError(call, found.change);
}

function operationGoneError(call: ScheduledCall, change: EndOfOperation): ApiError {
  return refusal('OPERATION_GONE', `${call.method} ${call.path}`, call, change);
}

/** Makes the error that says when the operation or setting ended, and what replaces it. */
function refusal(
  name: ErrorName,
  ended: string,
  { documentation }: ScheduledCall,
  change: EndOfOperation,
  pointer?: string,
): ApiError {
  const { entry, replacement } = change;
  const { status, entry: error } = errorEntry(
    name,
    [
      `${ended} ended on ${entry.date}.`,
      replacement ? ` Use ${replacement.text}` : ' Nothing replaces it',
      successor(change),
      entry.note === undefined ? '.' : `. ${entry.note}`,
    ].join(''),
    pointer,
  );
  return new ApiError(status, [{ ...error, documentation_url: `${documentation}#${entry.id}` }]);
}

/**
 * Requires that each setting that the call writes still exists.
 *
 * @throws ApiError 400 that names the replacement of the first setting that has ended
 */
export function requireSettings(schedule: Schedule, call: ScheduledCall, body: unknown): void {
  if (call.method !== 'PATCH' || matchPath(SETTINGS, call.path) === undefined) return;
  const items = (body as { readonly items?: unknown } | null | undefined)?.items;
  if (!Array.isArray(items)) return;
  for (const [index, item] of items.entries()) {
    const id = (item as { readonly id?: unknown } | null)?.id;
    if (typeof id !== 'string' || !/^\w+$/.test(id)) continue;
    const options = { schedule, basePath: '' };
    const found = ['PATCH', 'POST']
      .map((method) => lookup(method, `${call.path}/${id}`, call.at, options))
      .find(({ state }) => state === 'gone');
    if (found?.state !== 'gone') continue;
    throw refusal('FIELD_INVALID', `The setting "${id}"`, call, found.change, `/items/${index}/id`);
  }
}

function successor(change: EndOfOperation): string {
  const path = successorPath(change);
  const fields = change.replacement?.fields?.join(', ');
  return `${path === undefined ? '' : `: ${path}`}${fields === undefined ? '' : ` (${fields})`}`;
}
