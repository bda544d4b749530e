// The entry `ctx-storage/vue`: composables for live values, connections and undo stacks, for Vue 3.3 or later.
//
// It contains no code of the page's entry, and uses only the interface of that entry's objects.
//
// Invariant: a state is observed while the Vue scope that asked for it is active, and never on a server.

import type { UndoStack } from '@ctx-storage/core/live';
import type { ConnectionStatus, Live, LiveState } from '@ctx-storage/core/storage';
import { type MaybeRefOrGetter, shallowRef, toValue, watchEffect } from 'vue';
import { type Observed, viewOf } from '../observed/observed.ts';
import {
  type ConnectionSnapshot,
  observeConnection,
  UNCONNECTED,
} from '../observed/observed-connection.ts';
import { observeLive, PENDING } from '../observed/observed-live.ts';
import {
  NO_UNDO_STATE,
  observeUndo,
  type UndoControls,
  undoFunctions,
} from '../observed/observed-undo.ts';

export type { ConnectionSnapshot } from '../observed/observed-connection.ts';
export type { UndoControls } from '../observed/observed-undo.ts';

/**
 * The state of a live value: `{ status: 'pending' | 'stale' | 'ready' | 'failed', value, error }`, whose members are
 * reactive. Give a function, `useLive(() => storage.sql.live(query, tag.value))`: it reads again when a value that it
 * uses changes. Components with the same read share it.
 *
 * On a server it is `pending`.
 *
 * @throws StorageError INVALID_ARGUMENT
 */
export function useLive<T>(live: MaybeRefOrGetter<Live<T>>): LiveState<T> {
  return useObserved<LiveState<T>>(PENDING, () => observeLive('useLive', toValue(live)));
}

/** The state of a handle of `openStorage` or a connection of `connect`, whose members are reactive. */
export function useConnectionStatus(
  source: MaybeRefOrGetter<ConnectionStatus>,
): ConnectionSnapshot {
  return useObserved(UNCONNECTED, () => observeConnection(toValue(source)));
}

/**
 * Returns the state of a stack of `ctx-storage/undo`, whose members are reactive, with `undo`, `redo` and `skip`. The
 * stack may be null while the page has none yet; nothing can be undone then.
 */
export function useUndo(stack: MaybeRefOrGetter<UndoStack | null>): UndoControls {
  const state = useObserved(NO_UNDO_STATE, () => observeUndo(toValue(stack)));
  return Object.assign(
    state,
    undoFunctions(() => toValue(stack)),
  );
}

function useObserved<State extends object>(initial: State, observe: () => Observed<State>): State {
  const state = shallowRef(initial);
  if (typeof document !== 'undefined') {
    watchEffect((onCleanup) => {
      const observed = observe();
      const update = () => {
        state.value = observed.snapshot();
      };
      onCleanup(observed.subscribe(update));
      update();
    });
  }
  return viewOf(initial, () => state.value);
}
