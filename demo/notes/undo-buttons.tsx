// Shows the buttons Undo and Redo for the changes that this tab made to notes.

import { useEffect, useState } from 'preact/hooks';
import { undoing } from '../storage.ts';
import type { NoteDraft } from './draft.ts';
import { takeBack } from './notes.ts';

export function UndoButtons({ draft }: { draft: NoteDraft }) {
  const stack = undoing.value;
  const [, setCount] = useState(0);
  useEffect(() => {
    const changed = () => setCount((count) => count + 1);
    stack?.addEventListener('change', changed);
    return () => stack?.removeEventListener('change', changed);
  }, [stack]);
  // Undo is enabled while text is not saved yet, because it saves the text before undoing it.
  const canUndo = stack?.canUndo === true || draft.state.value.state === 'saving';
  return (
    <>
      <button
        type="button"
        class="quiet"
        aria-keyshortcuts="Control+Z"
        disabled={!canUndo}
        onClick={() => void takeBack('undo')}
      >
        Undo
      </button>
      <button
        type="button"
        class="quiet"
        aria-keyshortcuts="Control+Shift+Z"
        disabled={stack?.canRedo !== true}
        onClick={() => void takeBack('redo')}
      >
        Redo
      </button>
    </>
  );
}
