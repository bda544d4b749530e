// The two versions of workerd whose answers are compared with those here, and the answers that differ.
//
// Every difference is named in docs/compatibility.md. The lists are exact: an answer that is listed must differ.

import { createRequire } from 'node:module';

/** The path of the newest workerd, the package `workerd-now`. Miniflare's own is older. */
export const NEWEST = createRequire(import.meta.url)('workerd-now').default as string;

/** Of both versions. */
const BOTH: readonly string[] = [
  'platform: an unknown method',
  'platform: a received stream read into a buffer',
  'platform: a remote error of another object',
  'platform: a view in a stream of values',
  'platform: the order after a put',
  // Workerd's own table writes a row; messages here say more.
  'd1: create an index',
  'd1: bind too many',
  'd1: bind too few',
  'd1: a comment',
  'd1: BEGIN, SAVEPOINT, COMMIT',
  'd1: a text that is no statement',
  'd1: exec with empty lines',
  'd1: PRAGMA that is refused',
  'd1: ATTACH',
  // Node 20 has none of these classes.
  ...('SuppressedError' in globalThis ? [] : ['platform: SuppressedError']),
];

/** Of 1.20260730.1 alone. */
const OLDER: readonly string[] = [
  'platform: a remote error',
  'setting an alarm',
  // The name of a type in a message.
  'kv: values of other types',
];

/** Of 1.20261117.1 alone: it deletes facets with their object, and fails at a lone surrogate. */
const NEWER: readonly string[] = ['deleteAll of the object', 'names', 'd1: the kind'];

/** Whether the version that runs answers the question otherwise than this package. */
export function differs(question: string): boolean {
  // Miniflare starts the version that the variable names.
  const isNewest = process.env.MINIFLARE_WORKERD_PATH === NEWEST;
  return BOTH.includes(question) || (isNewest ? NEWER : OLDER).includes(question);
}
