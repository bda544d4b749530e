// The hook for an object that follows an object on a server: whether it is connected, and how many calls wait or were
// refused.

import type { FollowedStatus, FollowState } from '@ctx-storage/core/contract';
import { useMemo, useSyncExternalStore } from 'react';
import { observeFollowed } from '../observed/observed-followed.ts';

/** The state of an object: of `followed(stub)` of `ctx-storage/follow`, again after each `change`. */
export function useFollowedState(status: FollowedStatus): FollowState {
  const { subscribe, snapshot, initial } = useMemo(() => observeFollowed(status), [status]);
  return useSyncExternalStore(subscribe, snapshot, () => initial);
}
