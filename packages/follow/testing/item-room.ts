// For tests of following: a class with one table of names.

import { DurableObject } from '../../../worker/realm/library/base-classes.ts';

export class ItemRoom extends DurableObject {
  constructor(ctx: never, env: never) {
    super(ctx, env);
    this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS item (name TEXT)');
  }
  add(name: string) {
    this.ctx.storage.sql.exec('INSERT INTO item VALUES (?)', name);
    return this.names().length;
  }
  names() {
    return [...this.ctx.storage.sql.exec('SELECT name FROM item').raw()].flat();
  }
}
