// A list that many devices share: this class runs on the server, and in the worker of each page.

import { DurableObject } from 'ctx-storage/worker';
import type { Todo } from '../todos.ts';

const TEXT_LENGTH_MAX = 200;

export class TodoObject extends DurableObject {
  constructor(ctx: never, env: never) {
    super(ctx, env);
    this.ctx.storage.sql.exec(
      `CREATE TABLE IF NOT EXISTS todo(
         id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, done INTEGER NOT NULL DEFAULT 0)`,
    );
  }

  all(): Todo[] {
    return this.ctx.storage.sql.exec<Todo>('SELECT * FROM todo ORDER BY id').toArray();
  }

  /** Refused if the list has this text. A page learns that later if another device has added it. */
  add(text: string): void {
    checkText(text);
    const { sql } = this.ctx.storage;
    const [same] = sql.exec('SELECT 1 FROM todo WHERE text = ?', text);
    if (same !== undefined) throw new Error(`"${text}" is on the list already.`);
    sql.exec('INSERT INTO todo(text) VALUES (?)', text);
  }

  // By the text: until the server has answered, the page does not know the id that the server gives.

  setDone({ text }: Todo, done: boolean): void {
    checkText(text);
    this.ctx.storage.sql.exec('UPDATE todo SET done = ? WHERE text = ?', Number(done), text);
  }

  remove({ text }: Todo): void {
    checkText(text);
    this.ctx.storage.sql.exec('DELETE FROM todo WHERE text = ?', text);
  }
}

/** A page can send any value, whatever the types say. */
function checkText(text: unknown): void {
  if (typeof text === 'string' && text.length <= TEXT_LENGTH_MAX) return;
  throw new TypeError(`A text has at most ${TEXT_LENGTH_MAX} characters.`);
}
