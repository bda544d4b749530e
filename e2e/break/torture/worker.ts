// The class that a torture calls: each call writes a row and the count of all calls, or neither.

import { DurableObject, serve } from '../../../worker/start/entries/objects.ts';
import type { FoundRow } from './ledger.ts';

export interface Classes {
  Book: Book;
}

export class Book extends DurableObject<object> {
  constructor(ctx: never, env: object) {
    super(ctx, env);
    this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS calls(id TEXT, n INTEGER)');
  }

  add(id: string): number {
    const { kv, sql } = this.ctx.storage;
    const n = (kv.get<number>('count') ?? 0) + 1;
    kv.put('count', n);
    sql.exec('INSERT INTO calls VALUES(?, ?)', id, n);
    return n;
  }

  /** How many calls there were, and the last of them, the newest one last. */
  newest(limit: number): { count: number; ids: string[] } {
    const { kv, sql } = this.ctx.storage;
    const query = 'SELECT id FROM calls ORDER BY rowid DESC LIMIT ?';
    const ids = sql.exec<{ id: string }>(query, limit).toArray();
    return { count: kv.get<number>('count') ?? 0, ids: ids.map(({ id }) => id).reverse() };
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
