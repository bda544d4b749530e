// Connects the demo to its one object, and keeps the state of the connection for the page to show.
//
// Two handles are open on the object: one for everything the user does, one for the import. Every call
// on a handle joins its open transaction, and a note saved during an import must not be undone
// together with the import.
//
// Once open, the page stays on screen when the worker stops, because it may contain unsaved text.

import { signal } from '@preact/signals';
import { type UndoStack, undoStack } from '../packages/adapters/undo/undo.ts';
import { openStorage, type RemoteStorage } from '../src/index.ts';
import { followChanges, refresh } from './changes.ts';
import { createNoteTables } from './notes/note-table.ts';
import { showToast } from './ui/messages.tsx';
import { type Problem, problemOf } from './ui/problem.ts';

export const OBJECT_NAME = 'notes';

/** The label in the history of the user's changes to notes. */
export const NOTES_LABEL = 'notes';

/** A pause in typing that begins a new step of undo. */
const TYPING_PAUSE_MS = 1500;

/** The codes of errors that concern the connection and not the call. */
const LOST = new Set(['CONNECTION_CLOSED', 'STORAGE_LOCKED', 'WORKER_FAILED']);

interface Handles {
  readonly main: RemoteStorage;
  readonly bulk: RemoteStorage;
}

export type Connection =
  | { readonly kind: 'opening' }
  | { readonly kind: 'refused'; readonly problem: Problem }
  | { readonly kind: 'open' }
  | { readonly kind: 'lost'; readonly problem: Problem }
  | { readonly kind: 'reopening' };

export const connection = signal<Connection>({ kind: 'opening' });

let handles: Handles | null = null;

/** The changes of this tab that can be undone; null until the storage is open. */
export const undoing = signal<UndoStack | null>(null);

/** Returns the handle for everything the user does. */
export function storage(): RemoteStorage {
  if (handles === null) throw new Error('The storage is not open yet.');
  return handles.main;
}

/** Returns the second handle on the same object, for long transactions. */
export function bulkStorage(): RemoteStorage {
  if (handles === null) throw new Error('The storage is not open yet.');
  return handles.bulk;
}

/**
 * Opens the object, for the first time or again after the worker stopped. The outcome is in
 * `connection`. The handles outlive the worker: their next call finds or starts another one.
 */
export async function connect(): Promise<void> {
  connection.value = { kind: handles === null ? 'opening' : 'reopening' };
  try {
    handles ??= await openHandles();
    await createNoteTables(handles.main);
    // Saves that follow each other while somebody types are undone together. An import cannot be undone.
    undoing.value ??= undoStack(handles.main, {
      groupMs: TYPING_PAUSE_MS,
      filter: ({ by }) => by?.label === NOTES_LABEL,
    });
    connection.value = { kind: 'open' };
    refresh();
  } catch (error) {
    const problem = problemOf(error);
    connection.value = { kind: handles === null ? 'refused' : 'lost', problem };
  }
}

/** Returns the problem to show for a failed call, and connects again if the connection was lost. */
export function problemOfCall(error: unknown): Problem {
  const problem = problemOf(error);
  if (LOST.has(problem.code) && connection.value.kind === 'open') {
    void connect().then(() => {
      if (connection.value.kind !== 'open') return;
      showToast({
        text: 'The storage worker stopped and was started again. Nothing that was saved is lost.',
      });
    });
  }
  return problem;
}

async function openHandles(): Promise<Handles> {
  const [main, bulk] = await Promise.all([openStorage(OBJECT_NAME), openStorage(OBJECT_NAME)]);
  followChanges(main);
  return { main, bulk };
}
