// Runs a revert or merge of the inspector: first without decisions and, if there are conflicts, again with the user's
// decisions. Its commit can be undone.
//
// Invariant: a decision is used only for the conflict that was shown. If the object changes meanwhile, its new
// conflicts are shown.

import { isStorageError } from '@ctx-storage/core/errors';
import type { MergeOptions, StorageConflict, StorageHandle } from '@ctx-storage/core/storage';
import { useState } from 'preact/hooks';
import type { ConflictAnswers } from './conflict-view.tsx';

/**
 * Makes the changes. Without decisions, it fails if there is a conflict. Resolves to the bookmark of the commit, or
 * null.
 */
export type Merge = (onConflict?: MergeOptions['onConflict']) => Promise<string | null>;

/** The conflicts that wait for the user's decisions, and the merge that has them. */
export interface Waiting {
  readonly title: string;
  readonly conflicts: readonly StorageConflict[];
  readonly merge: Merge;
  /** The text that is shown once the merge is done. */
  readonly done: string;
}

/** The result of a merge, and the merge that undoes it. */
export interface Done {
  readonly text: string;
  readonly undo: Merge | null;
}

export interface Merging {
  readonly waiting: Waiting | null;
  readonly done: Done | null;
  /** Runs a merge. `title` is the heading of its conflicts. @throws errors other than conflicts */
  run(title: string, done: string, merge: Merge): Promise<void>;
  /** Runs the waiting merge with the user's decisions. @throws the errors of `run`, and a conflict that remains */
  decide(answers: ConflictAnswers): Promise<void>;
  /** Forgets the waiting conflicts and the last result. */
  clear(): void;
}

export function useMerging(storage: StorageHandle): Merging {
  const [waiting, setWaiting] = useState<Waiting | null>(null);
  const [done, setDone] = useState<Done | null>(null);
  const run = async (title: string, text: string, merge: Merge, answers?: ConflictAnswers) => {
    try {
      const bookmark = await merge(
        answers && ((conflict) => answers.of(conflict) ?? conflictsChanged()),
      );
      setWaiting(null);
      // If all decisions keep the present data, there is no commit.
      setDone(
        bookmark === null
          ? { text: 'Nothing was changed.', undo: null }
          : { text, undo: revertOf(storage, bookmark) },
      );
    } catch (error) {
      if (error instanceof ConflictsChanged) return await run(title, text, merge);
      const conflicts = conflictsOf(error);
      if (conflicts === null) throw error;
      setDone(null);
      setWaiting({ title, conflicts, merge, done: text });
      // The changes were refused although all was decided, for example by a constraint.
      if (answers !== undefined) throw error;
    }
  };
  return {
    waiting,
    done,
    run: (title, text, merge) => run(title, text, merge),
    decide: async (answers) => {
      if (waiting === null) return;
      await run(waiting.title, waiting.done, waiting.merge, answers);
    },
    clear: () => {
      setWaiting(null);
      setDone(null);
    },
  };
}

/**
 * Returns the merge that reverts one commit. With decisions, it merges the difference from the commit back to its
 * predecessor.
 */
export function revertOf(storage: StorageHandle, bookmark: string): Merge {
  return async (onConflict) => {
    if (onConflict === undefined) return await storage.revert(bookmark);
    const [previous] = await storage.history({ before: bookmark, limit: 1 });
    if (previous === undefined) return await storage.revert(bookmark);
    return await storage.merge({ from: bookmark, to: previous.bookmark }, { onConflict });
  };
}

class ConflictsChanged extends Error {}

function conflictsChanged(): never {
  throw new ConflictsChanged('The object has changed since its conflicts were shown.');
}

function conflictsOf(error: unknown): readonly StorageConflict[] | null {
  if (!isStorageError(error) || error.code !== 'CONFLICT') return null;
  const { conflicts } = error as { readonly conflicts?: readonly StorageConflict[] };
  return conflicts ?? null;
}
