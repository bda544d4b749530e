// Lets components observe an object that follows an object on a server, for a badge that shows its state.

import {
  type FollowedStatus,
  type FollowState,
  UNKNOWN_FOLLOW_STATE,
} from '@ctx-storage/core/contract';
import type { Observed } from './observed.ts';

export function observeFollowed(source: FollowedStatus): Observed<FollowState> {
  let last = UNKNOWN_FOLLOW_STATE;
  return {
    initial: UNKNOWN_FOLLOW_STATE,
    subscribe(changed) {
      source.addEventListener('change', changed);
      return () => source.removeEventListener('change', changed);
    },
    snapshot() {
      const { state, reason, progress, pending, lastSyncAtMs, refused } = source;
      const isSame =
        last.state === state &&
        last.reason === reason &&
        last.progress === progress &&
        last.pending === pending &&
        last.lastSyncAtMs === lastSyncAtMs &&
        last.refused === refused;
      if (!isSame) last = { state, reason, progress, pending, lastSyncAtMs, refused };
      return last;
    },
  };
}
