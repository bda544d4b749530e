// Declares the types of a text that is edited and saved, for `ctx-storage/draft` and for the hook that shows it.

/**
 * Stores the text, and resolves when it is stored: `storage.sql.exec(…).ready`, or a call of a method. `base` is the
 * stored text that it was made from: a save that finds another one throws, instead of writing over it.
 */
export type SaveText = (text: string, base: string) => PromiseLike<unknown>;

export interface DraftOptions {
  /**
   * How long after the last letter the text is saved, in milliseconds; at the latest 5 seconds after the first letter
   * that is not saved, if that is longer. @default 300
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
  /** Letters wait to be saved, or are being saved. `error` says why the last save failed; the next letter or `flush` tries
   * again. */
  | {
      readonly text: string;
      readonly state: 'saving';
      readonly error: unknown;
      readonly theirs: undefined;
    }
  /** Somebody else stored `theirs` while letters were not saved. Nothing is saved until `resolve`. */
  | {
      readonly text: string;
      readonly state: 'conflict';
      readonly error: undefined;
      readonly theirs: string;
    };

/** The actions of a user. The functions may be passed on without their object. */
export interface DraftControls {
  /** The user has changed the text. */
  readonly setText: (text: string) => void;
  /**
   * Ends a conflict with the user's text, which is then saved, or with `theirs`. Without a conflict it does nothing.
   */
  readonly resolve: (choice: 'mine' | 'theirs') => void;
  /** Saves now. Resolves once everything is saved, or once `state` and `error` say why it is not. */
  readonly flush: () => Promise<void>;
}

/**
 * A text that is edited and saved. While it has a listener, it also saves at once when the focus leaves a field, when
 * the page is hidden, and when the last listener goes.
 */
export interface TextDraft extends DraftControls {
  readonly getState: () => DraftState;
  /** Calls the listener at once, then after each change. Returns the function that ends this. */
  readonly subscribe: (listener: (state: DraftState) => void) => () => void;
  /**
   * Passes the stored text to the draft; call it each time the text was read. A text that this draft has saved itself
   * is ignored.
   */
  readonly setValue: (value: string) => void;
}
