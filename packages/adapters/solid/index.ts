// The entry `ctx-storage/solid`: live values, connections and undo stacks for Solid 1.8 or later.
//
// It contains no code of the page's entry, and uses only the interface of that entry's objects.
//
// Invariant: a state is observed while the Solid owner that asked for it exists, and never on a server, where Solid
// runs no effects.

import type { UndoStack } from '@ctx-storage/core/live';
import type { ConnectionStatus, Live, LiveState } from '@ctx-storage/core/storage';
import { type Accessor, createEffect, createSignal, onCleanup } from 'solid-js';
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
 * reactive. `useLive(() => storage.sql.live(query, tag()))` reads again when a signal that it uses changes. Components
 * with the same read share it.
 *
 * On a server it is `pending`.
 *
 * @throws StorageError INVALID_ARGUMENT, in an effect
 */
export function useLive<T>(live: Accessor<Live<T>> | Live<T>): LiveState<T> {
  return useObserved<LiveState<T>>(PENDING, () => observeLive('useLive', unwrap(live)));
}

/** The state of a handle of `openStorage` or a connection of `connect`, whose members are reactive. */
export function useConnectionStatus(
  source: Accessor<ConnectionStatus> | ConnectionStatus,
): ConnectionSnapshot {
  return useObserved(UNCONNECTED, () => observeConnection(unwrap(source)));
}

/**
 * Returns the state of a stack of `ctx-storage/undo`, whose members are reactive, with `undo`, `redo` and `skip`. The
 * stack may be null while the page has none yet; nothing can be undone then.
 */
export function useUndo(stack: Accessor<UndoStack | null> | UndoStack | null): UndoControls {
  const state = useObserved(NO_UNDO_STATE, () => observeUndo(unwrap(stack)));
  return Object.assign(
    state,
    undoFunctions(() => unwrap(stack)),
  );
}

/** Returns a value, or the result of a function. No live value, handle, connection or stack is a function. */
function unwrap<T extends object | null>(value: Accessor<T> | T): T {
  return typeof value === 'function' ? value() : value;
}

function useObserved<State extends object>(initial: State, observe: () => Observed<State>): State {
  const [state, setState] = createSignal(initial);
  createEffect(() => {
    const observed = observe();
    const update = () => void setState(() => observed.snapshot());
    onCleanup(observed.subscribe(update));
    update();
  });
  return viewOf(initial, state);
}
