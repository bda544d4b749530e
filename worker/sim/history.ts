// What the history of a simulated object must be: the states it had, which of them must survive, and
// the bookmarks that were handed out.

import { isStorageError } from '../../src/contract/errors.ts';
import type { Contents } from './contents.ts';

const WINDOW_MS = 30 * 86_400_000;
/** What is said of a restore that cannot be made. */
const REFUSALS: readonly string[] = ['BOOKMARK_INVALID', 'BOOKMARK_UNAVAILABLE', 'CORRUPT'];

/** What the object was after a commit. */
export interface State {
  readonly contents: Contents;
  readonly timeMs: number;
}

/** A bookmark that was handed out. */
export interface Known {
  readonly text: string;
  /** What a restore to it may give: one thing, but after a loss nobody can tell which. */
  readonly contents: readonly Contents[];
  readonly timeMs: number;
  /** It was given when all before it was on disk, or that came later. */
  isDurable: boolean;
  /** The disk was full since: its history may have been pruned. */
  mayBePruned: boolean;
}

/** A fact that contradicts the model. */
export class SimulationFailure extends Error {}

/** The failure, with the step it came in. */
export function inStep(error: unknown, index: number, kind: string): SimulationFailure {
  const text = error instanceof Error ? error.message : String(error);
  return new SimulationFailure(`step ${index} (${kind}): ${text}`, { cause: error });
}

export class History {
  /** In order of the commits; undone ones stay, lost ones go. */
  readonly states: State[];
  /** The first of `states` that may be found after a loss: everything to it was acknowledged. */
  acknowledged = 0;
  /** The state that a commit under way would make. */
  attempt: State | null = null;
  readonly known: Known[] = [];

  constructor(first: State) {
    this.states = [first];
  }

  get last(): State {
    return this.states.at(-1)!;
  }

  /** The states that may be found after a loss, the newest first. */
  candidates(): State[] {
    const made = this.states.slice(this.acknowledged);
    return (this.attempt === null ? made : [...made, this.attempt]).toReversed();
  }

  /** A commit begins; `committed` when it has succeeded. */
  attempts(contents: Contents, timeMs: number): void {
    this.attempt = { contents, timeMs };
  }

  committed(): void {
    if (this.attempt !== null) this.states.push(this.attempt);
    this.attempt = null;
  }

  /** Everything so far is on disk. */
  acknowledge(): void {
    this.acknowledged = this.states.length - 1;
    for (const known of this.known) known.isDurable = true;
  }

  /** The object was opened and found in this state: it stays, later ones are gone. */
  found(state: State): void {
    this.committed();
    this.states.splice(this.states.indexOf(state) + 1);
    this.acknowledged = this.states.length - 1;
    const lost = this.known.filter(({ isDurable }) => !isDurable);
    for (const known of lost) this.known.splice(this.known.indexOf(known), 1);
  }

  /** The object was opened and restored. */
  restored(contents: Contents, timeMs: number): void {
    this.committed();
    this.found(this.last);
    this.states.push({ contents, timeMs });
    this.acknowledged = this.states.length - 1;
  }

  /** The state at a time. */
  at(timeMs: number): State {
    return this.states.findLast((state) => state.timeMs <= timeMs) ?? this.states[0]!;
  }

  /** From now on old history may be pruned for room. */
  mayBePruned(): void {
    for (const known of this.known) known.mayBePruned = true;
  }

  /** Remembers a bookmark; @throws SimulationFailure when it is out of order */
  hand(text: string, state: Pick<State, 'contents' | 'timeMs'>, isDurable: boolean): void {
    this.checkOrder(text);
    const { contents, timeMs } = state;
    this.known.push({ text, contents: [contents], timeMs, isDurable, mayBePruned: false });
  }

  /** Bookmarks sort as their moments do; this one is of the present. */
  checkOrder(text: string): void {
    for (const known of this.known) {
      if (known.isDurable && known.text > text) {
        throw new SimulationFailure(
          `the present has the bookmark ${text}, an earlier moment ${known.text}`,
        );
      }
    }
  }

  /** Lets the refusal of a restore pass when there is a documented reason for it. */
  checkRefusal(wanted: readonly Known[], error: unknown, nowMs: number): void {
    if (!isStorageError(error) || !REFUSALS.includes(error.code) || wanted.length === 0)
      throw error;
    if (wanted.some((known) => this.#mayRefuse(known, error.code, nowMs))) return;
    const texts = wanted.map(({ text }) => text).join(' or ');
    throw new SimulationFailure(
      `the bookmark ${texts}, handed out as durable, is refused: ${error.code} ${error.message}`,
    );
  }

  /** True when there may be a documented reason to refuse a restore. */
  mayRefuseSomehow(known: Known, nowMs: number): boolean {
    return REFUSALS.some((code) => this.#mayRefuse(known, code, nowMs));
  }

  /**
   * True when a restore may be refused with this code. History that was pruned is CORRUPT when
   * power has undone the removal of some of its files: a gap cannot be told from damage.
   */
  #mayRefuse(known: Known, code: string, nowMs: number): boolean {
    if (!known.isDurable) return code === 'BOOKMARK_INVALID' || code === 'BOOKMARK_UNAVAILABLE';
    const isOld = nowMs - known.timeMs >= WINDOW_MS;
    const isPruned = isOld || known.mayBePruned;
    return isPruned && (code === 'BOOKMARK_UNAVAILABLE' || code === 'CORRUPT');
  }
}
