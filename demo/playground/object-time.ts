// Reads the history of one object: its commits, its state now and at a commit; and undoes commits or restores a state.
//
// Invariant: all results are plain data of bounded length, so that they are the same whether the object runs in this
// origin or in a sandbox, whose worker has an ObjectTime of its own.

import { compare } from '../../packages/inspector/compared.ts';
import {
  type ConflictError,
  isStorageError,
  type StorageChange,
  type StorageCommit,
  type StorageHandle,
} from '../../src/index.ts';
import { readAfterCommits } from '../../src/shared/live/every-commit.ts';
import { LETTERS, shortened } from './calls.ts';
import { type Differences, differencesOf, readState, type State } from './state.ts';

/** How many of the newest commits are read. */
export const COMMITS_MAX = 200;
/** How long to wait after each reading, so that a busy object is not read all the time. */
const PAUSE_MS = 200;

export interface Commit {
  readonly bookmark: string;
  readonly timeMs: number;
  readonly isRestore: boolean;
  /** The author of the commit, in a word or two. */
  readonly label: string;
}

export interface Reading {
  /** The commits, the oldest first. */
  readonly commits: readonly Commit[];
  readonly state: State;
}

/** The state at a commit, and the differences between it and the state now. */
export interface Past {
  readonly state: State;
  readonly differences: Differences;
}

export interface ObjectTime {
  /** Calls `hear` with a reading now and after every commit, until the returned function is called. */
  follow(hear: (reading: Reading) => void, onError: (error: unknown) => void): () => void;
  at(bookmark: string): Promise<Past>;
  /** Restores the object's state at the bookmark. Resolves to a bookmark that undoes the restore. */
  restore(bookmark: string): Promise<string>;
  /** Undoes one commit. Resolves to the bookmark of the commit that did it; null if nothing was left to undo. */
  revert(bookmark: string): Promise<string | null>;
}

/** Returns the history of the object of a storage handle. */
export function timeOf(storage: StorageHandle): ObjectTime {
  return {
    follow: (hear, onError) =>
      readAfterCommits(storage, {
        async read(isOver) {
          const [found, state] = await Promise.all([
            storage.history({ limit: COMMITS_MAX }),
            readState(storage),
          ]);
          if (!isOver()) hear({ commits: found.reverse().map(commitOf), state });
        },
        onError,
        pause: () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS)),
      }),
    async at(bookmark) {
      const moment = await storage.at(bookmark);
      try {
        const differing = compare(storage.diff(bookmark), () => false);
        const [state, compared] = await Promise.all([readState(moment), differing]);
        return { state, differences: differencesOf(compared) };
      } finally {
        await moment.close();
      }
    },
    restore: (bookmark) => storage.restore(bookmark),
    async revert(bookmark) {
      try {
        return await storage.revert(bookmark);
      } catch (error) {
        throw toldConflict(error);
      }
    },
  };
}

/** Rewrites the error of a commit that cannot be undone in terms of the keys and rows that the visitor sees. */
function toldConflict(error: unknown): unknown {
  if (!isStorageError(error) || error.code !== 'CONFLICT') return error;
  const [first] = (error as Partial<ConflictError>).conflicts ?? [];
  if (first?.reason !== 'changed') return error;
  const name = shortened(nameOf(first.change), LETTERS.word);
  const told = new Error(`${name} was changed later. Nothing was changed.`);
  return Object.assign(told, { code: error.code });
}

function nameOf(change: StorageChange): string {
  switch (change.kind) {
    case 'row':
      return Object.values(change.key)
        .map((value) => `"${value}"`)
        .join(', ');
    case 'key':
      return `"${change.key}"`;
    case 'alarm':
      return 'the alarm';
    case 'schema':
      return `the ${change.type} "${change.name}"`;
    case 'table':
      return `the table "${change.table}"`;
  }
}

const KINDS: Readonly<Record<string, string>> = {
  constructor: 'start',
  storage: 'from the page',
  restore: 'went back',
  revert: 'undone',
};

function commitOf(commit: StorageCommit): Commit {
  const { bookmark, time, isRestore } = commit;
  const label = shortened(labelOf(commit), LETTERS.word);
  return { bookmark, timeMs: time.getTime(), isRestore, label };
}

function labelOf({ by, isRestore }: StorageCommit): string {
  if (isRestore) return KINDS.restore!;
  if (by === undefined) return 'internal';
  if (by.label !== undefined) return by.label;
  return by.method === undefined ? (KINDS[by.kind] ?? by.kind) : `${by.method}()`;
}
