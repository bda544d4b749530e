// Keeps the state of the notes on screen: the search, the list, and the open note.
//
// Only the answer to the latest request is shown; late answers to older requests are dropped. An open
// note is saved before another one replaces it, and stays open if that fails.

import { computed, effect, signal, untracked } from '@preact/signals';
import { revision } from '../changes.ts';
import { navigate, route } from '../route.ts';
import { connection, NOTES_LABEL, problemOfCall, storage, undoing } from '../storage.ts';
import { counted } from '../ui/format.ts';
import { announce, showToast } from '../ui/messages.tsx';
import { type Problem, problemOf } from '../ui/problem.ts';
import { NoteDraft } from './draft.ts';
import {
  createNoteTables,
  deleteNote,
  insertNote,
  listNotes,
  type NoteList,
  newNoteId,
  readNote,
  type StoredNote,
} from './note-table.ts';

const PAGE_SIZE = 100;

export type ListState =
  | { readonly kind: 'loading' }
  | { readonly kind: 'listed'; readonly list: NoteList; readonly search: string }
  | { readonly kind: 'failed'; readonly problem: Problem };

export type OpenNote =
  | { readonly kind: 'none' }
  | { readonly kind: 'loading'; readonly id: number }
  | { readonly kind: 'missing'; readonly id: number }
  | { readonly kind: 'failed'; readonly id: number; readonly problem: Problem }
  | { readonly kind: 'open'; readonly draft: NoteDraft };

export const search = signal('');
export const listState = signal<ListState>({ kind: 'loading' });
export const openNote = signal<OpenNote>({ kind: 'none' });

const limit = signal(PAGE_SIZE);
let question = 0;

/** The id of the open note; null if no note is open or the open one is new. */
export const openId = computed(() => {
  const shown = openNote.value;
  if (shown.kind === 'none') return null;
  return shown.kind === 'open' ? shown.draft.id.value : shown.id;
});

/** Returns whether the note of the address has been read and is open. */
export function isOpened(): boolean {
  return openNote.value.kind === 'open' && (openId.value ?? 'new') === route.value.note;
}

/** Reads lists and notes whenever the stored data, the search or the address changes. */
export function startNotes(): void {
  effect(() => {
    void revision.value;
    void loadList(search.value, limit.value);
  });
  effect(() => {
    void revision.value;
    untracked(() => void followStored());
  });
  effect(() => {
    const { note } = route.value;
    untracked(() => void show(note));
  });
  effect(() => {
    if (connection.value.kind === 'open') untracked(retryOpen);
  });
  window.addEventListener('beforeunload', (event) => {
    if (openDraft()?.unsaved) event.preventDefault();
  });
}

export function setSearch(text: string): void {
  limit.value = PAGE_SIZE;
  search.value = text;
}

export function listMore(): void {
  limit.value += PAGE_SIZE;
}

/** Deletes a note, and offers to undo it. */
export async function removeNote(id: number): Promise<void> {
  const draft = openDraft();
  if (draft !== null && draft.id.value === id) {
    await draft.text.flush();
    if (draft.state.value.state === 'saving') return; // the note shows why it is not saved
  }
  try {
    const deleted = await storage().labelled(NOTES_LABEL, (labelled) => deleteNote(labelled, id));
    if (openId.value === id) {
      draft?.discard();
      openNote.value = { kind: 'none' };
      navigate({ note: null });
    }
    if (deleted === null) return;
    showToast({
      text: `Deleted “${shortTitle(deleted)}”.`,
      action: { label: 'Undo', run: () => void undoDeletion(deleted) },
    });
  } catch (error) {
    const { code, message } = problemOfCall(error);
    showToast({ text: `Not deleted. ${code}: ${message}` });
  }
}

/** Undoes or redoes the last change that this tab made to notes. Text that is being typed is saved before. */
export async function takeBack(direction: 'undo' | 'redo'): Promise<void> {
  const stack = undoing.value;
  if (stack === null) return;
  const draft = openDraft();
  await draft?.text.flush();
  if (draft?.unsaved) return; // the note shows why it is not saved
  try {
    await stack[direction]();
    const id = openId.value;
    if (id === null) return;
    if ((await readNote(storage(), id)) === null) discardOpen();
    else await followStored();
  } catch (error) {
    const { code, message } = problemOfCall(error);
    if (code !== 'CONFLICT') {
      showToast({ text: `Not done. ${code}: ${message}` });
      return;
    }
    showToast({
      text: 'Another tab has changed this note since.',
      action: { label: 'Skip this step', run: () => void stack.skip() },
    });
  }
}

/** Closes the open note and discards its unsaved text. */
export function discardOpen(): void {
  openDraft()?.discard();
  openNote.value = { kind: 'none' };
  navigate({ note: null });
}

/** Stores example notes. */
export async function addNotes(texts: readonly { title: string; body: string }[]): Promise<void> {
  try {
    await storage().transaction(async () => {
      for (const text of texts) await insertNote(storage(), newNoteId(), text);
    });
  } catch (error) {
    const { code, message } = problemOfCall(error);
    showToast({ text: `Not added. ${code}: ${message}` });
  }
}

/** Creates the tables again after they were dropped. */
export async function repairTables(): Promise<void> {
  try {
    await createNoteTables(storage());
    void openDraft()?.text.flush();
  } catch (error) {
    listState.value = { kind: 'failed', problem: problemOfCall(error) };
  }
}

/** Stores the text of a note that was deleted elsewhere as a new note. */
export function saveAsNew(deleted: NoteDraft): void {
  deleted.discard();
  const draft = new NoteDraft(null);
  open(draft);
  draft.edit(deleted.parts);
  void draft.text.flush();
}

function openDraft(): NoteDraft | null {
  return openNote.value.kind === 'open' ? openNote.value.draft : null;
}

// Repeats a write that failed because the worker stopped; it is called as soon as a worker runs again.
function retryOpen(): void {
  const draft = openDraft();
  const error = draft?.state.value.error;
  if (error !== undefined && problemOf(error).retryable) void draft?.text.flush();
}

async function loadList(text: string, count: number): Promise<void> {
  question += 1;
  const asked = question;
  try {
    const list = await listNotes(storage(), text, count);
    if (asked !== question) return;
    listState.value = { kind: 'listed', list, search: text };
    if (text.trim() !== '') announce(`${counted(list.total, 'note')} found`);
  } catch (error) {
    const problem = problemOfCall(error);
    if (asked === question) listState.value = { kind: 'failed', problem };
  }
}

async function show(note: number | 'new' | null): Promise<void> {
  const before = openDraft();
  if (before !== null) {
    if (note !== null && before.id.value === note) return;
    if (note === 'new' && before.id.value === null) return;
    await before.text.flush();
    if (before.unsaved) {
      const blocked = before.id.value ?? 'new';
      if (route.value.note !== blocked) navigate({ note: blocked });
      return;
    }
    // The address may have changed again while the note was written.
    if (route.value.note !== note) return;
    before.discard();
  }
  if (note === null) openNote.value = { kind: 'none' };
  else if (note === 'new') open(new NoteDraft(null));
  else await load(note);
}

function open(draft: NoteDraft): void {
  openNote.value = { kind: 'open', draft };
  let address = route.value.note;
  // The address follows the note's id, which is set when the note is first stored, and anew when it is stored as new.
  effect(() => {
    const id = draft.id.value;
    untracked(() => {
      if (id === null || openDraft() !== draft || route.value.note !== address) return;
      address = id;
      navigate({ note: id });
    });
  });
}

async function load(id: number): Promise<void> {
  openNote.value = { kind: 'loading', id };
  const isAsked = () => route.value.note === id && openNote.value.kind !== 'open';
  try {
    const stored = await readNote(storage(), id);
    if (!isAsked()) return;
    if (stored === null) openNote.value = { kind: 'missing', id };
    else open(new NoteDraft(stored));
  } catch (error) {
    const problem = problemOfCall(error);
    if (isAsked()) openNote.value = { kind: 'failed', id, problem };
  }
}

// Reads the open note again, because the stored data may have changed.
async function followStored(): Promise<void> {
  const shown = openNote.value;
  if (shown.kind === 'missing' || shown.kind === 'failed') return load(shown.id);
  if (shown.kind !== 'open') return;
  const { draft } = shown;
  const id = draft.id.value;
  if (id === null) return;
  try {
    draft.follow(await readNote(storage(), id));
  } catch (error) {
    // The failure is not shown here, because the list shows it too; the text stays open beside it.
    problemOfCall(error);
  }
}

async function undoDeletion(note: StoredNote): Promise<void> {
  try {
    await insertNote(storage(), note.id, note, note.updatedMs);
    navigate({ note: note.id });
  } catch (error) {
    const { code, message } = problemOfCall(error);
    showToast({ text: `Not restored. ${code}: ${message}` });
  }
}

function shortTitle({ title, body }: StoredNote): string {
  const text = title.trim() || body.trim() || 'Untitled';
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
