// The hook for an honest badge: how a handle or connection is connected, and which of its writes are
// saved.

import { useMemo, useSyncExternalStore } from 'react';
import type { ConnectionStatus } from '../../shared/contract/connection-status.ts';

/** The state that a badge shows. The same object until something changes. */
export type ConnectionSnapshot = Pick<
  ConnectionStatus,
  'state' | 'stateReason' | 'medium' | 'pendingWrites' | 'savedAt' | 'isOutdated' | 'persisted'
>;

/** Before the page has a connection; on a server. */
const UNCONNECTED: ConnectionSnapshot = {
  state: 'connecting',
  stateReason: null,
  medium: null,
  pendingWrites: 0,
  savedAt: null,
  isOutdated: false,
  persisted: 'unknown',
};

/** The state of a handle of `openStorage` or a connection of `connect`, again after each `statechange`. */
export function useConnectionStatus(source: ConnectionStatus): ConnectionSnapshot {
  const { subscribe, snapshot } = useMemo(() => snapshots(source), [source]);
  return useSyncExternalStore(subscribe, snapshot, () => UNCONNECTED);
}

function snapshots(source: ConnectionStatus) {
  let last = UNCONNECTED;
  return {
    subscribe(changed: () => void): () => void {
      source.addEventListener('statechange', changed);
      return () => source.removeEventListener('statechange', changed);
    },
    snapshot(): ConnectionSnapshot {
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
