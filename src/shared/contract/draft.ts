// Declares the types of a text that is edited and saved, for `ctx-storage/draft` and for the hook that shows it.

/**
 * Stores the text, and resolves when the text is stored. An example is `storage.sql.exec(…).ready`, or a call of a
 * method. `base` is the stored text that the user has edited: a save that finds another stored text throws, instead of
 * overwriting it.
 */
export type SaveText = (text: string, base: string) => PromiseLike<unknown>;

export interface DraftOptions {
  /**
   * The time between the last letter and the save, in milliseconds. The save happens at the latest 5 seconds after the
   * first letter that is not saved, or after `delayMs` if that is longer.
   *
   * @default 300
   */
  delayMs?: number;
}

/** The text, and how much of it is stored. It is the same object until something changes. */
export type DraftState =
  | {
      readonly text: string;
      readonly state: 'saved';
      readonly error: undefined;
      readonly theirs: undefined;
    }
  /**
   * Letters wait to be saved, or are being saved. `error` says why the last save failed; the next letter or `flush`
   * repeats the save.
   */
  | {
      readonly text: string;
      readonly state: 'saving';
      readonly error: unknown;
      readonly theirs: undefined;
    }
  /** Other code stored `theirs` while letters were not saved. Nothing is saved until `resolve` is called. */
  | {
      readonly text: string;
      readonly state: 'conflict';
      readonly error: undefined;
      readonly theirs: string;
    };

/** The actions of a user. Each function works without its object, so it may be passed on alone. */
export interface DraftControls {
  /** Call this when the user has changed the text. */
  readonly setText: (text: string) => void;
  /**
   * Ends a conflict with the user's text, which is then saved, or with `theirs`. Without a conflict it does nothing.
   */
  readonly resolve: (choice: 'mine' | 'theirs') => void;
  /** Saves now. Resolves once everything is saved, or once `state` and `error` say why it could not be saved. */
  readonly flush: () => Promise<void>;
}

/**
 * A text that is edited and saved. While it has a listener, it also saves at once when the focus leaves a field, when
 * the page is hidden, and when the last listener goes.
 */
export interface TextDraft extends DraftControls {
  readonly getState: () => DraftState;
  /** Calls the listener at once, then after each change. Returns the function that removes the listener. */
  readonly subscribe: (listener: (state: DraftState) => void) => () => void;
  /**
   * Passes the stored text to the draft; call it each time the text was read. A text that this draft has itself saved
   * is ignored.
   */
  readonly setValue: (value: string) => void;
}
