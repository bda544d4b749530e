// The undo stack as types: of `ctx-storage/undo`, and of the hook that shows it.

import type { ConflictError } from './changes.ts';
import type { StorageCommit, StorageHandle } from './storage.ts';

/** Options of `undoStack`. */
export interface UndoOptions {
  /**
   * Commits with the same label, each at most so many milliseconds after the one before, are one entry. @default 0:
   * each commit is an entry
   */
  groupMs?: number;
  /** Most entries that can be undone, from 1 to 10,000; the oldest is forgotten. @default 100 */
  depth?: number;
  /** False for a commit of this tab that is not to be undone, such as that of a migration. */
  filter?: (commit: StorageCommit) => boolean;
}

/** What a stack can do now. The same object until something changes. */
export interface UndoState {
  readonly canUndo: boolean;
  readonly canRedo: boolean;
  /** The label of the entry that `undo` takes back; null without one. */
  readonly undoLabel: string | null;
  readonly redoLabel: string | null;
  /**
   * Why the entry on top was not taken back or made again: its data was changed since. The entry stays until a call
   * succeeds, `skip` or a new commit of this tab.
   */
  readonly conflict: ConflictError | null;
  /** Why new commits are not heard of; null once they are again. */
  readonly error: unknown;
}

/**
 * The commits that this tab has made since the stack was: over the connection of the handle, by any of its handles and
 * by calls of its stubs. The commits of other tabs stay. Calls of `undo`, `redo` and `group` run one after the other.
 *
 * It fires `change` when `state` has changed. It outlives resets of the object and the worker that leads; it ends with
 * the page. Have one for an object: another one takes the first one's `undo` for a commit like any other.
 */
export interface UndoStack extends EventTarget, Omit<UndoState, 'error'> {
  readonly state: UndoState;
  /**
   * Takes the last entry back, as one commit: also commits whose calls were made before and are not answered yet.
   * False: there was nothing to take back.
   *
   * @throws StorageError `CONFLICT` if its data was changed since: nothing is changed, and the entry stays
   *   (`conflict`); `BOOKMARK_UNAVAILABLE` if its history is gone: all entries are forgotten; the other errors of
   *   `revert`: the entry stays
   */
  undo(): Promise<boolean>;
  /** Makes the changes of the last `undo` again, as one commit. A new commit of this tab ends this. @throws as `undo` */
  redo(): Promise<boolean>;
  /** Forgets the entry that is in `conflict`. False: none is. */
  skip(): boolean;
  /**
   * Runs the task with a view of the handle. Its commits, which have the name as their label, are one entry, and so are
   * the calls of classes that this tab makes meanwhile. Resolves or rejects as the task does.
   *
   * @throws StorageError `INVALID_ARGUMENT` for a name that `labelled` refuses
   */
  group<T>(name: string, task: (view: StorageHandle) => T | PromiseLike<T>): Promise<T>;
  /** Forgets all entries. */
  clear(): void;
  /** Ends the stack; later calls reject with `CONNECTION_CLOSED`. The handle stays open. */
  close(): void;
  addEventListener(type: 'change', listener: (event: Event) => void): void;
  removeEventListener(type: 'change', listener: (event: Event) => void): void;
}
