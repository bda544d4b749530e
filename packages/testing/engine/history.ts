// The expected history of a simulated object: its states, which of them must survive, and the
// bookmarks it has returned.

import { isStorageError } from '../../../src/shared/contract/errors.ts';
import type { CommitAuthor } from '../../../src/shared/contract/storage.ts';
import { type Contents, MARK } from './contents.ts';
import type { WallClock } from './wall-clock.ts';

const DAY_MS = 86_400_000;
const WINDOW_MS = 30 * DAY_MS;
/** A wall clock that was set back by less is waited for. */
const CLOCK_BACK_MS = 10_000;
/** The last kept state before a moment is at most this old: an hour before the hour of the moment, by a clock that was set. */
const THINNED_MS = 2 * 3_600_000 + CLOCK_BACK_MS;
/** Error codes of an impossible restore. */
const REFUSALS: readonly string[] = ['BOOKMARK_INVALID', 'BOOKMARK_UNAVAILABLE', 'CORRUPT'];

/** The object after a commit. */
export interface State {
  readonly contents: Contents;
  /** When it was committed, by the time that passes. */
  readonly timeMs: number;
  /** Who made it; null: nobody; undefined: it is not known. */
  readonly by?: CommitAuthor | null;
  /** A restore was requested before, so the log may give the commit the time of the one before it. */
  readonly keepsTimeline?: boolean;
}

/** A bookmark that the object returned. */
export interface Known {
  readonly text: string;
  /** The possible results of a restore to it: after a power failure, there may be several. */
  readonly contents: readonly Contents[];
  readonly timeMs: number;
  /** The state that it was handed out for, if that is known. */
  readonly state?: State;
  /** Everything before it was durable when it was returned, or became so later. */
  isDurable: boolean;
  /** The disk has been full since, so its history may have been pruned. */
  mayBePruned: boolean;
}

/** A fact that contradicts the model. */
export class SimulationFailure extends Error {}

/** True for two states that nothing distinguishes, because neither has its mark. */
function isEmptyLike(a: Contents, b: Contents): boolean {
  return !a.keys.has(MARK) && !b.keys.has(MARK) && a.alarm === b.alarm;
}

/** The part of a bookmark that names a commit. Behind it, the markers after the commit differ, in no order. */
function commitOf(bookmark: string): string {
  return bookmark.slice(0, 17);
}

/** The failure, with its step. */
export function inStep(error: unknown, index: number, kind: string): SimulationFailure {
  const text = error instanceof Error ? error.message : String(error);
  return new SimulationFailure(`step ${index} (${kind}): ${text}`, { cause: error });
}

export class History {
  /** In order of the commits. Restores do not remove states; states known to be lost are removed. */
  readonly states: State[];
  /** Commits that a power failure may have taken. The restore that followed hides which it took. */
  readonly #perhapsLost = new Set<State>();
  /** Index of the last acknowledged state, the oldest that may be found after a power failure. */
  acknowledged = 0;
  /** The state after the commit in progress. */
  attempt: State | null = null;
  /** True from the request of a restore to the next opening. */
  keepsTimeline = false;
  readonly known: Known[] = [];
  readonly #clock: WallClock;
  /** Few bytes are kept: the state before the last commit, and perhaps no other. */
  readonly #isBounded: boolean;
  /** Old history may have been pruned: few bytes are kept, or the disk has been full. */
  #isPruned: boolean;

  /** Of old history, the last state of each minute or hour is kept. */
  readonly #isThinned: boolean;

  constructor(first: State, clock: WallClock, isBounded = false, isThinned = false) {
    this.#isThinned = isThinned;
    this.states = [first];
    this.#clock = clock;
    this.#isBounded = isBounded;
    this.#isPruned = isBounded;
  }

  /** Old history may have been pruned. */
  get mayBeShort(): boolean {
    return this.#isPruned || this.#isThinned;
  }

  get last(): State {
    return this.states.at(-1)!;
  }

  /** The states that may be found after a power failure, newest first. */
  candidates(): State[] {
    const made = this.states.slice(this.acknowledged);
    return (this.attempt === null ? made : [...made, this.attempt]).toReversed();
  }

  /** A commit begins; `committed` is called once it has succeeded. */
  attempts(contents: Contents, timeMs: number, by?: CommitAuthor | null): void {
    const { keepsTimeline } = this;
    this.attempt = { contents, timeMs, keepsTimeline, ...(by !== undefined && { by }) };
  }

  committed(): void {
    if (this.attempt !== null) this.states.push(this.attempt);
    this.attempt = null;
  }

  /** Everything so far is durable. */
  acknowledge(): void {
    this.acknowledged = this.states.length - 1;
    for (const known of this.known) known.isDurable = true;
  }

  /** The object was opened in this state: it must survive, and later states are lost. */
  found(state: State): void {
    this.committed();
    const index = this.states.indexOf(state);
    this.states.splice(index + 1);
    // An object without entries may be that of the beginning, or of another deleteAll.
    const first = this.states.findIndex(
      (other, i) => i >= this.acknowledged && isEmptyLike(state.contents, other.contents),
    );
    if (first >= 0) for (const other of this.states.slice(first + 1)) this.#perhapsLost.add(other);
    this.acknowledged = this.states.length - 1;
    const lost = this.known.filter(({ isDurable }) => !isDurable);
    for (const known of lost) this.known.splice(this.known.indexOf(known), 1);
  }

  /** The object was opened and restored. */
  restored(contents: Contents, timeMs: number): void {
    this.committed();
    for (const state of this.states.slice(this.acknowledged + 1)) this.#perhapsLost.add(state);
    this.found(this.last);
    this.states.push({ contents, timeMs });
    this.acknowledged = this.states.length - 1;
  }

  /**
   * The last state is that of a restore which is shown. Its commit has the time of this opening, and follows with a
   * step that writes, or names a commit.
   */
  madeAt(timeMs: number): void {
    this.states[this.states.length - 1] = { ...this.last, timeMs };
  }

  /**
   * True if a power failure leaves the bookmark of a state. The last state is named by the record of a requested
   * restore, if there is one, so everything in the log must be durable.
   */
  isDurable(state: State, isAllDurable: boolean): boolean {
    return this.states.indexOf(state) <= this.acknowledged && (state !== this.last || isAllDurable);
  }

  /** The states that a time of the wall clock may name, newest first: those of the moments at which it was shown. */
  at(shownMs: number): State[] {
    const moments = this.#clock.momentsOf(shownMs);
    const possible = moments.flatMap((momentMs) => this.#atMoment(momentMs));
    const found = moments.length > 0 ? possible : [this.states[0]!]; // before everything
    return [...new Set(found)].toReversed();
  }

  /** True if a time of the wall clock must name a state: nothing has pruned it, and the order of the commits proves it. */
  mustName(shownMs: number): boolean {
    const { inOrderFromMs, nowMs } = this.#clock;
    if (this.#isPruned || shownMs > nowMs || nowMs - shownMs > WINDOW_MS) return false;
    const provedFromMs = inOrderFromMs + CLOCK_BACK_MS;
    return this.at(shownMs).every(
      (state) => state.timeMs > provedFromMs && !this.#perhapsLost.has(state),
    );
  }

  /** The states of which one was the last at a moment, oldest first. */
  #atMoment(momentMs: number): State[] {
    const lastAt = (timeMs: number) =>
      Math.max(
        this.states.findLastIndex((state) => state.timeMs <= timeMs),
        0,
      );
    const newest = lastAt(momentMs);
    // The last state of each hour is kept, also of the hour before.
    if (this.#isThinned) return this.states.slice(lastAt(momentMs - THINNED_MS), newest + 1);
    let oldest = this.#clock.wasSet ? lastAt(momentMs - CLOCK_BACK_MS) : newest;
    while (this.#perhapsLost.has(this.states[oldest]!)) oldest--;
    return this.states.slice(oldest, newest + 1);
  }

  /** True if the order of two commits proves that the wall clock showed a time before both, and again between them. */
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

  /** True if a state of this moment may be pruned: it is old, or the wall clock said so and was ahead for over a day. */
  #isOld(timeMs: number): boolean {
    const { elapsedMs, latestMs } = this.#clock;
    const isOld = elapsedMs - timeMs >= WINDOW_MS;
    return isOld || latestMs - this.#clock.shownAt(timeMs) >= WINDOW_MS + DAY_MS;
  }

  /** A bookmark of the state before the last. */
  get recent(): Known | undefined {
    return this.known.findLast(({ state }) => state !== undefined && state === this.states.at(-2));
  }

  /** True if it names the last state or the one before. */
  #isRecent({ state }: Known): boolean {
    return state !== undefined && this.states.slice(-2).includes(state);
  }

  /** From now on, old history may be pruned to free space. */
  mayBePruned(): void {
    this.#isPruned = true;
    for (const known of this.known) known.mayBePruned = true;
  }

  /** Records a bookmark. @throws SimulationFailure if it is out of order */
  hand(text: string, state: State, isDurable: boolean): void {
    this.checkOrder(text);
    const { contents, timeMs } = state;
    this.known.push({ text, contents: [contents], timeMs, state, isDurable, mayBePruned: false });
  }

  /** Records the bookmark of a time. @throws SimulationFailure if the time names no state for certain */
  named(text: string, shownMs: number, isAllDurable: boolean): void {
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
  checkRefusal(wanted: readonly Known[], error: unknown): void {
    if (!isStorageError(error) || !REFUSALS.includes(error.code) || wanted.length === 0)
      throw error;
    if (wanted.some((known) => this.#mayRefuse(known, error.code))) return;
    const texts = wanted.map(({ text }) => text).join(' or ');
    throw new SimulationFailure(
      `the bookmark ${texts}, returned as durable, is refused: ${error.code} ${error.message}`,
    );
  }

  /** True if there may be a documented reason to refuse a restore. */
  mayRefuseSomehow(known: Known): boolean {
    return REFUSALS.some((code) => this.#mayRefuse(known, code));
  }

  /**
   * True if a restore may be refused with this code. Pruned history is CORRUPT if a power failure has
   * undone the removal of some of its files, because a gap cannot be distinguished from damage.
   */
  #mayRefuse(known: Known, code: string): boolean {
    if (!known.isDurable) return code === 'BOOKMARK_INVALID' || code === 'BOOKMARK_UNAVAILABLE';
    const isPruned =
      this.#isOld(known.timeMs) || known.mayBePruned || (this.#isBounded && !this.#isRecent(known));
    if (this.#isThinned && !this.#isRecent(known) && code === 'BOOKMARK_UNAVAILABLE') return true;
    return isPruned && (code === 'BOOKMARK_UNAVAILABLE' || code === 'CORRUPT');
  }
}
