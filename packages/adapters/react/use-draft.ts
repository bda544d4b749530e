// The hook for a text field: it gives the user's text, and whether it is stored.

import type { DraftControls, DraftOptions, DraftState, SaveText } from '@ctx-storage/core/contract';
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { FieldDraft } from '../draft/field-draft.ts';

/**
 * The text of a field that is bound to a stored text: `{ text, setText, state: 'saved' | 'saving' | 'conflict', error,
 * theirs, resolve, flush }`, as of `draft` of `ctx-storage/draft`. `value` is the stored text of now, such as a column
 * of `useLive`; the user's letters are never replaced by it before they are saved. They are saved at once when the
 * component goes.
 *
 * Text is saved by the `save` of the render in which it was typed. Give the component the row's id as `key`: another
 * row then begins a text of its own. `delayMs` is that of the first render.
 *
 * @throws StorageError INVALID_ARGUMENT
 */
export function useDraft(
  value: string,
  save: SaveText,
  options?: DraftOptions,
): DraftState & DraftControls {
  const [draft] = useState(() => new FieldDraft('useDraft', value, save, options));
  useEffect(() => {
    draft.save = save;
    draft.setValue(value);
  });
  const { setText, resolve, flush } = draft;
  const state = useSyncExternalStore(draft.subscribe, draft.getState, draft.getState);
  return useMemo(() => ({ ...state, setText, resolve, flush }), [state, setText, resolve, flush]);
}
