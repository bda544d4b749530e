// The entries of an undo stack: the groups of commits that can be undone, and those that can be redone.
//
// Invariant: an entry is in one of the two lists, and its commits are in order. An entry that was redone, or is being
// undone, gets no further commits. This module neither reads nor reverts commits.

import type { StorageCommit } from '@ctx-storage/core/storage';
import { REVERTED_COMMITS_MAX } from '@ctx-storage/core/storage';

export type Direction = 'undo' | 'redo';

/** The commits that are undone together. */
export interface UndoEntry {
  readonly bookmarks: string[];
  readonly label: string | null;
  /** The group whose commits these are, or null if commits join the entry by label and time. */
  readonly group: Group | null;
  /** The time of the last commit. */
  timeMs: number;
  /** True if the entry gets no further commits. */
  isSealed: boolean;
}

/** A task of `group()`, whose commits are one entry. */
export interface Group {
  readonly name: string;
  /** True once the task has ended, so that the next reading finds its last commits. */
  isOver: boolean;
}

export class UndoEntries {
  readonly #groupMs: number;
  readonly #depth: number;
  readonly #lists: Record<Direction, UndoEntry[]> = { undo: [], redo: [] };

  constructor(groupMs: number, depth: number) {
    this.#groupMs = groupMs;
    this.#depth = depth;
  }

  /** Returns the next entry to undo or redo, or undefined if there is none. */
  last(direction: Direction): UndoEntry | undefined {
    return this.#lists[direction].at(-1);
  }

  /** Adds a new commit of the tab to the last entry or a new one. Redo is no longer possible then. */
  add({ bookmark, time, by }: StorageCommit, groups: Iterable<Group>): void {
    const label = by?.label ?? null;
    const isCall = label === null && by?.kind !== 'storage';
    const group = [...groups].findLast(({ name }) => name === label || isCall) ?? null;
    const timeMs = time.getTime();
    this.#lists.redo = [];
    const last = this.last('undo');
    if (last !== undefined && this.#belongsTo(last, label, group, timeMs)) {
      last.bookmarks.push(bookmark);
      last.timeMs = timeMs;
      return;
    }
    const entry = { bookmarks: [bookmark], label: group?.name ?? label, group, timeMs };
    this.#push('undo', { ...entry, isSealed: false });
  }

  /** Moves an entry that was undone or redone to the other list. `bookmark` is the commit that did it. */
  move(direction: Direction, entry: UndoEntry, bookmark: string): void {
    this.remove(direction, entry);
    const moved = { ...entry, bookmarks: [bookmark], isSealed: true };
    this.#push(direction === 'undo' ? 'redo' : 'undo', moved);
  }

  remove(direction: Direction, entry: UndoEntry): void {
    this.#lists[direction] = this.#lists[direction].filter((other) => other !== entry);
  }

  clear(...directions: readonly Direction[]): void {
    for (const direction of directions) this.#lists[direction] = [];
  }

  #belongsTo(last: UndoEntry, label: string | null, group: Group | null, timeMs: number): boolean {
    if (last.isSealed || last.bookmarks.length === REVERTED_COMMITS_MAX) return false;
    if (last.group !== null || group !== null) return last.group === group;
    // The clock of the device may have been set back between the commits, so the distance has no sign.
    const distanceMs = Math.abs(timeMs - last.timeMs);
    return this.#groupMs > 0 && last.label === label && distanceMs <= this.#groupMs;
  }

  #push(direction: Direction, entry: UndoEntry): void {
    const list = this.#lists[direction];
    list.push(entry);
    if (list.length > this.#depth) list.shift();
  }
}
