// Where the wall clock was set back in the history, and the facts that the times of commits still prove.
//
// A clock that was ahead and is set right leaves readings of times that had not come; a clock that was set back by
// mistake leaves readings of times that had passed. The log cannot tell the two apart, but both show: two commits are
// in the wrong order of their times. So a commit is certain if its time is in order with the times of all others,
// times in the future left aside, because they come from a clock that was ahead for sure.
//
// Invariant: a state is named by a time only if the commits on both sides of it are certain; history is given up only
// up to a certain commit. Without a clock that was set back, every commit is certain, and nothing more is read.

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { Bookmark } from './bookmark.ts';
import type { CommitLog } from './commit-log.ts';
import { CLOCK_BACK_MS } from './commit-log.ts';
import { nextTimeline, timelineStart } from './log-position.ts';
import { type Dated, findNeighbours, type Neighbours } from './time-search.ts';

/** The first commit after the clock was set back. */
interface Correction {
  /** Commits of the corrected clock have this sequence, or a later one. */
  readonly sequence: number;
  readonly timeMs: number;
  /** The latest time, but none in the future, that the clock had shown before; null: there is none. */
  readonly shownMs: number | null;
}

export class Corrections {
  readonly #log: CommitLog;
  /** Later times lie in the future. */
  readonly #endMs: number;
  /** The newest one first. */
  readonly #found: readonly Correction[];

  private constructor(log: CommitLog, endMs: number, found: readonly Correction[]) {
    this.#log = log;
    this.#endMs = endMs;
    this.#found = found;
  }

  /** Looks for them in the whole history; `nowMs`: the time of the wall clock. @throws CORRUPT */
  static async find(log: CommitLog, nowMs: number): Promise<Corrections> {
    const found: Correction[] = [];
    const endMs = nowMs + CLOCK_BACK_MS;
    const oldest = await log.withSegment(
      log.sealed.oldest,
      (segment) => segment?.base.sequence ?? 0,
    );
    for (
      let start = timelineStart(log.position.sequence);
      start > oldest;
      start = timelineStart(start - 1)
    ) {
      const sides = await findNeighbours(({ sequence }) => sequence < start, log);
      if (sides === null) break;
      const { last, next } = sides;
      // Before the first commit there is nothing that another time could name.
      if (next === null || last.sequence === 0 || next.timeMs >= last.timeMs) continue;
      const shownMs = await lastShown(start - 1, endMs, log);
      found.push({ sequence: start, timeMs: next.timeMs, shownMs });
    }
    return new Corrections(log, endMs, found);
  }

  /**
   * The last commit at or before a time.
   *
   * @throws BOOKMARK_UNAVAILABLE if the history does not go back far enough, or the wall clock was set back and the
   *   commits around that time cannot be put in order; CORRUPT if the history is damaged
   */
  async commitAt(timeMs: number): Promise<Bookmark> {
    const sides = await this.#around(timeMs);
    if (sides === null) throw unavailable(timeMs, 'the history of that time was pruned.');
    const { last, next } = sides;
    if (this.#isCertain(last) && (next === null || this.#isCertain(next))) return last;
    throw unavailable(
      timeMs,
      'the clock of this device was set back around that time, so it names no state for certain; ' +
        'find the commit in history() and pass its bookmark.',
    );
  }

  /** The last certain commit at or before a time; null if there is none. @throws CORRUPT */
  async lastCertain(timeMs: number): Promise<Dated | null> {
    for (let untilMs = timeMs; ; ) {
      const last = (await this.#around(untilMs))?.last;
      if (last === undefined || last.timeMs > untilMs) return null;
      if (this.#isCertain(last)) return last;
      const doubts = this.#found.filter((correction) => isDoubtedBy(last, correction));
      untilMs = Math.min(untilMs, ...doubts.map((correction) => correction.timeMs)) - 1;
    }
  }

  // The clock that was right last at that time tells: later ones have shown it only after.
  #around(timeMs: number): Promise<Neighbours | null> {
    const index = this.#found.findIndex((correction) => correction.timeMs <= timeMs);
    const from = this.#found[index]?.sequence ?? 0;
    const next = index < 0 ? this.#found.at(-1) : this.#found[index - 1];
    const to = next?.sequence ?? Number.POSITIVE_INFINITY;
    return findNeighbours(
      (commit) => commit.sequence < to && (commit.sequence < from || commit.timeMs <= timeMs),
      this.#log,
    );
  }

  #isCertain(commit: Dated): boolean {
    if (commit.sequence === 0) return true; // the empty object
    if (commit.timeMs > this.#endMs) return false;
    return !this.#found.some((correction) => isDoubtedBy(commit, correction));
  }
}

/** True if commits before and after the correction were shown in the wrong order, and this is one of them. */
function isDoubtedBy({ sequence, timeMs }: Dated, correction: Correction): boolean {
  const { shownMs } = correction;
  if (shownMs === null) return false;
  return sequence < correction.sequence
    ? timeMs > correction.timeMs && timeMs <= shownMs
    : timeMs >= correction.timeMs && timeMs < shownMs;
}

/** The latest time up to the end that commits up to a sequence show; null if all of them lie in the future. */
async function lastShown(sequence: number, endMs: number, log: CommitLog): Promise<number | null> {
  for (let start = timelineStart(sequence); ; start = timelineStart(start - 1)) {
    const end = Math.min(nextTimeline(start), sequence + 1);
    const sides = await findNeighbours(
      (commit) => commit.sequence < start || (commit.sequence < end && commit.timeMs <= endMs),
      log,
    );
    if (sides === null) return null;
    const { last } = sides;
    if (last.sequence === 0) return null; // before the first commit
    if (last.sequence >= start) return last.timeMs;
  }
}

function unavailable(timeMs: number, why: string) {
  return storageError('BOOKMARK_UNAVAILABLE', `bookmark for ${timeMs}: ${why}`);
}
