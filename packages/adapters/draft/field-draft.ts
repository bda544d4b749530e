// The text of one field, the stored text to which it is bound, and the saves that are under way.
//
// The app reports stored texts in the order of their commits, perhaps late, and may skip some. A reported text that
// equals a sent one, which was not reported yet, is taken for the echo of that save. Any other text is taken for
// somebody else's. If a text is saved, and the text before it is stored again before anything is reported, this goes
// unnoticed.
//
// Invariants: the text is replaced only while all its letters are saved, or by `resolve('theirs')`. One save runs at a
// time, except that the last one of a page that is left does not wait. A text is saved by the function that was set
// when it was typed.

import type { DraftOptions, DraftState, SaveText, TextDraft } from '@ctx-storage/core/contract';
import { storageError } from '@ctx-storage/core/errors';

const DELAY_DEFAULT_MS = 300;

/** The longest wait of a timer, in milliseconds. */
const DELAY_MAX_MS = 2 ** 31 - 1;

/** The longest time after the first unsaved letter until the text is saved, if the user types without a pause. */
const UNSAVED_MAX_MS = 5000;

/**
 * How long the draft waits for the echo of the newest save while the last reported text is the echo of an older save.
 * After that, the reported text is taken for a change: an undo, for example, stores an older text again.
 */
const ECHO_WAIT_MS = 5000;

export class FieldDraft implements TextDraft {
  /** The function that saves letters that are typed from now on. */
  save: SaveText;

  readonly #name: string;
  readonly #delayMs: number;
  readonly #listeners = new Set<{ readonly call: (state: DraftState) => void }>();
  #state: DraftState;

  /** The last stored text that the app reported. */
  #reportedValue: string;
  /** The stored text from which the user's text was made. */
  #baseText: string;
  /** The texts whose save has begun and which were not reported since, the oldest first. */
  #unreportedTexts: string[] = [];
  /** True if the last reported text is the echo of a save that is not the newest. */
  #isOlderEcho = false;
  #echoTimer: ReturnType<typeof setTimeout> | undefined;

  /** The function that saves the present text. */
  #saveOfText: SaveText;
  /** True if letters were typed for which no save has begun. */
  #isUnsaved = false;
  #unsavedSinceMs = 0;
  #saveTimer: ReturnType<typeof setTimeout> | undefined;
  #runningSaves = 0;
  /** Settles when the saves that run one after the other have ended; null if none runs. */
  #saveLoop: Promise<void> | null = null;
  /** True if another save starts without a delay after the running one. */
  #saveAgain = false;
  /** True if saves were under way when `theirs` was reported, so that it is not known which text is stored last. */
  #isTheirsUncertain = false;

  /** `name` is the function that the user called, for messages. @throws StorageError INVALID_ARGUMENT */
  constructor(
    name: string,
    value: string,
    save: SaveText,
    { delayMs = DELAY_DEFAULT_MS }: DraftOptions = {},
  ) {
    this.#name = name;
    this.#checkText('value', value);
    if (typeof save !== 'function') throw this.#invalid('save is a function, which stores a text');
    if (!(typeof delayMs === 'number' && delayMs >= 0 && delayMs <= DELAY_MAX_MS)) {
      throw this.#invalid(`delayMs is a number from 0 to ${DELAY_MAX_MS}, not ${String(delayMs)}`);
    }
    this.save = save;
    this.#saveOfText = save;
    this.#delayMs = delayMs;
    this.#reportedValue = value;
    this.#baseText = value;
    this.#state = savedState(value);
  }

  readonly getState = (): DraftState => this.#state;

  readonly subscribe = (listener: (state: DraftState) => void): (() => void) => {
    const entry = { call: listener };
    this.#listeners.add(entry);
    if (this.#listeners.size === 1) this.#watchPage(true);
    callListener(() => listener(this.#state));
    return () => {
      if (!this.#listeners.delete(entry) || this.#listeners.size > 0) return;
      this.#watchPage(false);
      this.#startSaving();
    };
  };

  readonly setText = (text: string): void => {
    this.#checkText('text', text);
    if (text === this.#state.text) return;
    this.#saveOfText = this.save;
    if (!this.#isUnsaved) this.#unsavedSinceMs = Date.now();
    this.#isUnsaved = true;
    if (this.#state.state === 'conflict') {
      this.#setState({ ...this.#state, text });
      return;
    }
    this.#setState(savingState(text, this.#state.error));
    const latestMs = this.#unsavedSinceMs + UNSAVED_MAX_MS - Date.now();
    this.#saveAfter(Math.min(this.#delayMs, Math.max(latestMs, 0)));
  };

  readonly setValue = (value: string): void => {
    this.#checkText('value', value);
    if (value === this.#reportedValue) return;
    this.#reportedValue = value;
    const echo = this.#unreportedTexts.indexOf(value);
    this.#unreportedTexts.splice(0, echo + 1);
    this.#isOlderEcho = echo >= 0 && this.#unreportedTexts.length > 0;
    // A failed save may have been stored or not, so after one only the reported text is known to be stored.
    const isBaseKnown = !this.#isOlderEcho || this.#state.error !== undefined;
    if (echo >= 0 && isBaseKnown) this.#baseText = value;
    if (echo >= 0 && this.#state.state === 'conflict') this.#isTheirsUncertain = true;
    else if (value === this.#state.text) this.#acceptEqualText();
    else if (echo < 0) this.#acceptForeignText(value);
    this.#awaitEcho();
  };

  readonly resolve = (choice: 'mine' | 'theirs'): void => {
    if (choice !== 'mine' && choice !== 'theirs') {
      throw this.#invalid(`resolve takes 'mine' or 'theirs', not ${String(choice)}`);
    }
    if (this.#state.state !== 'conflict') return;
    const { text, theirs } = this.#state;
    this.#baseText = this.#reportedValue;
    this.#isUnsaved = choice === 'mine' || this.#isTheirsUncertain;
    this.#setState(savingState(choice === 'mine' ? text : theirs));
    this.#startSaving();
    this.#markSavedIfDone();
  };

  readonly flush = (): Promise<void> => {
    this.#startSaving();
    return this.#saveLoop ?? Promise.resolve();
  };

  /** Handles a reported text that equals the user's text. */
  #acceptEqualText(): void {
    this.#baseText = this.#reportedValue;
    if (this.#runningSaves === 0 && this.#unreportedTexts.length === 0) {
      clearTimeout(this.#saveTimer);
      this.#isUnsaved = false;
      this.#setState(savedState(this.#reportedValue));
    } else if (this.#state.state === 'conflict') {
      // A save that is under way may store another text after this one, so the user's text is saved again.
      this.#isUnsaved = true;
      this.#setState(savingState(this.#reportedValue));
      this.#startSaving();
    }
  }

  #acceptForeignText(value: string): void {
    if (this.#state.state === 'saved') {
      this.#unreportedTexts = [];
      this.#baseText = value;
      this.#setState(savedState(value));
      return;
    }
    clearTimeout(this.#saveTimer);
    this.#isTheirsUncertain = this.#unreportedTexts.length > 0;
    this.#setState({ text: this.#state.text, state: 'conflict', error: undefined, theirs: value });
  }

  #saveAfter(delayMs: number): void {
    clearTimeout(this.#saveTimer);
    this.#saveTimer = setTimeout(() => this.#startSaving(), delayMs);
  }

  #startSaving(): void {
    clearTimeout(this.#saveTimer);
    if (!this.#isUnsaved || this.#state.state === 'conflict') return;
    this.#saveAgain = true;
    this.#saveLoop ??= this.#saveAll();
  }

  async #saveAll(): Promise<void> {
    while (this.#saveAgain && this.#isUnsaved && this.#state.state !== 'conflict') {
      this.#saveAgain = false;
      await this.#saveOnce();
    }
    this.#saveLoop = null;
  }

  /**
   * Saves the text once. It calls the user's function before it returns, because a page that is left runs nothing
   * later.
   */
  async #saveOnce(): Promise<void> {
    const { text } = this.#state;
    const save = this.#saveOfText;
    // If another save runs, this one will find that save's text stored.
    const base =
      this.#runningSaves > 0 ? (this.#unreportedTexts.at(-1) ?? this.#baseText) : this.#baseText;
    this.#isUnsaved = false;
    this.#unreportedTexts.push(text);
    this.#runningSaves += 1;
    let failure: { readonly error: unknown } | null = null;
    try {
      await this.#checkPromise(save(text, base));
    } catch (error) {
      failure = { error: error ?? new Error('The save was rejected without an error.') };
    }
    this.#runningSaves -= 1;
    if (failure === null) this.#onSaved(text, base);
    else this.#onSaveFailed(failure.error);
    this.#awaitEcho();
  }

  #onSaved(text: string, base: string): void {
    if (this.#state.state === 'conflict') return;
    // If the base has changed, another stored text was reported during the save.
    if (this.#baseText === base) this.#baseText = text;
    this.#setState(savingState(this.#state.text));
    this.#markSavedIfDone();
  }

  #onSaveFailed(error: unknown): void {
    if (this.#state.state === 'conflict') return;
    // A save that still runs has the current text.
    if (this.#runningSaves > 0 && !this.#isUnsaved) return;
    // The text was reported as stored before its save failed, so only the answer was lost.
    if (this.#reportedValue === this.#state.text && this.#unreportedTexts.length === 0) {
      this.#acceptEqualText();
      return;
    }
    this.#isUnsaved = true;
    this.#setState(savingState(this.#state.text, error));
  }

  /** Changes the state to `savedState` if all letters are saved. */
  #markSavedIfDone(): void {
    if (!this.#isUnsaved && this.#runningSaves === 0) this.#setState(savedState(this.#state.text));
  }

  #awaitEcho(): void {
    clearTimeout(this.#echoTimer);
    if (!this.#isOlderEcho || this.#runningSaves > 0) return;
    this.#echoTimer = setTimeout(() => {
      // Letters that wait will be saved, and that save starts this timer again.
      if (this.#state.state !== 'saved' && this.#state.error === undefined) return;
      this.#isOlderEcho = false;
      this.#unreportedTexts = [];
      this.#acceptForeignText(this.#reportedValue);
    }, ECHO_WAIT_MS);
  }

  #watchPage(isWatched: boolean): void {
    if (typeof document === 'undefined' || typeof window === 'undefined') return;
    const change = isWatched ? 'addEventListener' : 'removeEventListener';
    window[change]('pagehide', this.#onPageHide);
    document[change]('visibilitychange', this.#saveAtPause);
    document[change]('focusout', this.#saveAtPause);
  }

  readonly #saveAtPause = (): void => this.#startSaving();

  /** Saves without waiting for a running save, because nothing runs after this event. */
  readonly #onPageHide = (): void => {
    this.#startSaving();
    if (this.#isUnsaved && this.#state.state !== 'conflict') void this.#saveOnce();
  };

  #setState(state: DraftState): void {
    const last = this.#state;
    const isSame =
      last.text === state.text &&
      last.state === state.state &&
      last.error === state.error &&
      last.theirs === state.theirs;
    if (isSame) return;
    this.#state = state;
    for (const { call } of [...this.#listeners]) callListener(() => call(state));
  }

  /**
   * Returns the promise of a save.
   *
   * @throws INVALID_ARGUMENT for another result, such as a cursor of `exec`, which has not run yet
   */
  #checkPromise(result: PromiseLike<unknown> | undefined): PromiseLike<unknown> {
    if (typeof result?.then === 'function') return result;
    throw this.#invalid(
      'save must return a promise, which resolves when the text is stored, such as storage.sql.exec(…).ready',
    );
  }

  #checkText(argument: string, text: unknown): void {
    if (typeof text === 'string') return;
    throw this.#invalid(
      `the ${argument} is a string, not ${text === null ? 'null' : typeof text}. Before the row is read, give ''`,
    );
  }

  #invalid(fact: string): Error {
    return storageError('INVALID_ARGUMENT', `${this.#name}: ${fact}.`);
  }
}

function savedState(text: string): DraftState {
  return { text, state: 'saved', error: undefined, theirs: undefined };
}

function savingState(text: string, error?: unknown): DraftState {
  return { text, state: 'saving', error, theirs: undefined };
}

/** Calls a listener. An error of it becomes an unhandled rejection, so that the other listeners are still called. */
function callListener(call: () => void): void {
  try {
    call();
  } catch (error) {
    void Promise.reject(error);
  }
}
