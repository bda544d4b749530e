// The class that a torture calls: each call writes a row, a copy of it, the count of all calls and an alarm, in any order,
// or nothing of it.

import { DurableObject, serve } from '../../../worker/start/entries/objects.ts';
import { NEVER_MS } from './each-commit.ts';
import type { FoundRow } from './ledger.ts';

export interface Classes {
  Book: Book;
}

export class Book extends DurableObject<object> {
  constructor(ctx: never, env: object) {
    super(ctx, env);
    const { sql } = this.ctx.storage;
    sql.exec('CREATE TABLE IF NOT EXISTS calls(id TEXT, n INTEGER)');
    sql.exec('CREATE TABLE IF NOT EXISTS copies(n INTEGER PRIMARY KEY, method TEXT)');
    sql.exec('CREATE TABLE IF NOT EXISTS ballast(bytes BLOB)');
  }

  add(id: string): number {
    return this.#add(id, 'add');
  }

  /** Adds like `add`, under another name, so that calls of one turn have different authors. */
  addToo(id: string): number {
    return this.#add(id, 'addToo');
  }

  alarm(): void {
    throw new Error('The alarm is never due.');
  }

  #add(id: string, method: string): number {
    const { kv, sql } = this.ctx.storage;
    const n = (kv.get<number>('count') ?? 0) + 1;
    const writes: (() => unknown)[] = [
      () => kv.put('count', n),
      () => sql.exec('INSERT INTO calls VALUES(?, ?)', id, n),
      () => sql.exec('INSERT INTO copies VALUES(?, ?)', n, method),
      () => void this.ctx.storage.setAlarm(NEVER_MS + n),
    ];
    while (writes.length > 0) writes.splice(Math.floor(Math.random() * writes.length), 1)[0]!();
    return n;
  }

  /** How many calls there were, and the last of them, the newest one last. */
  newest(limit: number): { count: number; ids: string[] } {
    const { kv, sql } = this.ctx.storage;
    const query = 'SELECT id FROM calls ORDER BY rowid DESC LIMIT ?';
    const ids = sql.exec<{ id: string }>(query, limit).toArray();
    return { count: kv.get<number>('count') ?? 0, ids: ids.map(({ id }) => id).reverse() };
  }

  addBallast(bytes: number): void {
    this.ctx.storage.sql.exec('INSERT INTO ballast VALUES(randomblob(?))', bytes);
  }

  dropBallast(): true {
    this.ctx.storage.sql.exec('DELETE FROM ballast');
    return true;
  }

  abort(): void {
    this.ctx.abort('by the torture');
  }

  all(): { rows: FoundRow[]; count: number; check: string } {
    const { kv, sql } = this.ctx.storage;
    const rows = sql.exec<{ id: string; n: number }>('SELECT id, n FROM calls ORDER BY rowid');
    const check = sql.exec<{ quick_check: string }>('PRAGMA quick_check').one().quick_check;
    return { rows: rows.toArray(), count: kv.get<number>('count') ?? 0, check };
  }
}

serve({ Book });
