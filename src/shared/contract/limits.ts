// Defines the limits and delays of objects, of their storage and their alarms, with their units and sources.
//
// "Interface" below is the written interface of a stateful object's storage; where it is silent the
// number is workerd's limit, or our own choice with its reason.
//
// A limit of one mechanism is beside its code, because nothing else uses it: of messages in `src/shared/wire`, of
// arguments in `arguments.ts`, of calls and sockets in `src/shared/calls` and `worker/objects/sockets`, of statements
// in `worker/engine/sql/query-limits.ts`.

/** How many bytes of UTF-8 a key may have (interface, "Limits"). */
export const KEY_BYTES_MAX = 2048;

/** How many bytes the serialized form of a stored value may have (interface, "Limits": 128 KiB). */
export const VALUE_BYTES_MAX = 131_072;

/**
 * How many bytes a stored string or buffer may have in addition to its content, because only the content counts.
 * Header, padding, tags, lengths and a view take at most 22, which is rounded up.
 */
export const VALUE_FRAME_BYTES_MAX = 32;

/**
 * How many bytes a value may have to be read. It is more than can be written, because an imported database may contain
 * larger values (workerd documents 2 MB).
 */
export const READ_VALUE_BYTES_MAX = 2 * 1024 * 1024;

/**
 * How many elements Maps and Sets may have in a value that is larger than any value written here. With keys that are
 * chosen to collide, reading this many elements takes a second.
 */
export const READ_ELEMENTS_MAX = 8192;

/** How many bytes of UTF-8 the text of one `exec` may have (workerd). */
export const SQL_BYTES_MAX = 100_000;

/** How many keys one `get`, `delete` or `put(entries)` may have (interface, "Limits"). */
export const KEYS_PER_CALL_MAX = 128;

/** How far back point-in-time recovery reaches, in days (interface, "Limits"). */
export const RECOVERY_WINDOW_DAYS = 30;

/**
 * How many bytes of history an object keeps by default (our choice): 6,500 saves of a text of 20 kB, or half a million
 * small writes. For most apps the limit of days decides, and this limit protects a phone's disk from the other apps.
 */
export const HISTORY_BYTES = 256 * 1024 * 1024;

/** How many commits one call of `history` lists at most, and by default. */
export const HISTORY_COMMITS_MAX = 1000;
export const HISTORY_COMMITS_DEFAULT = 100;

/** How many commits one call of `revert` may undo together. */
export const REVERTED_COMMITS_MAX = 1000;

/** How many conflicts of a `revert` or `merge` its error lists. */
export const LISTED_CONFLICTS_MAX = 100;

/** The latest time of an alarm in milliseconds. Workerd stores nanoseconds in a signed 64-bit integer. */
export const ALARM_TIME_MS_MAX = 9_223_372_036_854;

/** How long a `transaction` of a page or a `blockConcurrencyWhile` may block an object (workerd). */
export const CRITICAL_SECTION_MS_MAX = 30_000;

/** How long an alarm handler may run (workerd). */
export const ALARM_MS_MAX = 15 * 60_000;

/** How often an alarm whose handler fails is retried at most; after the last retry, the alarm is deleted (workerd). */
export const ALARM_RETRIES_MAX = 6;

/** The delay before the first retry of an alarm. Each further retry doubles it (workerd). */
export const ALARM_RETRY_MS = 2000;

/** The largest random addition to the delay of a retry, as a part of the delay (workerd). */
export const ALARM_RETRY_JITTER = 0.25;

/** How often the delay doubles at most: up to 2 s × 2⁹, which is 17 minutes (workerd). */
export const ALARM_RETRY_DOUBLINGS_MAX = 9;

/** How deeply critical sections may nest (workerd). */
export const CRITICAL_SECTION_DEPTH_MAX = 64;

/**
 * How long opening an object waits for a dying worker to release its file handles. Browsers kill a
 * worker that is busy in WebAssembly only after about 2 s, and it keeps its handles until then (2.6
 * s measured); the limit is twice that.
 */
export const HANDLE_WAIT_MS = 6000;

/** How many bytes of UTF-8 a name may have to be available as `id.name` (workerd). */
export const OBJECT_NAME_BYTES_MAX = 1024;

/** How many bytes of UTF-8 the name of a facet may have (workerd). */
export const FACET_NAME_BYTES_MAX = 256;

/** How deeply facets may nest, counting the object itself (workerd). */
export const FACET_DEPTH_MAX = 4;

/** How many objects one message of a list has at most, because listing an object measures its size. */
export const LISTED_OBJECTS_MAX = 250;

/** How deeply branches may nest. A branch of a branch of an object has depth two. */
export const BRANCH_DEPTH_MAX = 8;

/** How many kept branches one object may have. */
export const KEPT_BRANCHES_MAX = 64;

/** How many bytes of UTF-8 a label may have. */
export const LABEL_BYTES_MAX = 256;

/** How many bytes of UTF-8 the log stores of a method's name. */
export const METHOD_BYTES_MAX = 128;

/** How many bytes of UTF-8 the name of a branch may have. */
export const BRANCH_NAME_BYTES_MAX = 256;
