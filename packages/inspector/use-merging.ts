// A revert or a merge that the inspector runs: first without decisions, then, if there are conflicts, with those of the
// reader. What was done can be taken back.
//
// Invariant: a decision is used only for the conflict that was shown. If the object changes meanwhile, the conflicts are
// shown again.

import { isStorageError } from '@ctx-storage/core/errors';
import type { MergeOptions, StorageConflict, StorageHandle } from '@ctx-storage/core/storage';
import { useState } from 'preact/hooks';
import type { ConflictAnswers } from './conflict-view.tsx';

/** Makes the changes; without decisions, only if there is no conflict. Resolves to the bookmark of the commit; null: there is none. */
export type Merge = (onConflict?: MergeOptions['onConflict']) => Promise<string | null>;

/** Conflicts that wait for the reader. */
export interface Waiting {
  readonly title: string;
  readonly conflicts: readonly StorageConflict[];
  readonly merge: Merge;
  /** Told once it is done. */
  readonly done: string;
}

/** What was done, and its way back. */
export interface Done {
  readonly text: string;
  readonly undo: Merge | null;
}

export interface Merging {
  readonly waiting: Waiting | null;
  readonly done: Done | null;
  /** Runs a merge. `title` begins the list of its conflicts. @throws errors other than conflicts */
  run(title: string, done: string, merge: Merge): Promise<void>;
  /** Runs the waiting merge with the reader's decisions. @throws as `run` */
  decide(answers: ConflictAnswers): Promise<void>;
  /** Forgets the conflicts and what was done. */
  clear(): void;
}

export function useMerging(storage: StorageHandle): Merging {
  const [waiting, setWaiting] = useState<Waiting | null>(null);
  const [done, setDone] = useState<Done | null>(null);
  const run = async (title: string, text: string, merge: Merge, answers?: ConflictAnswers) => {
    try {
      const bookmark = await merge(answers && ((conflict) => answers.of(conflict) ?? changed()));
      setWaiting(null);
      // Decisions that keep everything make no commit.
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
      // Decided, and still refused: the constraint, for example.
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
 * Takes one commit back. Decided conflicts go the way of a merge: the commit's two states the other way round.
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

function changed(): never {
  throw new ConflictsChanged('The object has changed since its conflicts were shown.');
}

function conflictsOf(error: unknown): readonly StorageConflict[] | null {
  if (!isStorageError(error) || error.code !== 'CONFLICT') return null;
  const { conflicts } = error as { readonly conflicts?: readonly StorageConflict[] };
  return conflicts ?? null;
}
