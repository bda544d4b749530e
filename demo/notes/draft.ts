// One note being edited: its text on the page, and how much of that text is stored.
//
// "Saved" means that the storage has confirmed a write of exactly this text. Writes never overlap: text
// typed during a write is written by the next one. A new note is stored with its first character, so an
// empty note leaves nothing behind.

import { type Signal, signal } from '@preact/signals';
import { NOTES_LABEL, problemOfCall, storage } from '../storage.ts';
import type { Problem } from '../ui/problem.ts';
import { insertNote, type NoteText, newNoteId, type StoredNote, updateNote } from './note-table.ts';

/** How long after a change a note is written, together with all changes until then. */
const SAVE_DELAY_MS = 400;

export type SaveState =
  /** A new note without any text. */
  | { readonly kind: 'blank' }
  | { readonly kind: 'saved' }
  | { readonly kind: 'edited' }
  | { readonly kind: 'saving' }
  | { readonly kind: 'failed'; readonly problem: Problem }
  /** Another tab has changed or deleted the note. */
  | { readonly kind: 'conflict'; readonly stored: StoredNote | null };

let draftCount = 0;

export class Draft {
  /** Different for each draft, so that its fields do not inherit the undo history of another draft. */
  readonly key = (draftCount += 1);
  readonly title: Signal<string>;
  readonly body: Signal<string>;
  readonly state: Signal<SaveState>;
  /** The note's id; null until a new note is first stored. */
  readonly id: Signal<number | null>;

  #stored: StoredNote | null;
  #newId = newNoteId();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #saving: Promise<void> | null = null;

  constructor(stored: StoredNote | null) {
    this.#stored = stored;
    this.title = signal(stored?.title ?? '');
    this.body = signal(stored?.body ?? '');
    this.id = signal(stored?.id ?? null);
    this.state = signal({ kind: stored === null ? 'blank' : 'saved' });
  }

  /** True when leaving now would lose text. */
  get unsaved(): boolean {
    const { kind } = this.state.value;
    return kind !== 'saved' && kind !== 'blank';
  }

  edit(text: Partial<NoteText>): void {
    if (text.title !== undefined) this.title.value = text.title;
    if (text.body !== undefined) this.body.value = text.body;
    if (this.state.value.kind === 'conflict') return;
    if (this.state.value.kind !== 'saving') this.state.value = { kind: 'edited' };
    this.#timer ??= setTimeout(() => void this.save(), SAVE_DELAY_MS);
  }

  /**
   * Writes pending changes; resolves once they are stored, or once `state` has the reason why not.
   */
  save(): Promise<void> {
    this.#stopTimer();
    this.#saving ??= this.#writeAll().finally(() => {
      this.#saving = null;
    });
    return this.#saving;
  }

  /** Shows the stored text, unless there is unsaved text here. */
  follow(stored: StoredNote): void {
    if (this.unsaved || stored.updatedMs === this.#stored?.updatedMs) return;
    this.#accept(stored);
  }

  /** Called when the note no longer exists in the storage. */
  followDeletion(): void {
    if (this.state.value.kind === 'saved') this.state.value = { kind: 'conflict', stored: null };
  }

  /** Ends a conflict in favour of this text. */
  keepMine(): Promise<void> {
    const { state } = this;
    if (state.value.kind !== 'conflict') return Promise.resolve();
    this.#stored = state.value.stored;
    if (this.#stored === null) {
      this.id.value = null;
      this.#newId = newNoteId();
    }
    state.value = { kind: 'edited' };
    return this.save();
  }

  /** Ends a conflict in favour of the stored text. */
  takeStored(): void {
    const { value } = this.state;
    if (value.kind === 'conflict' && value.stored !== null) this.#accept(value.stored);
  }

  /** Discards unsaved text, and stops writing. */
  discard(): void {
    this.#stopTimer();
    this.state.value = { kind: 'saved' };
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #accept(stored: StoredNote): void {
    this.#stored = stored;
    this.title.value = stored.title;
    this.body.value = stored.body;
    this.state.value = { kind: 'saved' };
  }

  async #writeAll(): Promise<void> {
    const { state } = this;
    while (state.value.kind !== 'conflict' && this.unsaved) {
      const text: NoteText = { title: this.title.value, body: this.body.value };
      state.value = { kind: 'saving' };
      try {
        const before = this.#stored;
        const result = await storage().labelled(NOTES_LABEL, (labelled) =>
          before === null
            ? insertNote(labelled, this.#newId, text)
            : updateNote(labelled, before, text),
        );
        if (result.kind === 'conflict') {
          state.value = result;
          return;
        }
        this.#stored = result.note;
        this.id.value = result.note.id;
      } catch (error) {
        state.value = { kind: 'failed', problem: problemOfCall(error) };
        return;
      }
      const current = this.title.value === text.title && this.body.value === text.body;
      state.value = { kind: current ? 'saved' : 'edited' };
    }
  }
}
