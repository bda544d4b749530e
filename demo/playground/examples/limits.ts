// A second file: the limiter imports it.
export const BUCKET_SIZE = 5;

/** One token comes back after this many milliseconds. */
export const REFILL_MS = 2000;
