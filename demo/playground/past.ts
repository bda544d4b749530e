// Keeps the past of the called object for the page: its commits, its state now, and the state at a chosen moment.
//
// Invariant: a reading of an object that is no longer called, or of a moment that is no longer chosen, changes nothing.

import { computed, effect, signal } from '@preact/signals';
import type { RemoteStorage } from '../../src/index.ts';
import { type Problem, problemOf } from '../ui/problem.ts';
import type { Commit, ObjectTime, Past } from './object-time.ts';
import { exists, log, moment, refresh, runner, target } from './session.ts';
import type { State } from './state.ts';

/** How long the slider must rest before the chosen moment is opened. */
const SETTLE_MS = 100;

/** The state at the chosen moment, and what differs between it and the state now. */
export interface Earlier extends Past {
  readonly commit: Commit;
}

/** The last action of the time bar, and how to undo it. */
export interface Told {
  /** The label of the commit that the bar undid; empty if it restored the whole object. */
  readonly subject: string;
  readonly text: string;
  readonly undo: (() => Promise<unknown>) | null;
}

/** The history of the called object; null until the object exists. */
export const opened = signal<ObjectTime | null>(null);
/** The storage of the called object; null until the object exists, and always in a sandbox. */
export const storage = signal<RemoteStorage | null>(null);
/** The commits of the called object, the oldest first. */
export const commits = signal<readonly Commit[]>([]);
export const now = signal<State | null>(null);
export const earlier = signal<Earlier | null>(null);
export const told = signal<Told | null>(null);
/** Why the object could not be read. */
export const unread = signal<Problem | null>(null);
/** Why its state could not be changed. */
export const problem = signal<Problem | null>(null);

/** The commit that the slider chooses; null means now. */
export const chosen = computed(
  () => commits.value.find(({ bookmark }) => bookmark === moment.value) ?? null,
);

effect(() => {
  const from = runner.value;
  const object = target.value;
  if (from === null || !exists.value) return;
  let isOver = false;
  const opening = from.open(object);
  opening.then(
    (found) => {
      if (isOver) return;
      storage.value = found.storage;
      opened.value = found.time;
    },
    (error) => {
      if (!isOver) unread.value = problemOf(error);
    },
  );
  return () => {
    isOver = true;
    forget();
    // A failure is shown to the visitor.
    void opening.then(
      ({ close }) => close(),
      () => {},
    );
  };
});

function forget(): void {
  opened.value = null;
  storage.value = null;
  commits.value = [];
  now.value = null;
  earlier.value = null;
  told.value = null;
  problem.value = null;
  unread.value = null;
  moment.value = null;
}

// This effect reads the commits and the state again after every commit of any tab.
effect(() => {
  const time = opened.value;
  if (time === null) return;
  return time.follow(
    (reading) => {
      // An error of a handle that was closed meanwhile is not shown.
      if (opened.peek() !== time) return;
      commits.value = reading.commits;
      now.value = reading.state;
      unread.value = null;
      void refresh();
    },
    (error) => {
      if (opened.peek() === time) unread.value = problemOf(error);
    },
  );
});

// This effect reads the chosen moment, and reads it again after each commit, because its differences are to now.
effect(() => {
  const time = opened.value;
  const commit = chosen.value;
  void now.value;
  if (time === null || commit === null) {
    earlier.value = null;
    return;
  }
  let isOver = false;
  const read = async () => {
    try {
      const past = await time.at(commit.bookmark);
      if (!isOver) earlier.value = { commit, ...past };
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

// A new call hides the report of what the bar did last.
const lastCall = computed(() => log.value.find(({ kind }) => kind === 'call')?.id);
effect(() => {
  void lastCall.value;
  told.value = null;
  problem.value = null;
});

/** Restores the object's state at the chosen moment. */
export function goBack(time: ObjectTime, commit: Commit): Promise<void> {
  return act(async () => {
    const before = await time.restore(commit.bookmark);
    return { subject: '', text: 'The object went back.', undo: () => time.restore(before) };
  });
}

/** Undoes one commit and keeps the later ones. */
export function undo(time: ObjectTime, { bookmark, label }: Commit): Promise<void> {
  return act(async () => {
    const made = await time.revert(bookmark).catch((error: unknown) => {
      const { code, message } = problemOf(error);
      throw code === 'CONFLICT'
        ? Object.assign(new Error(`Cannot undo ${label}: ${message}`), { code })
        : error;
    });
    if (made === null) return { subject: label, text: 'has nothing to take back.', undo: null };
    const text = 'is taken back; later calls stay.';
    return { subject: label, text, undo: () => time.revert(made) };
  });
}

/** Undoes what the bar did last. */
export function takeBack({ undo }: Told): Promise<void> {
  return act(async () => {
    await undo?.();
    return { subject: '', text: 'The object is as it was before.', undo: null };
  });
}

async function act(action: () => Promise<Told>): Promise<void> {
  const time = opened.value;
  told.value = null;
  problem.value = null;
  try {
    const done = await action();
    if (opened.value !== time) return;
    told.value = done;
    moment.value = null;
  } catch (error) {
    if (opened.value === time) problem.value = problemOf(error);
  }
}
