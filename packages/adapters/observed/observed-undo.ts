// What an undo stack can do, for the button that shows it, and its functions.

import type { UndoStack, UndoState } from '@ctx-storage/core/live';
import type { Observed } from './observed.ts';

/** The state of a stack, and its functions, which stay the same. */
export interface UndoControls extends UndoState, Pick<UndoStack, 'undo' | 'redo' | 'skip'> {}

/** On a server, and before the page has a stack. */
export const NOTHING: UndoState = {
  canUndo: false,
  canRedo: false,
  undoLabel: null,
  redoLabel: null,
  conflict: null,
  error: null,
};

export function observeUndo(stack: UndoStack | null): Observed<UndoState> {
  return {
    initial: NOTHING,
    subscribe(changed) {
      stack?.addEventListener('change', changed);
      return () => stack?.removeEventListener('change', changed);
    },
    snapshot: () => stack?.state ?? NOTHING,
  };
}

/** The functions of the stack of now; without one, nothing is done. */
export function undoFunctions(
  stack: () => UndoStack | null,
): Pick<UndoStack, 'undo' | 'redo' | 'skip'> {
  return {
    undo: async () => (await stack()?.undo()) ?? false,
    redo: async () => (await stack()?.redo()) ?? false,
    skip: () => stack()?.skip() ?? false,
  };
}
