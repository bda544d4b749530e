// How long a page waits in its search for a leader.

import { HANDLE_WAIT_MS } from '../contract/limits.ts';

/** How long answers of a worker that has stepped down may come after the news of the next one. */
export const LAST_ANSWERS_MS = 1000;

/**
 * How long a page searches for a leader: the time for which a dying worker may keep the files, plus
 * the time to load the worker over a slow network.
 */
export const CONNECT_WAIT_MS = HANDLE_WAIT_MS + 24_000;

/**
 * How long another tab may take to announce that it leads, once this page's own worker has failed.
 */
export const OTHERS_WAIT_MS = 1000;

/** How long a page searches for a leader that was silent last time. */
export const SILENT_WAIT_MS = 1000;

/**
 * How long a page's worker may take to step down for the page's next one: the events that run end within 3 s, and
 * the last flush within 10 s.
 */
export const SUCCESSION_WAIT_MS = 15_000;
