// The expected history of a simulated object: its states, those that must survive, and the bookmarks that it has
// returned.

import { isStorageError } from '../../../src/shared/contract/errors.ts';
import type { CommitAuthor } from '../../../src/shared/contract/storage.ts';
import { type Contents, MARK } from './contents.ts';
import type { WallClock } from './wall-clock.ts';

const DAY_MS = 86_400_000;
const WINDOW_MS = 30 * DAY_MS;
/** If the wall clock was set back by less than this, commits wait for it. */
const CLOCK_BACK_MS = 10_000;
/**
 * The greatest age of the last kept state before a moment: an hour before the hour of the moment, plus the tolerance of
 * a clock that was set back.
 */
const THINNED_MS = 2 * 3_600_000 + CLOCK_BACK_MS;
/** The error codes of a restore that is impossible. */
const REFUSALS: readonly string[] = ['BOOKMARK_INVALID', 'BOOKMARK_UNAVAILABLE', 'CORRUPT'];

/** The contents of the object after a commit. */
export interface State {
  readonly contents: Contents;
  /** The elapsed time at which the state was committed. */
  readonly timeMs: number;
  /** The author of the commit; null means no author, undefined that the author is unknown. */
  readonly by?: CommitAuthor | null;
  /** True if a restore was requested earlier, so that the log may give this commit the time of the one before it. */
  readonly keepsTimeline?: boolean;
}

/** A bookmark that the object returned, with what the model knows about it. */
export interface ReturnedBookmark {
  readonly text: string;
  /** The possible contents after a restore to it; after a power failure, there may be several. */
  readonly contents: readonly Contents[];
  readonly timeMs: number;
  /** The state that the bookmark names, if that is known. */
  readonly state?: State;
  /** True once everything up to the bookmark is durable. */
  isDurable: boolean;
  /** True if the disk has been full since, so that this history may have been pruned. */
  mayBePruned: boolean;
}

/** Thrown if the object contradicts the model. */
export class SimulationFailure extends Error {}

/** Returns whether neither state has its mark, so that nothing tells them apart. */
function isEmptyLike(a: Contents, b: Contents): boolean {
  return !a.keys.has(MARK) && !b.keys.has(MARK) && a.alarm === b.alarm;
}

/** Returns the part of a bookmark that names a commit. The markers after it have no order. */
function commitOf(bookmark: string): string {
  return bookmark.slice(0, 17);
}

/** Adds the index and kind of the step to a failure. */
export function withStep(error: unknown, index: number, kind: string): SimulationFailure {
  const text = error instanceof Error ? error.message : String(error);
  return new SimulationFailure(`step ${index} (${kind}): ${text}`, { cause: error });
}

export class History {
  /**
   * The states in the order of their commits. Restores do not remove states; a state is removed once it is known to be
   * lost.
   */
  readonly states: State[];
  /** Commits that a power failure may have lost. It is unknown which, because a restore followed. */
  readonly #perhapsLost = new Set<State>();
  /** The index of the last acknowledged state, which is the oldest that a power failure may leave. */
  acknowledged = 0;
  /** The state of the commit in progress; null if there is none. */
  attempt: State | null = null;
  /** True from the request of a restore until the next opening. */
  keepsTimeline = false;
  readonly known: ReturnedBookmark[] = [];
  readonly #clock: WallClock;
  /** True if the object keeps so few bytes of history that only the state before the last commit is certain. */
  readonly #isBounded: boolean;
  /** True if old history may have been pruned, because few bytes are kept or the disk has been full. */
  #isPruned: boolean;

  /** True if of old history only the last state of each minute or hour is kept. */
  readonly #isThinned: boolean;

  constructor(first: State, clock: WallClock, isBounded = false, isThinned = false) {
    this.#isThinned = isThinned;
    this.states = [first];
    this.#clock = clock;
    this.#isBounded = isBounded;
    this.#isPruned = isBounded;
  }

  /** Whether old history may have been pruned. */
  get mayBeShort(): boolean {
    return this.#isPruned || this.#isThinned;
  }

  get last(): State {
    return this.states.at(-1)!;
  }

  /** Returns the states that a power failure may leave, newest first. */
  candidates(): State[] {
    const made = this.states.slice(this.acknowledged);
    return (this.attempt === null ? made : [...made, this.attempt]).toReversed();
  }

  /** Records that a commit begins. The returned function records that it has succeeded. */
  beginCommit(contents: Contents, timeMs: number, by?: CommitAuthor | null): void {
    const { keepsTimeline } = this;
    this.attempt = { contents, timeMs, keepsTimeline, ...(by !== undefined && { by }) };
  }

  committed(): void {
    if (this.attempt !== null) this.states.push(this.attempt);
    this.attempt = null;
  }

  /** Records that every commit so far is durable. */
  acknowledge(): void {
    this.acknowledged = this.states.length - 1;
    for (const known of this.known) known.isDurable = true;
  }

  /** Records that the object was opened in this state: it must survive, and later states are lost. */
  found(state: State): void {
    this.committed();
    const index = this.states.indexOf(state);
    this.states.splice(index + 1);
    // A state without entries may be the initial one, or that of any deleteAll.
    const first = this.states.findIndex(
      (other, i) => i >= this.acknowledged && isEmptyLike(state.contents, other.contents),
    );
    if (first >= 0) for (const other of this.states.slice(first + 1)) this.#perhapsLost.add(other);
    this.acknowledged = this.states.length - 1;
    const lost = this.known.filter(({ isDurable }) => !isDurable);
    for (const known of lost) this.known.splice(this.known.indexOf(known), 1);
  }

  /** Records that the object was opened and restored to these contents. */
  restored(contents: Contents, timeMs: number): void {
    this.committed();
    for (const state of this.states.slice(this.acknowledged + 1)) this.#perhapsLost.add(state);
    this.found(this.last);
    this.states.push({ contents, timeMs });
    this.acknowledged = this.states.length - 1;
  }

  /**
   * Records the time of the commit of a restore. The restore is already visible, but its commit follows with the first
   * step that writes or asks for a bookmark.
   */
  setTimeOfRestore(timeMs: number): void {
    this.states[this.states.length - 1] = { ...this.last, timeMs };
  }

  /**
   * Returns whether a power failure leaves the bookmark of a state. If a restore was requested, its record names the
   * last state, so everything in the log must be durable.
   */
  isDurable(state: State, isAllDurable: boolean): boolean {
    return this.states.indexOf(state) <= this.acknowledged && (state !== this.last || isAllDurable);
  }

  /**
   * Returns the states that a time of the wall clock may name, newest first: those of all moments at which the clock
   * showed it.
   */
  at(shownMs: number): State[] {
    const moments = this.#clock.momentsOf(shownMs);
    const possible = moments.flatMap((momentMs) => this.#atMoment(momentMs));
    const found = moments.length > 0 ? possible : [this.states[0]!]; // the time is before the first state
    return [...new Set(found)].toReversed();
  }

  /**
   * Returns whether a time of the wall clock must name a state, because nothing has pruned it and the order of the
   * commits proves it.
   */
  mustName(shownMs: number): boolean {
    const { inOrderFromMs, nowMs } = this.#clock;
    if (this.#isPruned || shownMs > nowMs || nowMs - shownMs > WINDOW_MS) return false;
    const provedFromMs = inOrderFromMs + CLOCK_BACK_MS;
    return this.at(shownMs).every(
      (state) => state.timeMs > provedFromMs && !this.#perhapsLost.has(state),
    );
  }

  /** Returns the states that may have been the last one at a moment, oldest first. */
  #atMoment(momentMs: number): State[] {
    const lastAt = (timeMs: number) =>
      Math.max(
        this.states.findLastIndex((state) => state.timeMs <= timeMs),
        0,
      );
    const newest = lastAt(momentMs);
    // A thinned history keeps the last state of each hour, also of the hour before.
    if (this.#isThinned) return this.states.slice(lastAt(momentMs - THINNED_MS), newest + 1);
    let oldest = this.#clock.wasSet ? lastAt(momentMs - CLOCK_BACK_MS) : newest;
    while (this.#perhapsLost.has(this.states[oldest]!)) oldest--;
    return this.states.slice(oldest, newest + 1);
  }

  /**
   * Returns whether the order of two commits proves that the wall clock showed a time before both, and again between
   * them.
   */
  #wasShownTwice(shownMs: number): boolean {
    const { nowMs, wasSet } = this.#clock;
    if (!wasSet || this.#isPruned) return false;
    const certain = this.states.filter(
      (state, i) => i > 0 && !this.#perhapsLost.has(state) && !this.#isOld(state.timeMs),
    );
    const shown = certain.map(({ timeMs }) => this.#clock.shownAt(timeMs));
    const later = (i: number) => shown[i]! - CLOCK_BACK_MS > shownMs && shown[i]! <= nowMs;
    return certain.some(
      ({ keepsTimeline }, i) =>
        !keepsTimeline &&
        shown[i]! <= shownMs &&
        shown.slice(0, i).some((_, earlier) => later(earlier)),
    );
  }

  /**
   * Returns whether a state of this moment may be pruned: it is old, or the wall clock was ahead by more than a day, so
   * that it looked old.
   */
  #isOld(timeMs: number): boolean {
    const { elapsedMs, latestMs } = this.#clock;
    const isOld = elapsedMs - timeMs >= WINDOW_MS;
    return isOld || latestMs - this.#clock.shownAt(timeMs) >= WINDOW_MS + DAY_MS;
  }

  /** Returns a bookmark of the state before the last one, if there is one. */
  get recent(): ReturnedBookmark | undefined {
    return this.known.findLast(({ state }) => state !== undefined && state === this.states.at(-2));
  }

  /** Returns whether the bookmark names the last state or the one before. */
  #isRecent({ state }: ReturnedBookmark): boolean {
    return state !== undefined && this.states.slice(-2).includes(state);
  }

  /** Records that old history may be pruned from now on, to free space. */
  mayBePruned(): void {
    this.#isPruned = true;
    for (const known of this.known) known.mayBePruned = true;
  }

  /** Records a returned bookmark. @throws SimulationFailure if it is out of order */
  recordBookmark(text: string, state: State, isDurable: boolean): void {
    this.checkOrder(text);
    const { contents, timeMs } = state;
    this.known.push({ text, contents: [contents], timeMs, state, isDurable, mayBePruned: false });
  }

  /** Records the bookmark that a time has named. @throws SimulationFailure if the time certainly names no state */
  recordBookmarkOfTime(text: string, shownMs: number, isAllDurable: boolean): void {
    if (this.#wasShownTwice(shownMs)) {
      throw new SimulationFailure(`a time that the clock showed twice has the bookmark ${text}`);
    }
    const possible = this.at(shownMs);
    const contents = possible.map((state) => state.contents);
    const isDurable = possible.every((state) => this.isDurable(state, isAllDurable));
    const { timeMs } = this.#clock.wasSet ? possible.at(-1)! : { timeMs: shownMs };
    this.known.push({ text, contents, timeMs, isDurable, mayBePruned: false });
  }

  /** Checks that the bookmark of the present sorts after earlier ones. */
  checkOrder(text: string): void {
    for (const known of this.known) {
      if (known.isDurable && commitOf(known.text) > commitOf(text)) {
        throw new SimulationFailure(
          `the present has the bookmark ${text}, an earlier moment ${known.text}`,
        );
      }
    }
  }

  /** Accepts the refusal of a restore if there is a documented reason for it. */
  checkRefusal(wanted: readonly ReturnedBookmark[], error: unknown): void {
    if (!isStorageError(error) || !REFUSALS.includes(error.code) || wanted.length === 0)
      throw error;
    if (wanted.some((known) => this.#mayRefuse(known, error.code))) return;
    const texts = wanted.map(({ text }) => text).join(' or ');
    throw new SimulationFailure(
      `the bookmark ${texts}, returned as durable, is refused: ${error.code} ${error.message}`,
    );
  }

  /** Returns whether there may be a documented reason to refuse a restore. */
  mayBeRefused(known: ReturnedBookmark): boolean {
    return REFUSALS.some((code) => this.#mayRefuse(known, code));
  }

  /**
   * Returns whether a restore may be refused with this code. Pruned history is CORRUPT if a power failure has undone
   * the removal of some of its files, because such a gap looks like damage.
   */
  #mayRefuse(known: ReturnedBookmark, code: string): boolean {
    if (!known.isDurable) return code === 'BOOKMARK_INVALID' || code === 'BOOKMARK_UNAVAILABLE';
    const isPruned =
      this.#isOld(known.timeMs) || known.mayBePruned || (this.#isBounded && !this.#isRecent(known));
    if (this.#isThinned && !this.#isRecent(known) && code === 'BOOKMARK_UNAVAILABLE') return true;
    return isPruned && (code === 'BOOKMARK_UNAVAILABLE' || code === 'CORRUPT');
  }
}
