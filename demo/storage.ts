// The connection of the demo to its one object, as a state the page can show.
//
// Two handles are open on the object: one for everything the user does, one for the import. A page's
// transaction takes in every call made on its own handle, and a note saved during an import must
// not be undone with the import.
//
// Once open, the demo stays on screen when the worker is lost, because unsaved text lives there.

import { signal } from '@preact/signals';
import { openStorage, type RemoteStorage } from '../src/index.ts';
import { refresh } from './changes.ts';
import { createNoteTables } from './notes/note-table.ts';
import { showToast } from './ui/messages.tsx';
import { type Problem, problemOf } from './ui/problem.ts';

export const OBJECT_NAME = 'notes';

/** Codes that tell of the connection, not of the call. */
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

/** The object, for what the user does. */
export function storage(): RemoteStorage {
  if (handles === null) throw new Error('The storage is not open yet.');
  return handles.main;
}

/** The same object by a second handle, for long transactions. */
export function bulkStorage(): RemoteStorage {
  if (handles === null) throw new Error('The storage is not open yet.');
  return handles.bulk;
}

/**
 * Opens the object, for the first time or again after the worker was lost. The outcome is in
 * `connection`. The handles outlive the worker: their next call finds, or starts, another one.
 */
export async function connect(): Promise<void> {
  connection.value = { kind: handles === null ? 'opening' : 'reopening' };
  try {
    handles ??= await openHandles();
    await createNoteTables(handles.main);
    connection.value = { kind: 'open' };
    refresh();
  } catch (error) {
    const problem = problemOf(error);
    connection.value = { kind: handles === null ? 'refused' : 'lost', problem };
  }
}

/** The problem to show for a failed call; a lost worker is also noted, and started again. */
export function problemOfCall(error: unknown): Problem {
  const problem = problemOf(error);
  if (LOST.has(problem.code) && connection.value.kind === 'open') {
    void connect().then(() => {
      if (connection.value.kind !== 'open') return;
      showToast({ text: 'The storage worker was lost and runs again. What was saved is there.' });
    });
  }
  return problem;
}

async function openHandles(): Promise<Handles> {
  const [main, bulk] = await Promise.all([openStorage(OBJECT_NAME), openStorage(OBJECT_NAME)]);
  return { main, bulk };
}
