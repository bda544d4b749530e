// Exports the names of live values, the feed of commits and undo stacks that packages may import.

export type { UndoOptions, UndoStack, UndoState } from '../shared/contract/undo.ts';
export {
  type CommitReading,
  followCommits,
  mustBeHandle,
  readAfterCommits,
} from '../shared/live/every-commit.ts';
export { type LiveSource, LiveValue } from '../shared/live/live-value.ts';
