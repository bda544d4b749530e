// Keeps the draft of a note that is being edited, whose first line is its title, and saves it to the note's row.
//
// A new note is stored with its first character, so an empty note leaves nothing behind.

import { type Signal, signal } from '@preact/signals';
import { type DraftState, draft, type TextDraft } from '../../packages/adapters/draft/draft.ts';
import { NOTES_LABEL, problemOfCall, storage } from '../storage.ts';
import { insertNote, type NoteText, newNoteId, type StoredNote, updateNote } from './note-table.ts';

const SAVE_DELAY_MS = 400;

const BLANK: NoteText = { title: '', body: '' };

let draftCount = 0;

export class NoteDraft {
  /**
   * A key of the fields on screen, different for each draft, so that they do not inherit another draft's undo history.
   */
  readonly key = (draftCount += 1);
  readonly text: TextDraft;
  readonly state: Signal<DraftState>;
  /** The note's id; null until a new note is first stored. */
  readonly id: Signal<number | null>;
  /** Whether another tab has deleted the note. */
  readonly isDeleted = signal(false);

  readonly #newId = newNoteId();
  readonly #stop: () => void;
  #isDiscarded = false;

  constructor(stored: StoredNote | null) {
    this.id = signal(stored?.id ?? null);
    const save = (text: string, base: string) => this.#save(partsOf(text), partsOf(base));
    this.text = draft(textOf(stored ?? BLANK), save, { delayMs: SAVE_DELAY_MS });
    this.state = signal(this.text.getState());
    this.#stop = this.text.subscribe((state) => {
      this.state.value = state;
    });
  }

  /** Whether leaving now would lose text. */
  get unsaved(): boolean {
    return this.isDeleted.value || this.state.value.state !== 'saved';
  }

  get parts(): NoteText {
    return partsOf(this.state.value.text);
  }

  edit(parts: Partial<NoteText>): void {
    this.text.setText(textOf({ ...this.parts, ...parts }));
  }

  /** Takes over the note as it is stored now; null means that it does not exist any more. */
  follow(stored: StoredNote | null): void {
    this.isDeleted.value = stored === null;
    if (stored !== null) this.text.setValue(textOf(stored));
  }

  /** Ends the draft and discards text that is not saved. */
  discard(): void {
    this.#isDiscarded = true;
    this.#stop();
  }

  async #save(parts: NoteText, base: NoteText): Promise<void> {
    if (this.#isDiscarded) return;
    const id = this.id.value;
    try {
      const result = await storage().labelled(NOTES_LABEL, (labelled) =>
        id === null
          ? insertNote(labelled, this.#newId, parts)
          : updateNote(labelled, id, base, parts),
      );
      const note = result.kind === 'written' ? result.note : result.stored;
      if (note !== null) this.id.value = note.id;
      this.follow(note);
      if (result.kind === 'conflict')
        throw new Error('Another tab has changed or deleted the note.');
    } catch (error) {
      problemOfCall(error);
      throw error;
    }
  }
}

function textOf({ title, body }: NoteText): string {
  return `${title}\n${body}`;
}

function partsOf(text: string): NoteText {
  const end = text.indexOf('\n');
  return { title: text.slice(0, end), body: text.slice(end + 1) };
}
