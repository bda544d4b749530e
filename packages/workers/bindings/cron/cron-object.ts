// When each cron runs next. The object's alarm runs `scheduled` of the entry point.
//
// Invariant: of several times that were missed, the last one runs, once. A run that a crash has cut short runs again; one
// that has failed does not.

import type { EntryHandle } from '@ctx-storage/core/object';
import { DurableObject } from '@ctx-storage/worker/realm';
import { outcomeOf } from '../event-outcome.ts';
import type { CronExpression } from './cron-expression.ts';

/** The crons of the app, by their texts. */
export interface CronTable {
  readonly expressions: ReadonlyMap<string, CronExpression>;
  readonly entry: EntryHandle;
}

type Row = { cron: string; next: number };

export class CronObject extends DurableObject<{ readonly crons: CronTable }> {
  /** The app may have other crons than at the last start, and the clock may have been wrong then. */
  constructor(ctx: DurableObject['ctx'], env: { readonly crons: CronTable }) {
    super(ctx, env);
    ctx.storage.sql.exec(
      'CREATE TABLE IF NOT EXISTS cron(cron TEXT PRIMARY KEY, next INTEGER NOT NULL)',
    );
    const known = new Map(this.#rows().map(({ cron, next }) => [cron, next]));
    this.#sql.exec('DELETE FROM cron');
    for (const [cron, expression] of env.crons.expressions) {
      const next = expression.after(Date.now());
      this.#store(cron, Math.min(known.get(cron) ?? next, next));
    }
  }

  /** The host has started. */
  async wake(): Promise<void> {
    await this.#schedule();
  }

  async alarm(): Promise<void> {
    const now = Date.now();
    const due = this.#rows().filter(({ next }) => next <= now);
    await Promise.all(due.map(({ cron }) => this.#run(cron, now)));
    await this.#schedule();
  }

  async #run(cron: string, now: number): Promise<void> {
    const { expressions, entry } = this.env.crons;
    const expression = expressions.get(cron)!;
    const scheduledTime = expression.upTo(now);
    await outcomeOf(entry.scheduled({ cron, scheduledTime }));
    this.#store(cron, expression.after(now));
  }

  async #schedule(): Promise<void> {
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
