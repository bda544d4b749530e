// The object that counts the calls of one rate limit, by key. Periods begin at whole multiples of their length since
// the epoch, as in miniflare.
//
// Invariant: a count belongs to one period of the clock. The first call in another period deletes it.

import { DurableObject } from '@ctx-storage/worker/realm';

export class RateLimitObject extends DurableObject {
  constructor(ctx: DurableObject['ctx'], env: object) {
    super(ctx, env);
    ctx.storage.sql.exec(
      `CREATE TABLE IF NOT EXISTS calls(
         period INTEGER NOT NULL, key TEXT NOT NULL, start INTEGER NOT NULL, count INTEGER NOT NULL,
         PRIMARY KEY (period, key)) WITHOUT ROWID`,
    );
  }

  /** Returns true and counts the call if it is within the limit. `period` is in seconds. */
  take(key: string, limit: number, period: number): boolean {
    const { sql } = this.ctx.storage;
    const start = Math.floor(Date.now() / 1000 / period) * period;
    sql.exec('DELETE FROM calls WHERE period = ? AND start <> ?', period, start);
    const { count } = sql
      .exec<{ count: number }>(
        'SELECT coalesce(max(count), 0) AS count FROM calls WHERE period = ? AND key = ?',
        period,
        key,
      )
      .one();
    if (count >= limit) return false;
    sql.exec(
      'INSERT OR REPLACE INTO calls(period, key, start, count) VALUES (?, ?, ?, ?)',
      period,
      key,
      start,
      count + 1,
    );
    return true;
  }
}
