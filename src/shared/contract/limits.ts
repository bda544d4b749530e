// The limits and delays of objects, of their storage and their alarms, with their units and sources.
//
// "Interface" below is the written interface of a stateful object's storage; where it is silent the
// number is workerd's limit, or our own choice with its reason.
//
// A limit of one mechanism is beside its code, because nothing else uses it: of messages in `src/shared/wire`, of
// arguments in `arguments.ts`, of calls and sockets in `src/shared/calls` and `worker/objects/sockets`, of statements
// in `worker/engine/sql/query-limits.ts`.

/** Longest key, in bytes of UTF-8 (interface, "Limits"). */
export const KEY_BYTES_MAX = 2048;

/** Largest stored value, in bytes of its serialized form (interface, "Limits": 128 KiB). */
export const VALUE_BYTES_MAX = 131_072;

/**
 * Most bytes of a stored value in addition to its content, for a string or buffer, where only the
 * content counts: header, padding, tags, lengths and a view take at most 22; rounded up.
 */
export const VALUE_FRAME_BYTES_MAX = 32;

/**
 * Largest value that can be read; an imported database may contain one (workerd documents 2 MB).
 */
export const READ_VALUE_BYTES_MAX = 2 * 1024 * 1024;

/**
 * Most elements of Maps and Sets in a value that is larger than any written here: with keys chosen
 * to collide, this many take a second.
 */
export const READ_ELEMENTS_MAX = 8192;

/** Longest text of one `exec`, in bytes of UTF-8 (workerd). */
export const SQL_BYTES_MAX = 100_000;

/** Most keys of one `get`, `delete` or `put(entries)` (interface, "Limits"). */
export const KEYS_PER_CALL_MAX = 128;

/** How far back point-in-time recovery reaches, in days (interface, "Limits"). */
export const RECOVERY_WINDOW_DAYS = 30;

/**
 * Bytes of history that every object may keep unless it is told (our choice): 6,500 saves of a text of 20 kB, or half a
 * million small writes, so the days decide for most apps, and a phone's disk is safe from the others.
 */
export const HISTORY_BYTES = 256 * 1024 * 1024;

/** Most commits that one call of `history` lists, and how many it lists unless it is told. */
export const HISTORY_COMMITS_MAX = 1000;
export const HISTORY_COMMITS_DEFAULT = 100;

/** Most commits that one call takes back together. */
export const REVERTED_COMMITS_MAX = 1000;

/** Latest alarm time, in milliseconds: workerd keeps nanoseconds in a signed 64-bit integer. */
export const ALARM_TIME_MS_MAX = 9_223_372_036_854;

/** Longest a `transaction` of a page or a `blockConcurrencyWhile` may hold an object (workerd). */
export const CRITICAL_SECTION_MS_MAX = 30_000;

/** Longest run of an alarm handler (workerd). */
export const ALARM_MS_MAX = 15 * 60_000;

/** How often an alarm whose handler fails is retried at most; after the last retry, the alarm is deleted (workerd). */
export const ALARM_RETRIES_MAX = 6;

/** Delay before the first retry of an alarm; each further retry doubles it (workerd). */
export const ALARM_RETRY_MS = 2000;

/** The largest random addition to the delay of a retry, as a part of the delay (workerd). */
export const ALARM_RETRY_JITTER = 0.25;

/** How often the delay doubles at most: up to 2 s × 2⁹, which is 17 minutes (workerd). */
export const ALARM_RETRY_DOUBLINGS_MAX = 9;

/** Deepest nesting of critical sections (workerd). */
export const CRITICAL_SECTION_DEPTH_MAX = 64;

/**
 * How long opening an object waits for a dying worker to release its file handles. Browsers kill a
 * worker that is busy in WebAssembly only after about 2 s, and it keeps its handles until then (2.6
 * s measured); the limit is twice that.
 */
export const HANDLE_WAIT_MS = 6000;

/** Longest name, in UTF-8 bytes, that is available as `id.name` (workerd). */
export const OBJECT_NAME_BYTES_MAX = 1024;

/** Most bytes of a facet's name in UTF-8 (workerd's). */
export const FACET_NAME_BYTES_MAX = 256;

/** How deeply facets nest, the object itself included (workerd's). */
export const FACET_DEPTH_MAX = 4;

/** Most objects in one message of a list of them: each one is measured when it is listed. */
export const LISTED_OBJECTS_MAX = 250;

/** How deeply branches nest: a branch of a branch of an object is the second. */
export const BRANCH_DEPTH_MAX = 8;

/** Most branches of one object that are kept. */
export const KEPT_BRANCHES_MAX = 64;

/** Most bytes of a label in UTF-8. */
export const LABEL_BYTES_MAX = 256;

/** Most bytes in UTF-8 that the log keeps of a method's name. */
export const METHOD_BYTES_MAX = 128;

/** Most bytes of a branch's name in UTF-8. */
export const BRANCH_NAME_BYTES_MAX = 256;
