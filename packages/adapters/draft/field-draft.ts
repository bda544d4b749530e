// The text of one field, the stored text that it is bound to, and the saves that are on their way.
//
// Stored texts are told in the order of their commits, some are skipped, and each may be told late. So a text that was
// sent and not told of yet is taken for the echo of its own save, and any other one for somebody else's. If a text is
// saved, and the one before it stored again before anything was told, this is not noticed.
//
// Invariants: the text is replaced only while all its letters are saved, or by `resolve('theirs')`. One save runs at a
// time, but for the last one of a page that is going. A text is saved by the function that was there when it was typed.

import type { DraftOptions, DraftState, SaveText, TextDraft } from '@ctx-storage/core/contract';
import { storageError } from '@ctx-storage/core/errors';

const DELAY_DEFAULT_MS = 300;

/** The longest wait of a timer, in milliseconds. */
const DELAY_MAX_MS = 2 ** 31 - 1;

/** At the latest so long after the first unsaved letter a text is saved, while somebody types without a pause. */
const UNSAVED_MAX_MS = 5000;

/**
 * So long the echo of the newest save is waited for while that of an older one is the last stored text that was told.
 * After that it is taken for a change: an undo, for example, can store an older text again.
 */
const ECHO_WAIT_MS = 5000;

export class FieldDraft implements TextDraft {
  /** Saves the letters that are typed from now on. */
  save: SaveText;

  readonly #name: string;
  readonly #delayMs: number;
  readonly #listeners = new Set<{ readonly call: (state: DraftState) => void }>();
  #state: DraftState;

  /** The last stored text that was told. */
  #value: string;
  /** The stored text that the user's text was made from. */
  #base: string;
  /** Texts whose save has begun and that were not told since, oldest first. */
  #sent: string[] = [];
  /** The last told text is the echo of a save, and not of the newest one. */
  #isBehind = false;
  #echoTimer: ReturnType<typeof setTimeout> | undefined;

  /** The function that saves the text of now. */
  #saveOfText: SaveText;
  /** Letters were typed that no save has taken yet. */
  #isUnsaved = false;
  #unsavedSinceMs = 0;
  #saveTimer: ReturnType<typeof setTimeout> | undefined;
  #inFlight = 0;
  /** The saves that run one after the other. */
  #running: Promise<void> | null = null;
  /** After the save that runs, the next one starts without a delay. */
  #isDue = false;
  /** Saves were on their way when `theirs` was told: which of the texts is stored last is not known. */
  #isTheirsUncertain = false;

  /** `name` is the function that the user called. @throws StorageError INVALID_ARGUMENT */
  constructor(
    name: string,
    value: string,
    save: SaveText,
    { delayMs = DELAY_DEFAULT_MS }: DraftOptions = {},
  ) {
    this.#name = name;
    this.#mustBeText('value', value);
    if (typeof save !== 'function') throw this.#invalid('save is a function, which stores a text');
    if (!(typeof delayMs === 'number' && delayMs >= 0 && delayMs <= DELAY_MAX_MS)) {
      throw this.#invalid(`delayMs is a number from 0 to ${DELAY_MAX_MS}, not ${String(delayMs)}`);
    }
    this.save = save;
    this.#saveOfText = save;
    this.#delayMs = delayMs;
    this.#value = value;
    this.#base = value;
    this.#state = saved(value);
  }

  readonly getState = (): DraftState => this.#state;

  readonly subscribe = (listener: (state: DraftState) => void): (() => void) => {
    const entry = { call: listener };
    this.#listeners.add(entry);
    if (this.#listeners.size === 1) this.#watchPage(true);
    guarded(() => listener(this.#state));
    return () => {
      if (!this.#listeners.delete(entry) || this.#listeners.size > 0) return;
      this.#watchPage(false);
      this.#startSaving();
    };
  };

  readonly setText = (text: string): void => {
    this.#mustBeText('text', text);
    if (text === this.#state.text) return;
    this.#saveOfText = this.save;
    if (!this.#isUnsaved) this.#unsavedSinceMs = Date.now();
    this.#isUnsaved = true;
    if (this.#state.state === 'conflict') {
      this.#become({ ...this.#state, text });
      return;
    }
    this.#become(saving(text, this.#state.error));
    const latestMs = this.#unsavedSinceMs + UNSAVED_MAX_MS - Date.now();
    this.#saveAfter(Math.min(this.#delayMs, Math.max(latestMs, 0)));
  };

  readonly setValue = (value: string): void => {
    this.#mustBeText('value', value);
    if (value === this.#value) return;
    this.#value = value;
    const echo = this.#sent.indexOf(value);
    this.#sent.splice(0, echo + 1);
    this.#isBehind = echo >= 0 && this.#sent.length > 0;
    // After a failed save, which may have been stored all the same, only the told text is known.
    const isKnown = !this.#isBehind || this.#state.error !== undefined;
    if (echo >= 0 && isKnown) this.#base = value;
    if (echo >= 0 && this.#state.state === 'conflict') this.#isTheirsUncertain = true;
    else if (value === this.#state.text) this.#agree();
    else if (echo < 0) this.#takeForeign(value);
    this.#awaitEcho();
  };

  readonly resolve = (choice: 'mine' | 'theirs'): void => {
    if (choice !== 'mine' && choice !== 'theirs') {
      throw this.#invalid(`resolve takes 'mine' or 'theirs', not ${String(choice)}`);
    }
    if (this.#state.state !== 'conflict') return;
    const { text, theirs } = this.#state;
    this.#base = this.#value;
    this.#isUnsaved = choice === 'mine' || this.#isTheirsUncertain;
    this.#become(saving(choice === 'mine' ? text : theirs));
    this.#startSaving();
    this.#becomeSaved();
  };

  readonly flush = (): Promise<void> => {
    this.#startSaving();
    return this.#running ?? Promise.resolve();
  };

  /** The stored text is the one of the user. */
  #agree(): void {
    this.#base = this.#value;
    if (this.#inFlight === 0 && this.#sent.length === 0) {
      clearTimeout(this.#saveTimer);
      this.#isUnsaved = false;
      this.#become(saved(this.#value));
    } else if (this.#state.state === 'conflict') {
      // A save that is on its way may store another text after this one.
      this.#isUnsaved = true;
      this.#become(saving(this.#value));
      this.#startSaving();
    }
  }

  #takeForeign(value: string): void {
    if (this.#state.state === 'saved') {
      this.#sent = [];
      this.#base = value;
      this.#become(saved(value));
      return;
    }
    clearTimeout(this.#saveTimer);
    this.#isTheirsUncertain = this.#sent.length > 0;
    this.#become({ text: this.#state.text, state: 'conflict', error: undefined, theirs: value });
  }

  #saveAfter(delayMs: number): void {
    clearTimeout(this.#saveTimer);
    this.#saveTimer = setTimeout(() => this.#startSaving(), delayMs);
  }

  #startSaving(): void {
    clearTimeout(this.#saveTimer);
    if (!this.#isUnsaved || this.#state.state === 'conflict') return;
    this.#isDue = true;
    this.#running ??= this.#saveAll();
  }

  async #saveAll(): Promise<void> {
    while (this.#isDue && this.#isUnsaved && this.#state.state !== 'conflict') {
      this.#isDue = false;
      await this.#saveOnce();
    }
    this.#running = null;
  }

  /** Calls the save before it returns. */
  async #saveOnce(): Promise<void> {
    const { text } = this.#state;
    const save = this.#saveOfText;
    // Beside a save that runs, this one finds the text of that one.
    const base = this.#inFlight > 0 ? (this.#sent.at(-1) ?? this.#base) : this.#base;
    this.#isUnsaved = false;
    this.#sent.push(text);
    this.#inFlight += 1;
    let failure: { readonly error: unknown } | null = null;
    try {
      await this.#promiseOf(save(text, base));
    } catch (error) {
      failure = { error: error ?? new Error('The save was rejected without an error.') };
    }
    this.#inFlight -= 1;
    if (failure === null) this.#wasSaved(text, base);
    else this.#wasNotSaved(failure.error);
    this.#awaitEcho();
  }

  #wasSaved(text: string, base: string): void {
    if (this.#state.state === 'conflict') return;
    // Otherwise another stored text has come since.
    if (this.#base === base) this.#base = text;
    this.#become(saving(this.#state.text));
    this.#becomeSaved();
  }

  #wasNotSaved(error: unknown): void {
    if (this.#state.state === 'conflict') return;
    // The save beside it has the text of now.
    if (this.#inFlight > 0 && !this.#isUnsaved) return;
    // It was told before its save failed: only the answer was lost.
    if (this.#value === this.#state.text && this.#sent.length === 0) {
      this.#agree();
      return;
    }
    this.#isUnsaved = true;
    this.#become(saving(this.#state.text, error));
  }

  /** Says so, if all letters are saved. */
  #becomeSaved(): void {
    if (!this.#isUnsaved && this.#inFlight === 0) this.#become(saved(this.#state.text));
  }

  #awaitEcho(): void {
    clearTimeout(this.#echoTimer);
    if (!this.#isBehind || this.#inFlight > 0) return;
    this.#echoTimer = setTimeout(() => {
      // Letters that wait will be saved, and their save begins this again.
      if (this.#state.state !== 'saved' && this.#state.error === undefined) return;
      this.#isBehind = false;
      this.#sent = [];
      this.#takeForeign(this.#value);
    }, ECHO_WAIT_MS);
  }

  #watchPage(isOn: boolean): void {
    if (typeof document === 'undefined' || typeof window === 'undefined') return;
    const change = isOn ? 'addEventListener' : 'removeEventListener';
    window[change]('pagehide', this.#onPageHide);
    document[change]('visibilitychange', this.#onPause);
    document[change]('focusout', this.#onPause);
  }

  readonly #onPause = (): void => this.#startSaving();

  /** Nothing runs after this event, so the last letters do not wait for the save before theirs. */
  readonly #onPageHide = (): void => {
    this.#startSaving();
    if (this.#isUnsaved && this.#state.state !== 'conflict') void this.#saveOnce();
  };

  #become(state: DraftState): void {
    const last = this.#state;
    const isSame =
      last.text === state.text &&
      last.state === state.state &&
      last.error === state.error &&
      last.theirs === state.theirs;
    if (isSame) return;
    this.#state = state;
    for (const { call } of [...this.#listeners]) guarded(() => call(state));
  }

  /** The cursor of `exec` is no promise, and would be taken for a text that is stored. */
  #promiseOf(result: PromiseLike<unknown> | undefined): PromiseLike<unknown> {
    if (typeof result?.then === 'function') return result;
    throw this.#invalid(
      'save must return a promise, which resolves when the text is stored, such as storage.sql.exec(…).ready',
    );
  }

  #mustBeText(what: string, text: unknown): void {
    if (typeof text === 'string') return;
    throw this.#invalid(
      `the ${what} is a string, not ${text === null ? 'null' : typeof text}. Before the row is read, give ''`,
    );
  }

  #invalid(fact: string): Error {
    return storageError('INVALID_ARGUMENT', `${this.#name}: ${fact}.`);
  }
}

function saved(text: string): DraftState {
  return { text, state: 'saved', error: undefined, theirs: undefined };
}

function saving(text: string, error?: unknown): DraftState {
  return { text, state: 'saving', error, theirs: undefined };
}

/** Errors of a listener are reported, and other listeners are called all the same. */
function guarded(call: () => void): void {
  try {
    call();
  } catch (error) {
    void Promise.reject(error);
  }
}
