// The class of several deployments of one app: each adds a method to the one before, and the class's text tells
// which one it is.

import { migrate } from '../../../packages/adapters/migrate/migrate.ts';
import { DurableObject, serve } from '../../../worker/start/entries/objects.ts';
import type { Given } from './site.ts';

export interface Classes {
  Book: Book;
}

export interface Row {
  readonly id: string;
  /** The deployment whose code wrote it. */
  readonly by: string;
}

/** Put in by the bundler. */
declare const DEPLOYMENT: string;
declare const GIVEN: Given;

const { hasCount, columns = [], breaking, ...options } = GIVEN;

export class Book extends DurableObject<object> {
  readonly deployment = DEPLOYMENT;

  constructor(ctx: never, env: object) {
    super(ctx, env);
    this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS rows(id TEXT, by TEXT)');
    const steps = columns.map((name) => ({
      name,
      up: `ALTER TABLE rows ADD COLUMN ${name} TEXT DEFAULT '${this.deployment}'`,
      ...(name === breaking && { breaking: options.build ?? true }),
    }));
    void this.ctx.blockConcurrencyWhile(() => migrate(this.ctx.storage, steps));
  }

  /** Takes long enough for a takeover to begin meanwhile. */
  async add(id: string): Promise<string> {
    await this.ctx.storage.get('anything');
    this.ctx.storage.sql.exec('INSERT INTO rows(id, by) VALUES(?, ?)', id, this.deployment);
    await new Promise((resolve) => setTimeout(resolve, 5));
    return this.deployment;
  }

  all(): Row[] {
    const rows = this.ctx.storage.sql.exec<Row & Record<string, string>>('SELECT id, by FROM rows');
    return rows.toArray();
  }

  /** The columns that migrations have added. */
  columns(): string[] {
    const names = this.ctx.storage.sql.exec<{ name: string }>(
      "SELECT name FROM pragma_table_info('rows')",
    );
    return names
      .toArray()
      .map(({ name }) => name)
      .slice(2);
  }

  /** Runs for this time. */
  async last(durationMs: number): Promise<string> {
    await new Promise((resolve) => setTimeout(resolve, durationMs));
    return this.deployment;
  }
}

/** Only later deployments have it. */
export class BookWithCount extends Book {
  count(): number {
    return this.all().length;
  }
}

serve({ Book: hasCount ? BookWithCount : Book }, options);
