// The entries of an undo stack: what can be taken back, and made again.
//
// Invariant: an entry is in one of the two lists, and its commits are in order. Entries that were made again, or are
// being taken back, take no further commits.
//
// Does not know how commits are read or reverted.

import type { StorageCommit } from '@ctx-storage/core/storage';
import { REVERTED_COMMITS_MAX } from '@ctx-storage/core/storage';

export type Direction = 'undo' | 'redo';

/** Commits that are taken back together. */
export interface UndoEntry {
  readonly bookmarks: string[];
  readonly label: string | null;
  /** The group that makes it; null: commits join it by time. */
  readonly group: Group | null;
  /** Of its last commit. */
  timeMs: number;
  isSealed: boolean;
}

/** A task whose commits are one entry. */
export interface Group {
  readonly name: string;
  /** No more of its commits come after those that are read next. */
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

  /** The entry that is next; undefined: there is none. */
  last(direction: Direction): UndoEntry | undefined {
    return this.#lists[direction].at(-1);
  }

  /** A new commit of the tab: it ends the chance to redo. */
  add({ bookmark, time, by }: StorageCommit, groups: Iterable<Group>): void {
    const label = by?.label ?? null;
    const isCall = label === null && by?.kind !== 'storage';
    const group = [...groups].findLast(({ name }) => name === label || isCall) ?? null;
    const timeMs = time.getTime();
    this.#lists.redo = [];
    const last = this.last('undo');
    if (last !== undefined && this.#joins(last, label, group, timeMs)) {
      last.bookmarks.push(bookmark);
      last.timeMs = timeMs;
      return;
    }
    const entry = { bookmarks: [bookmark], label: group?.name ?? label, group, timeMs };
    this.#push('undo', { ...entry, isSealed: false });
  }

  /** The entry was taken back or made again by a commit, which the other list can revert. */
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

  #joins(last: UndoEntry, label: string | null, group: Group | null, timeMs: number): boolean {
    if (last.isSealed || last.bookmarks.length === REVERTED_COMMITS_MAX) return false;
    if (last.group !== null || group !== null) return last.group === group;
    // The device's clock may have been set back in between.
    const apartMs = Math.abs(timeMs - last.timeMs);
    return this.#groupMs > 0 && last.label === label && apartMs <= this.#groupMs;
  }

  #push(direction: Direction, entry: UndoEntry): void {
    const list = this.#lists[direction];
    list.push(entry);
    if (list.length > this.#depth) list.shift();
  }
}
