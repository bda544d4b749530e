// Lets components observe an undo stack, for buttons that show and call it.

import type { UndoStack, UndoState } from '@ctx-storage/core/live';
import type { Observed } from './observed.ts';

/** The state of an undo stack, with its functions, which stay the same objects. */
export interface UndoControls extends UndoState, Pick<UndoStack, 'undo' | 'redo' | 'skip'> {}

/** The state on a server, and before the page has a stack. */
export const NO_UNDO_STATE: UndoState = {
  canUndo: false,
  canRedo: false,
  undoLabel: null,
  redoLabel: null,
  conflict: null,
  error: null,
};

export function observeUndo(stack: UndoStack | null): Observed<UndoState> {
  return {
    initial: NO_UNDO_STATE,
    subscribe(changed) {
      stack?.addEventListener('change', changed);
      return () => stack?.removeEventListener('change', changed);
    },
    snapshot: () => stack?.state ?? NO_UNDO_STATE,
  };
}

/** Returns functions that call the present stack, and do nothing while there is none. */
export function undoFunctions(
  stack: () => UndoStack | null,
): Pick<UndoStack, 'undo' | 'redo' | 'skip'> {
  return {
    undo: async () => (await stack()?.undo()) ?? false,
    redo: async () => (await stack()?.redo()) ?? false,
    skip: () => stack()?.skip() ?? false,
  };
}
