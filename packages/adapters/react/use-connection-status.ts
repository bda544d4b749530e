// The hook for a badge that shows how a handle or connection is connected, and whether its writes are saved.

import type { ConnectionStatus } from '@ctx-storage/core/storage';
import { useMemo, useSyncExternalStore } from 'react';
import { type ConnectionSnapshot, observeConnection } from '../observed/observed-connection.ts';

/** The state of a handle of `openStorage` or a connection of `connect`, again after each `statechange`. */
export function useConnectionStatus(source: ConnectionStatus): ConnectionSnapshot {
  const { subscribe, snapshot, initial } = useMemo(() => observeConnection(source), [source]);
  return useSyncExternalStore(subscribe, snapshot, () => initial);
}
