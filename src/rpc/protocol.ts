// What a page asks of the worker about storage: sessions, and batches of calls in order, each with
// an outcome of its own. The calls themselves are in contract/operations.ts.

import type { Call } from '../contract/operations.ts';
import type { Outcome } from './errors-on-wire.ts';
import type { WireAddress } from './object-protocol.ts';

/** Most calls of one message, so that messages of other tabs get their turn. */
export const BATCH_CALLS_MAX = 512;

/** Most flags of one message. */
export const CANCELS_MAX = 512;

/** One opened handle of one object; the worker counts up. */
export type SessionId = number;

/**
 * The functions for storage that a worker exposes to a page.
 *
 * Every promise settles only after the flush that covers the writes before it (the output gate).
 * For the page, a rejection is an outcome; that of `execute` is the outcome of each of its calls.
 */
export interface StoragePeer extends StorageFunctions {
  /** Runs calls in order; outcomes are parallel to them. */
  execute(session: SessionId, calls: readonly Call[]): Promise<Outcome[]>;
}

/** The same on the side of the worker, where an answer that is there already needs no promise. */
export interface StorageService extends StorageFunctions {
  execute(session: SessionId, calls: readonly Call[]): Outcome[] | Promise<Outcome[]>;
}

interface StorageFunctions {
  /**
   * Opens an object for this client, by its name or as an object of a class; recovers it when it is
   * the first handle on it.
   */
  open(target: string | WireAddress): Promise<Outcome<SessionId>>;
  /**
   * The calls with these flags are not wanted any more. One that has not begun is not made, and the statement
   * that one runs is stopped; both are CANCELLED.
   */
  cancel?(flags: readonly string[]): Promise<void>;
  /** Ends a handle: its cursors are closed, its open transaction is rolled back. */
  close(session: SessionId): Promise<void>;
}
