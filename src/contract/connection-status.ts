// What a page knows of its connection, and of what it has written: enough for an honest badge.

/**
 * - `connecting`: no worker answers yet, or the one that did has gone; the page looks for the next one.
 * - `leading`: connected to this tab's worker, which serves all tabs.
 * - `following`: connected to the worker of another tab.
 * - `lost`: no worker was found, or the handle or connection was closed. Unless it was closed, or site data
 *   was cleared, the next call looks again.
 */
export type ConnectionState = 'connecting' | 'leading' | 'following' | 'lost';

/** The state of a handle or connection; it is live, so read it when it is shown. */
export interface ConnectionStatus {
  readonly state: ConnectionState;
  /** Why it is `connecting` again, or `lost`; null while it is connected, or connects for the first time. */
  readonly stateReason: Error | null;
  /**
   * Calls made through this handle or connection that may write and are not answered yet; an open
   * transaction counts as one. They are durable once they are answered.
   */
  readonly pendingWrites: number;
  /**
   * When everything written through it was durable last, in milliseconds since the epoch; null before the
   * first write. A write with `allowUnconfirmed` does not count until a later write or `sync()` is answered.
   */
  readonly savedAt: number | null;
  /** `statechange`: one of the four has changed. At most one event a turn. */
  addEventListener(type: 'statechange', listener: (event: Event) => void): void;
  removeEventListener(type: 'statechange', listener: (event: Event) => void): void;
}
