// The list in its object: the query that is shown, the changes, and undoing those of this tab.

import type { Live, RemoteStorage } from 'ctx-storage';
import { type UndoStack, undoStack } from 'ctx-storage/undo';

export const MIGRATIONS = [
  {
    name: 'todos',
    up: 'CREATE TABLE todo(id INTEGER PRIMARY KEY, text TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0)',
  },
];

export type Todo = { id: number; text: string; done: number };

export class Todos {
  readonly storage: RemoteStorage;
  readonly undoStack: UndoStack;

  constructor(storage: RemoteStorage) {
    this.storage = storage;
    this.undoStack = undoStack(storage);
  }

  all(): Live<Todo[]> {
    return this.storage.sql.live<Todo>('SELECT id, text, done FROM todo ORDER BY id');
  }

  add(text: string): Promise<void> {
    return this.#change('INSERT INTO todo(text) VALUES (?)', text);
  }

  setDone({ id }: Todo, done: boolean): Promise<void> {
    return this.#change('UPDATE todo SET done = ? WHERE id = ?', Number(done), id);
  }

  remove({ id }: Todo): Promise<void> {
    return this.#change('DELETE FROM todo WHERE id = ?', id);
  }

  #change(query: string, ...bindings: unknown[]): Promise<void> {
    return this.storage.sql.exec(query, ...bindings).ready;
  }
}
