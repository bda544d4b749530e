// Lets components observe the state of a handle or connection, for a badge that shows it.

import type { ConnectionStatus } from '@ctx-storage/core/storage';
import type { Observed } from './observed.ts';

/** The state that a badge shows. It stays the same object until a member changes. */
export type ConnectionSnapshot = Pick<
  ConnectionStatus,
  'state' | 'stateReason' | 'medium' | 'pendingWrites' | 'savedAt' | 'isOutdated' | 'persisted'
>;

/** The state on a server, and before the page has a connection. */
export const UNCONNECTED: ConnectionSnapshot = {
  state: 'connecting',
  stateReason: null,
  medium: null,
  pendingWrites: 0,
  savedAt: null,
  isOutdated: false,
  persisted: 'unknown',
};

export function observeConnection(source: ConnectionStatus): Observed<ConnectionSnapshot> {
  let last = UNCONNECTED;
  return {
    initial: UNCONNECTED,
    subscribe(changed) {
      source.addEventListener('statechange', changed);
      return () => source.removeEventListener('statechange', changed);
    },
    snapshot() {
      const { state, stateReason, medium, pendingWrites, savedAt, isOutdated, persisted } = source;
      const isSame =
        last.state === state &&
        last.stateReason === stateReason &&
        last.medium === medium &&
        last.pendingWrites === pendingWrites &&
        last.savedAt === savedAt &&
        last.isOutdated === isOutdated &&
        last.persisted === persisted;
      if (!isSame)
        last = { state, stateReason, medium, pendingWrites, savedAt, isOutdated, persisted };
      return last;
    },
  };
}
