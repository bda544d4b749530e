// The hook for undo buttons: it gives the state of an undo stack, and its functions.

import type { UndoStack } from '@ctx-storage/core/live';
import { useMemo, useSyncExternalStore } from 'react';
import { observeUndo, type UndoControls, undoFunctions } from '../observed/observed-undo.ts';

/**
 * Returns the state of a stack of `ctx-storage/undo`, with `undo`, `redo` and `skip`, and renders again after each
 * change. The stack may be null while the page has none yet; nothing can be undone then.
 */
export function useUndo(stack: UndoStack | null): UndoControls {
  const { observed, functions } = useMemo(
    () => ({ observed: observeUndo(stack), functions: undoFunctions(() => stack) }),
    [stack],
  );
  const { subscribe, snapshot, initial } = observed;
  const state = useSyncExternalStore(subscribe, snapshot, () => initial);
  return useMemo(() => ({ ...state, ...functions }), [state, functions]);
}
