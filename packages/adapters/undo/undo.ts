// The entry `ctx-storage/undo`: undo and redo of the commits that one tab makes, for a handle of any entry.
//
// It contains no code of the page's entry, and uses only the interface of that entry's handles.

import { storageError } from '@ctx-storage/core/errors';
import type { UndoOptions, UndoStack } from '@ctx-storage/core/live';
import { mustBeHandle } from '@ctx-storage/core/live';
import type { StorageHandle } from '@ctx-storage/core/storage';
import { CommitStack } from './undo-stack.ts';

export type { UndoOptions, UndoStack, UndoState } from '@ctx-storage/core/live';

const DEPTH_DEFAULT = 100;
const DEPTH_MAX = 10_000;

/** The pause between two readings of the history, because other tabs may commit often. */
const PAUSE_MS = 100;

/**
 * A stack of the commits that this tab makes on the object from now on: through this handle, other handles of the tab,
 * and calls of the object's methods.
 *
 * @throws StorageError INVALID_ARGUMENT
 */
export function undoStack(storage: StorageHandle, options: UndoOptions = {}): UndoStack {
  const { groupMs = 0, depth = DEPTH_DEFAULT, filter = () => true } = options;
  mustBeHandle('undoStack', storage);
  if (!(groupMs >= 0)) throw invalidOptions(`groupMs is a number from 0, not ${String(groupMs)}`);
  if (!(Number.isInteger(depth) && depth >= 1 && depth <= DEPTH_MAX)) {
    throw invalidOptions(`depth is an integer from 1 to ${DEPTH_MAX}, not ${String(depth)}`);
  }
  if (typeof filter !== 'function') throw invalidOptions('filter is a function');
  const pause = () => new Promise<void>((resolve) => setTimeout(resolve, PAUSE_MS));
  return new CommitStack(storage, { groupMs, depth, filter, pause });
}

function invalidOptions(fact: string): Error {
  return storageError('INVALID_ARGUMENT', `undoStack: ${fact}.`);
}
