// The entry `ctx-storage/draft`: the text of a field that is bound to a stored text, and is saved while the user types.
//
// It contains no code of the page's entry, and reads no storage: the app gives it the stored text, and a function that
// saves.

import type { DraftOptions, SaveText, TextDraft } from '@ctx-storage/core/contract';
import { FieldDraft } from './field-draft.ts';

export type {
  DraftControls,
  DraftOptions,
  DraftState,
  SaveText,
  TextDraft,
} from '@ctx-storage/core/contract';

/**
 * A draft of a stored text. `save` is called with the text, one call at a time, and the last text wins. The user's
 * letters are never replaced before they are saved.
 *
 * @throws StorageError INVALID_ARGUMENT
 */
export function draft(value: string, save: SaveText, options?: DraftOptions): TextDraft {
  return new FieldDraft('draft', value, save, options);
}
