// The hook for an undo button: what an undo stack can do, and its functions.

import { useMemo, useSyncExternalStore } from 'react';
import type { UndoStack, UndoState } from '../../shared/contract/undo.ts';

/** The state of a stack, and its functions, which are the same in each render. */
export interface UndoControls extends UndoState, Pick<UndoStack, 'undo' | 'redo' | 'skip'> {}

/** On a server, and before the page has a stack. */
const NOTHING: UndoState = {
  canUndo: false,
  canRedo: false,
  undoLabel: null,
  redoLabel: null,
  conflict: null,
  error: null,
};

/**
 * The state of a stack of `ctx-storage/undo`, again after each change, with `undo`, `redo` and `skip`. Null: the page
 * has none yet; nothing can be undone then.
 */
export function useUndo(stack: UndoStack | null): UndoControls {
  const { subscribe, snapshot, controls } = useMemo(() => parts(stack), [stack]);
  const state = useSyncExternalStore(subscribe, snapshot, () => NOTHING);
  return useMemo(() => ({ ...state, ...controls }), [state, controls]);
}

function parts(stack: UndoStack | null) {
  return {
    subscribe(changed: () => void): () => void {
      stack?.addEventListener('change', changed);
      return () => stack?.removeEventListener('change', changed);
    },
    snapshot: (): UndoState => stack?.state ?? NOTHING,
    controls: {
      undo: async () => (await stack?.undo()) ?? false,
      redo: async () => (await stack?.redo()) ?? false,
      skip: () => stack?.skip() ?? false,
    },
  };
}
