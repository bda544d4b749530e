// The stock of a shop. Each call is a commit: drag the bar below to see the shelves as they were.
import { DurableObject } from 'cloudflare:workers';

export class Stock extends DurableObject {
  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env);
    ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS item (name TEXT PRIMARY KEY, count INTEGER)');
  }

  receive(name = 'tea', count = 10): number {
    return this.#put(name, this.#count(name) + count);
  }

  sell(name = 'tea', count = 1): number {
    const left = this.#count(name) - count;
    if (left < 0) throw new Error(`Of ${name}, only ${left + count} are left.`);
    const { kv } = this.ctx.storage;
    kv.put('sold', (kv.get<number>('sold') ?? 0) + count);
    return this.#put(name, left);
  }

  // A mistake? "Undo that" takes it back, and keeps the calls after it.
  clear(): void {
    this.ctx.storage.sql.exec('DELETE FROM item');
  }

  #count(name: string): number {
    const { sql } = this.ctx.storage;
    const [item] = sql.exec<{ count: number }>('SELECT count FROM item WHERE name = ?', name);
    return item?.count ?? 0;
  }

  #put(name: string, count: number): number {
    this.ctx.storage.sql.exec(
      `INSERT INTO item VALUES (?, ?)
       ON CONFLICT (name) DO UPDATE SET count = excluded.count`,
      name,
      count,
    );
    return count;
  }
}
