// The two versions of workerd whose answers are compared with those here, and the answers that differ.
//
// Every difference is named in docs/compatibility.md. The lists are exact: an answer that is listed must differ.

import { createRequire } from 'node:module';

/** The path of the newest workerd, the package `workerd-now`. Miniflare's own is older. */
export const NEWEST = createRequire(import.meta.url)('workerd-now').default as string;

/** The differences of both versions of workerd. */
const BOTH: readonly string[] = [
  'platform: an unknown method',
  'platform: a received stream read into a buffer',
  'platform: a remote error of another object',
  'platform: a view in a stream of values',
  'platform: the order after a put',
  // Words instead of a number of an error.
  'queues: the words of a limit',
  'queues: a body without json',
  'queues: a view after it was sent',
  'queues: a queue that nobody consumes',
  'queues: a clone of a batch',
  // Miniflare delivers acknowledged messages again.
  'queues: an ack before a throw',
  'queues: ackAll before a throw',
  'queues: an ack before retryAll',
  // A bucket and its objects are copied, as far as they can be.
  'r2: a bucket and an object as values',
  // Workerd's own table writes a row; messages here say more.
  'd1: create an index',
  // Columns of workerd's own table, which nobody may read, are not asked for where there is no such table.
  'd1 libraries: names and columns of all tables',
  'd1: bind too many',
  'd1: bind too few',
  'd1: BEGIN, SAVEPOINT, COMMIT',
  'd1: a text that is no statement',
  'd1: PRAGMA that is refused',
  'd1: ATTACH',
  // Getters are of the class; messages say more, or other words; the reader gets what was thrown, and a body's error.
  'html: members that are visible',
  'html: errors: a text that is thrown',
  'html: errors: of the body',
  'html: responses: the length',
  'html: limits: a tag of 4 MB in parts',
  'html: parsing: a select with a style',
  'html: parsing: a select with a title',
  'html: parsing: a select with a template',
  'html: parsing: a frameset with a style',
  // Node 20 has none of these classes.
  ...('SuppressedError' in globalThis ? [] : ['platform: SuppressedError']),
];

/** The differences of 1.20260730.1 alone. */
const OLDER: readonly string[] = [
  'platform: a remote error',
  'calls: retries of get',
  'calls: other values as retries of get',
  'setting an alarm',
  // The name of a type in a message.
  'kv: values of other types',
  'r2: calls with too few arguments',
  'r2: kinds of parts',
  'r2: values of other types',
];

/** The differences of 1.20260730.1 alone, about `HTMLRewriter`. */
const OLDER_HTML = [
  'attributes: writing',
  'comments: each call',
  'parsing: foreign elements',
  'parsing: foreign elements that are left',
  'parsing: foreign annotations',
  'parsing: each document byte by byte',
  'selector: [TITLE]',
  'selector: [id^=""]',
  'selector: [id$=""]',
  'selector: :not(:not(p))',
  'selector: :not(:not(p.a))',
  'selector: p:not(:not(.a):not(.b))',
  'selector: an empty class',
  'refused: :not(p > b)',
  'refused: :not(p b)',
].map((question) => `html: ${question}`);

/**
 * The differences of 1.20261117.1 alone: it deletes facets with their object, fails at a lone surrogate, hides a
 * stream's error, and has private fields in the objects of D1, which a proxy does not reach.
 */
const NEWER: readonly string[] = [
  'deleteAll of the object',
  'names',
  'd1: the kind',
  'd1: through proxies',
  'd1: through objects that inherit',
  'r2: a stream that fails',
  // The name of a type in a message.
  'html: content: other values',
];

/** Whether the version that runs answers the question otherwise than this package. */
export function differs(question: string): boolean {
  // Miniflare starts the version that the variable names.
  const isNewest = process.env.MINIFLARE_WORKERD_PATH === NEWEST;
  return (
    BOTH.includes(question) || (isNewest ? NEWER : [...OLDER, ...OLDER_HTML]).includes(question)
  );
}
