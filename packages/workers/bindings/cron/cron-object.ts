// The object that stores when each cron trigger runs next. Its alarm calls the handler `scheduled` of the entry point.
//
// Invariant: if several times of a cron were missed, the handler runs once, for the last of them. A run that a crash
// cut short is repeated; a run that failed is not.

import type { EntryHandle } from '@ctx-storage/core/object';
import { DurableObject } from '@ctx-storage/worker/realm';
import { outcomeOf } from '../event-outcome.ts';
import type { CronExpression } from './cron-expression.ts';

/** The cron expressions of the app, by their texts, and the entry point whose handler they call. */
export interface CronTable {
  readonly expressions: ReadonlyMap<string, CronExpression>;
  readonly entry: EntryHandle;
}

type Row = { cron: string; next: number };

export class CronObject extends DurableObject<{ readonly crons: CronTable }> {
  /**
   * Keeps the stored times of crons that the app still has. A stored time later than the next run comes from a wrong
   * clock.
   */
  constructor(ctx: DurableObject['ctx'], env: { readonly crons: CronTable }) {
    super(ctx, env);
    ctx.storage.sql.exec(
      'CREATE TABLE IF NOT EXISTS cron(cron TEXT PRIMARY KEY, next INTEGER NOT NULL)',
    );
    const storedTimes = new Map(this.#rows().map(({ cron, next }) => [cron, next]));
    this.#sql.exec('DELETE FROM cron');
    for (const [cron, expression] of env.crons.expressions) {
      const next = expression.nextAfter(Date.now());
      this.#store(cron, Math.min(storedTimes.get(cron) ?? next, next));
    }
  }

  /** Sets the alarm after the host has started. */
  async wake(): Promise<void> {
    await this.#setAlarmForNext();
  }

  async alarm(): Promise<void> {
    const now = Date.now();
    const due = this.#rows().filter(({ next }) => next <= now);
    await Promise.all(due.map(({ cron }) => this.#runScheduled(cron, now)));
    await this.#setAlarmForNext();
  }

  async #runScheduled(cron: string, now: number): Promise<void> {
    const { expressions, entry } = this.env.crons;
    const expression = expressions.get(cron)!;
    const scheduledTime = expression.upTo(now);
    await outcomeOf(entry.scheduled({ cron, scheduledTime }));
    this.#store(cron, expression.nextAfter(now));
  }

  async #setAlarmForNext(): Promise<void> {
    const next = Math.min(...this.#rows().map((row) => row.next));
    if (next === Number.POSITIVE_INFINITY) await this.ctx.storage.deleteAlarm();
    else await this.ctx.storage.setAlarm(next);
  }

  #rows(): Row[] {
    return this.#sql.exec<Row>('SELECT cron, next FROM cron').toArray();
  }

  #store(cron: string, next: number): void {
    this.#sql.exec('INSERT OR REPLACE INTO cron(cron, next) VALUES (?, ?)', cron, next);
  }

  get #sql() {
    return this.ctx.storage.sql;
  }
}
