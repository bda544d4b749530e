// The list in its object: the query that is shown, the changes, and undoing them.
//
// Each change notes the moment before it. Undoing goes back to that moment with everything in the object, so it
// also takes back what other tabs have changed since.

import { isStorageError, type Live, type RemoteStorage } from 'ctx-storage';

export const MIGRATIONS = [
  {
    name: 'todos',
    up: 'CREATE TABLE todo(id INTEGER PRIMARY KEY, text TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0)',
  },
];

export type Todo = { id: number; text: string; done: number };

export class Todos {
  readonly storage: RemoteStorage;
  /** The moments before this tab's changes, the last one last. */
  readonly #before: string[] = [];

  constructor(storage: RemoteStorage) {
    this.storage = storage;
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

  /** Takes back this tab's last change. False: there is none. */
  async undo(): Promise<boolean> {
    const bookmark = this.#before.pop();
    if (bookmark !== undefined) await this.storage.restore(bookmark);
    return bookmark !== undefined;
  }

  async #change(query: string, ...bindings: unknown[]): Promise<void> {
    const before = await again(() => this.storage.getCurrentBookmark());
    await this.storage.sql.exec(query, ...bindings).ready;
    this.#before.push(before);
  }
}

/** Makes a read again that met a restore, or a worker on its way out. */
async function again<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!isStorageError(error) || error.retryable !== true) throw error;
    return read();
  }
}
