// The entry `ctx-storage/svelte`: live values, connections and undo stacks for Svelte 5.7 or later.
//
// It contains no code of the page's entry, and uses only the interface of that entry's objects.
//
// Invariant: a state is observed while an effect or a template reads it, and never on a server.

import type { UndoStack } from '@ctx-storage/core/live';
import type { ConnectionStatus, Live, LiveState } from '@ctx-storage/core/storage';
import { createSubscriber } from 'svelte/reactivity';
import { type Observed, viewOf } from '../observed/observed.ts';
import { type ConnectionSnapshot, observeConnection } from '../observed/observed-connection.ts';
import { observeLive } from '../observed/observed-live.ts';
import { observeUndo, type UndoControls, undoFunctions } from '../observed/observed-undo.ts';

export type { ConnectionSnapshot } from '../observed/observed-connection.ts';
export type { UndoControls } from '../observed/observed-undo.ts';

/**
 * The state of a live value: `{ status: 'pending' | 'stale' | 'ready' | 'failed', value, error }`, whose members are
 * reactive. In `$derived(useLive(storage.sql.live(query, tag)))` it reads again when `tag` changes. Components with the
 * same read share it.
 *
 * On a server it is `pending`.
 *
 * @throws StorageError INVALID_ARGUMENT
 */
export function useLive<T>(live: Live<T>): LiveState<T> {
  return reactiveView<LiveState<T>>(observeLive('useLive', live));
}

/** The state of a handle of `openStorage` or a connection of `connect`, whose members are reactive. */
export function useConnectionStatus(source: ConnectionStatus): ConnectionSnapshot {
  return reactiveView(observeConnection(source));
}

/**
 * Returns the state of a stack of `ctx-storage/undo`, whose members are reactive, with `undo`, `redo` and `skip`. The
 * stack may be null while the page has none yet; nothing can be undone then.
 */
export function useUndo(stack: UndoStack | null): UndoControls {
  return Object.assign(
    reactiveView(observeUndo(stack)),
    undoFunctions(() => stack),
  );
}

function reactiveView<State extends object>(observed: Observed<State>): State {
  // On a server, the state stays the initial one, with which every page begins.
  if (typeof document === 'undefined') return viewOf(observed.initial, () => observed.initial);
  const subscribe = createSubscriber((changed) => observed.subscribe(changed));
  return viewOf(observed.initial, () => {
    subscribe();
    return observed.snapshot();
  });
}
