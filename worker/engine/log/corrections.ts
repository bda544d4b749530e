// Finds where the wall clock was set back in the history, and decides which commits' times can still be trusted.
//
// If a clock ran ahead and is corrected, earlier commits have times that were too late. If a clock is set back by
// mistake, later commits have times that are too early. The log cannot tell the two cases apart, but in both the times
// of two commits are in the wrong order. So a commit is called certain if its time is in order with the times of all
// other commits. Times in the future are ignored: they certainly come from a clock that was ahead.
//
// Invariant: a time finds a state only if the commits before and after that time are certain, and history is deleted
// only up to a certain commit. If the clock was never set back, every commit is certain, and nothing more is read.

import { isStorageError, storageError } from '../../../src/shared/contract/errors.ts';
import type { Bookmark } from './bookmark.ts';
import type { CommitLog } from './commit-log.ts';
import { CLOCK_BACK_MS } from './commit-log.ts';
import { nextTimeline, timelineStart } from './log-position.ts';
import { type Dated, findNeighbours, type Neighbours } from './time-search.ts';

/** The first commit after the clock was set back. */
interface Correction {
  /** The sequence of the first commit with the corrected clock. */
  readonly sequence: number;
  readonly timeMs: number;
  /** The latest time of a commit before the correction, except times in the future; null if there is none. */
  readonly shownMs: number | null;
}

export class Corrections {
  readonly #log: CommitLog;
  /** The present time; later times of commits lie in the future. */
  readonly #endMs: number;
  /** The corrections, the newest first. */
  readonly #found: readonly Correction[];

  private constructor(log: CommitLog, endMs: number, found: readonly Correction[]) {
    this.#log = log;
    this.#endMs = endMs;
    this.#found = found;
  }

  /** Searches the readable history for corrections; `nowMs` is the time of the wall clock. @throws CORRUPT */
  static async find(log: CommitLog, nowMs: number): Promise<Corrections> {
    const found: Correction[] = [];
    const endMs = nowMs + CLOCK_BACK_MS;
    const oldest = await firstReadable(log);
    for (
      let start = timelineStart(log.position.sequence);
      start > oldest;
      start = timelineStart(start - 1)
    ) {
      const sides = await findNeighbours(({ sequence }) => sequence < start, log);
      if (sides === null) break;
      const { last, next } = sides;
      // A correction before the first commit makes no commit doubtful.
      if (next === null || last.sequence === 0 || next.timeMs >= last.timeMs) continue;
      const shownMs = await latestShownMs(start - 1, endMs, log);
      found.push({ sequence: start, timeMs: next.timeMs, shownMs });
    }
    return new Corrections(log, endMs, found);
  }

  /**
   * Finds the last commit at or before a time.
   *
   * @throws BOOKMARK_UNAVAILABLE if the history does not go back far enough, or the wall clock was set back and the
   *   commits around that time cannot be put in order; CORRUPT if the history is damaged
   */
  async commitAt(timeMs: number): Promise<Bookmark> {
    const sides = await this.#neighboursAt(timeMs);
    if (sides === null) throw unavailable(timeMs, 'the history of that time was pruned.');
    const { last, next } = sides;
    if (this.#isCertain(last) && (next === null || this.#isCertain(next))) return last;
    throw unavailable(
      timeMs,
      'the clock of this device was set back around that time, so it names no state for certain; ' +
        'find the commit in history() and pass its bookmark.',
    );
  }

  /** Finds the last certain commit at or before a time; returns null if there is none. @throws CORRUPT */
  async lastCertain(timeMs: number): Promise<Dated | null> {
    for (let untilMs = timeMs; ; ) {
      const last = (await this.#neighboursAt(untilMs))?.last;
      if (last === undefined || last.timeMs > untilMs) return null;
      if (this.#isCertain(last)) return last;
      const doubts = this.#found.filter((correction) => isDoubtedBy(last, correction));
      untilMs = Math.min(untilMs, ...doubts.map((correction) => correction.timeMs)) - 1;
    }
  }

  // The newest correction at or before the time tells which clock was right then: search the commits up to the next
  // one.
  #neighboursAt(timeMs: number): Promise<Neighbours | null> {
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
    if (commit.sequence === 0) return true; // Sequence 0 is the empty object.
    if (commit.timeMs > this.#endMs) return false;
    return !this.#found.some((correction) => isDoubtedBy(commit, correction));
  }
}

/**
 * Finds the sequence at which the readable history begins. An oldest segment whose header is damaged counts as pruned, so
 * that only times within it are CORRUPT.
 */
async function firstReadable(log: CommitLog): Promise<number> {
  const { oldest, spans } = log.sealed;
  const base = (number: number) =>
    log.withSegment(number, (segment) => segment?.base.sequence ?? 0);
  try {
    return await base(oldest);
  } catch (error) {
    if (!isStorageError(error) || error.code !== 'CORRUPT') throw error;
    return base(spans.after(oldest));
  }
}

/** True if the correction makes this commit's time doubtful: it overlaps with times on the other side. */
function isDoubtedBy({ sequence, timeMs }: Dated, correction: Correction): boolean {
  const { shownMs } = correction;
  if (shownMs === null) return false;
  return sequence < correction.sequence
    ? timeMs > correction.timeMs && timeMs <= shownMs
    : timeMs >= correction.timeMs && timeMs < shownMs;
}

/** Finds the latest time, up to `endMs`, of the commits up to a sequence; null if all their times lie in the future. */
async function latestShownMs(
  sequence: number,
  endMs: number,
  log: CommitLog,
): Promise<number | null> {
  for (let start = timelineStart(sequence); ; start = timelineStart(start - 1)) {
    const end = Math.min(nextTimeline(start), sequence + 1);
    const sides = await findNeighbours(
      (commit) => commit.sequence < start || (commit.sequence < end && commit.timeMs <= endMs),
      log,
    );
    if (sides === null) return null;
    const { last } = sides;
    if (last.sequence === 0) return null; // The time is before the first commit.
    if (last.sequence >= start) return last.timeMs;
  }
}

function unavailable(timeMs: number, why: string) {
  return storageError('BOOKMARK_UNAVAILABLE', `bookmark for ${timeMs}: ${why}`);
}
