// The past of the called object: its commits, its state now, and beside it the state at a chosen moment.
//
// Invariant: a reading of an object that is no longer called, or of a moment that is no longer chosen, changes nothing.

import { computed, effect, signal } from '@preact/signals';
import type { RemoteStorage, StorageCommit } from '../../src/index.ts';
import { compare } from '../../src/tools/inspector/compared.ts';
import { useCommits } from '../../src/tools/inspector/use-commits.ts';
import { type Problem, problemOf } from '../ui/problem.ts';
import { exists, log, moment, refresh, runner, target } from './session.ts';
import { type Differences, differencesOf, readState, type State } from './state.ts';

/** How many commits the bar has: the newest ones. */
const COMMITS_MAX = 200;
/** While the slider moves, no moment is opened. */
const SETTLE_MS = 100;

/** The state at the chosen moment, and what differs from it now. */
export interface Earlier {
  readonly commit: StorageCommit;
  readonly state: State;
  readonly differences: Differences;
}

/** What the bar did last, and its way back. */
export interface Told {
  /** The commit that it was done to, as it is labelled; empty: the whole object. */
  readonly subject: string;
  readonly text: string;
  readonly undo: (() => Promise<unknown>) | null;
}

/** The called object's storage; null until it exists, and in a sandbox. */
export const opened = signal<RemoteStorage | null>(null);
/** The oldest first. */
export const commits = signal<readonly StorageCommit[]>([]);
export const now = signal<State | null>(null);
export const earlier = signal<Earlier | null>(null);
export const told = signal<Told | null>(null);
/** Why the object could not be read. */
export const unread = signal<Problem | null>(null);
/** Why its state could not be changed. */
export const problem = signal<Problem | null>(null);

/** The chosen commit; null: now. */
export const chosen = computed(
  () => commits.value.find(({ bookmark }) => bookmark === moment.value) ?? null,
);

effect(() => {
  const from = runner.value;
  const object = target.value;
  const opening = exists.value ? (from?.storage(object) ?? null) : null;
  if (opening === null) return;
  let isOver = false;
  opening.then(
    (storage) => {
      if (!isOver) opened.value = storage;
    },
    (error) => {
      if (!isOver) unread.value = problemOf(error);
    },
  );
  return () => {
    isOver = true;
    forget();
    // Its failure is shown.
    void opening.then(
      (storage) => storage.close(),
      () => {},
    );
  };
});

function forget(): void {
  opened.value = null;
  commits.value = [];
  now.value = null;
  earlier.value = null;
  told.value = null;
  problem.value = null;
  unread.value = null;
  moment.value = null;
}

/** Reads the commits and the state again after every commit, of any tab. */
export function useNow(): void {
  const storage = opened.value;
  useCommits(
    storage,
    async () => {
      if (storage === null) return;
      const [found, state] = await Promise.all([
        storage.history({ limit: COMMITS_MAX }),
        readState(storage),
        refresh(),
      ]);
      if (opened.value !== storage) return;
      commits.value = found.reverse();
      now.value = state;
      unread.value = null;
    },
    (error) => {
      // A handle that was closed meanwhile has nothing to tell.
      if (opened.value === storage) unread.value = problemOf(error);
    },
  );
}

// The chosen moment, again when now is another state: the differences are from now.
effect(() => {
  const storage = opened.value;
  const commit = chosen.value;
  void now.value;
  if (storage === null || commit === null) {
    earlier.value = null;
    return;
  }
  let isOver = false;
  const read = async () => {
    try {
      const at = await storage.at(commit.bookmark);
      try {
        const differing = compare(storage.diff(commit.bookmark), () => isOver);
        const [state, compared] = await Promise.all([readState(at), differing]);
        if (!isOver) earlier.value = { commit, state, differences: differencesOf(compared) };
      } finally {
        await at.close();
      }
    } catch (error) {
      if (!isOver) unread.value = problemOf(error);
    }
  };
  const timer = setTimeout(() => void read(), SETTLE_MS);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
});

// A call is the next thing to speak of.
const lastCall = computed(() => log.value.find(({ kind }) => kind === 'call')?.id);
effect(() => {
  void lastCall.value;
  told.value = null;
  problem.value = null;
});

/** Takes the object to the chosen moment. */
export function goBack(storage: RemoteStorage, commit: StorageCommit): Promise<void> {
  return act(async () => {
    const before = await storage.restore(commit.bookmark);
    return { subject: '', text: 'The object went back.', undo: () => storage.restore(before) };
  });
}

/** Takes back one commit, and keeps the later ones. */
export function undo(storage: RemoteStorage, commit: StorageCommit): Promise<void> {
  return act(async () => {
    const before = await storage.getCurrentBookmark();
    const made = await storage.revert(commit.bookmark);
    const subject = labelOf(commit);
    if (made === before) return { subject, text: 'has nothing to take back.', undo: null };
    const text = 'is taken back; later calls stay.';
    return { subject, text, undo: () => storage.revert(made) };
  });
}

/** The way back of what was done last. */
export function takeBack({ undo }: Told): Promise<void> {
  return act(async () => {
    await undo?.();
    return { subject: '', text: 'The object is as it was before.', undo: null };
  });
}

async function act(action: () => Promise<Told>): Promise<void> {
  const storage = opened.value;
  told.value = null;
  problem.value = null;
  try {
    const done = await action();
    if (opened.value !== storage) return;
    told.value = done;
    moment.value = null;
  } catch (error) {
    if (opened.value === storage) problem.value = problemOf(error);
  }
}

const KINDS: Readonly<Record<string, string>> = {
  constructor: 'start',
  storage: 'from the page',
  restore: 'went back',
  revert: 'undone',
};

/** A commit in a word or two: who made it. */
export function labelOf({ by, isRestore }: StorageCommit): string {
  if (isRestore) return KINDS.restore!;
  if (by === undefined) return 'internal';
  if (by.label !== undefined) return by.label;
  return by.method === undefined ? (KINDS[by.kind] ?? by.kind) : `${by.method}()`;
}
