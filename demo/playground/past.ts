// The past of the called object: its commits, its state now, and beside it the state at a chosen moment.
//
// Invariant: a reading of an object that is no longer called, or of a moment that is no longer chosen, changes nothing.

import { computed, effect, signal } from '@preact/signals';
import type { RemoteStorage } from '../../src/index.ts';
import { type Problem, problemOf } from '../ui/problem.ts';
import type { Commit, ObjectTime, Past } from './object-time.ts';
import { exists, log, moment, refresh, runner, target } from './session.ts';
import type { State } from './state.ts';

/** While the slider moves, no moment is opened. */
const SETTLE_MS = 100;

/** The state at the chosen moment, and what differs from it now. */
export interface Earlier extends Past {
  readonly commit: Commit;
}

/** What the bar did last, and its way back. */
export interface Told {
  /** The commit that it was done to, as it is labelled; empty: the whole object. */
  readonly subject: string;
  readonly text: string;
  readonly undo: (() => Promise<unknown>) | null;
}

/** The called object's time; null until it exists. */
export const opened = signal<ObjectTime | null>(null);
/** The called object's storage; null until it exists, and in a sandbox. */
export const storage = signal<RemoteStorage | null>(null);
/** The oldest first. */
export const commits = signal<readonly Commit[]>([]);
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
    // Its failure is shown.
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

// The commits and the state again after every commit, of any tab.
effect(() => {
  const time = opened.value;
  if (time === null) return;
  return time.follow(
    (reading) => {
      // A handle that was closed meanwhile has nothing to tell.
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

// The chosen moment, again when now is another state: the differences are from now.
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

// A call is the next thing to speak of.
const lastCall = computed(() => log.value.find(({ kind }) => kind === 'call')?.id);
effect(() => {
  void lastCall.value;
  told.value = null;
  problem.value = null;
});

/** Takes the object to the chosen moment. */
export function goBack(time: ObjectTime, commit: Commit): Promise<void> {
  return act(async () => {
    const before = await time.restore(commit.bookmark);
    return { subject: '', text: 'The object went back.', undo: () => time.restore(before) };
  });
}

/** Takes back one commit, and keeps the later ones. */
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

/** The way back of what was done last. */
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
