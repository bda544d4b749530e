// Declares the types of the undo stack, for `ctx-storage/undo` and for the hook that shows it.

import type { ConflictError } from './changes.ts';
import type { StorageCommit, StorageHandle } from './storage.ts';

/** Options of `undoStack`. */
export interface UndoOptions {
  /**
   * Commits with the same label, each at most this many milliseconds after the one before, are one entry. @default 0:
   * each commit is an entry
   */
  groupMs?: number;
  /** How many entries the stack keeps, from 1 to 10,000; the oldest one is dropped. @default 100 */
  depth?: number;
  /** Returns false for a commit of this tab that must not be undone, such as the commit of a migration. */
  filter?: (commit: StorageCommit) => boolean;
}

/** The state of a stack. It is the same object until something changes. */
export interface UndoState {
  readonly canUndo: boolean;
  readonly canRedo: boolean;
  /** The label of the entry that the next `undo` undoes; null if the entry has no label. */
  readonly undoLabel: string | null;
  readonly redoLabel: string | null;
  /**
   * The reason why the last `undo` or `redo` failed: the entry's data was changed since. The entry stays until a call
   * succeeds, `skip` drops it, or this tab makes a new commit.
   */
  readonly conflict: ConflictError | null;
  /** The reason why the stack is not informed of new commits; null while it is informed. */
  readonly error: unknown;
}

/**
 * Undoes the commits that this tab has made since the stack was made: those of all handles and stubs of the handle's
 * connection. The commits of other tabs stay. Calls of `undo`, `redo` and `group` run one after the other.
 *
 * It fires `change` when `state` has changed. It outlives resets of the object and the worker that leads; it ends with
 * the page. Make only one for each object, because a second one would treat the first one's `undo` as a new commit.
 */
export interface UndoStack extends EventTarget, Omit<UndoState, 'error'> {
  readonly state: UndoState;
  /**
   * Undoes the last entry as one commit, even if it contains calls that are not answered yet. Resolves to false if
   * there was nothing to undo.
   *
   * @throws StorageError `CONFLICT` if its data was changed since: nothing is changed, and the entry stays
   *   (`conflict`); `BOOKMARK_UNAVAILABLE` if its history is gone: all entries are dropped; the other errors of
   *   `revert`: the entry stays
   */
  undo(): Promise<boolean>;
  /**
   * Redoes what the last `undo` has undone, as one commit. Redoing is not possible after a new commit of this tab.
   *
   * @throws as `undo`
   */
  redo(): Promise<boolean>;
  /** Drops the entry that is in `conflict`. Returns false if no entry is. */
  skip(): boolean;
  /**
   * Runs the task with a view of the handle. Its commits, which have the name as their label, are one entry, and so are
   * the calls of classes that this tab makes meanwhile. Resolves or rejects as the task does.
   *
   * @throws StorageError `INVALID_ARGUMENT` for a name that `labelled` refuses
   */
  group<T>(name: string, task: (view: StorageHandle) => T | PromiseLike<T>): Promise<T>;
  /** Drops all entries. */
  clear(): void;
  /** Ends the stack; later calls reject with `CONNECTION_CLOSED`. The handle stays open. */
  close(): void;
  addEventListener(type: 'change', listener: (event: Event) => void): void;
  removeEventListener(type: 'change', listener: (event: Event) => void): void;
}
