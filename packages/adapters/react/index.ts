// The entry `ctx-storage/react`: hooks for live values, edited texts, connections and undo stacks, for React 18 or
// later.
//
// It contains no code of the page's entry, and uses only the interface of that entry's objects.

export type {
  DraftControls,
  DraftOptions,
  DraftState,
  SaveText,
} from '@ctx-storage/core/contract';
export type { ConnectionSnapshot } from '../observed/observed-connection.ts';
export type { UndoControls } from '../observed/observed-undo.ts';
export { useConnectionStatus } from './use-connection-status.ts';
export { useDraft } from './use-draft.ts';
export { useFollowedState } from './use-followed-state.ts';
export { useLive, useLiveValue } from './use-live.ts';
export { useUndo } from './use-undo.ts';
