// Defines a shopping list as a Durable Object. The same class runs on the server and on each device.

import { DurableObject } from '../../worker/start/entries/objects.ts';

const TITLE_LENGTH_MAX = 200;

export interface Item {
  readonly id: number;
  readonly title: string;
  readonly done: number;
}

export class ShoppingList extends DurableObject {
  constructor(ctx: never, env: never) {
    super(ctx, env);
    this.ctx.storage.sql.exec(
      'CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY, title TEXT UNIQUE, done INTEGER DEFAULT 0)',
    );
  }

  /** Adds an item. @throws Error if the list has it already */
  add(title: string): void {
    checkTitle(title);
    const { sql } = this.ctx.storage;
    const found = sql.exec('SELECT 1 FROM item WHERE title = ?', title).toArray();
    if (found.length > 0) throw new Error(`The list has “${title}” already.`);
    sql.exec('INSERT INTO item (title) VALUES (?)', title);
  }

  tick(title: string): void {
    checkTitle(title);
    this.ctx.storage.sql.exec('UPDATE item SET done = 1 - done WHERE title = ?', title);
  }

  remove(title: string): void {
    checkTitle(title);
    this.ctx.storage.sql.exec('DELETE FROM item WHERE title = ?', title);
  }

  items(): Item[] {
    return this.ctx.storage.sql
      .exec('SELECT * FROM item ORDER BY id')
      .toArray() as unknown as Item[];
  }
}

/** A device can send any value, whatever the types say. */
function checkTitle(title: unknown): void {
  if (typeof title === 'string' && title.length <= TITLE_LENGTH_MAX) return;
  throw new TypeError(`A title has at most ${TITLE_LENGTH_MAX} characters.`);
}
