// Migrations by `ctx-storage/drizzle`, and Drizzle's own driver on their tables.

import { DurableObject } from 'cloudflare:workers';
import { type DrizzleSqliteDODatabase, drizzle } from 'drizzle-orm/durable-sqlite';
import { migrate } from '../../../../packages/adapters/drizzle/migrations.ts';
import first from '../../../../packages/adapters/testing/drizzle/0000_quick_hawk.sql';
import second from '../../../../packages/adapters/testing/drizzle/0001_slow_owl.sql';
import { author, schema } from '../../../../packages/adapters/testing/drizzle-tables.ts';

const FILES = {
  'drizzle/meta/_journal.json': JSON.stringify({
    entries: [{ tag: '0000_quick_hawk' }, { tag: '0001_slow_owl' }],
  }),
  'drizzle/0000_quick_hawk.sql': first,
  'drizzle/0001_slow_owl.sql': second,
};

export class Shelf extends DurableObject {
  readonly #db: DrizzleSqliteDODatabase<typeof schema> & { $client: DurableObjectStorage };

  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env);
    this.#db = drizzle(ctx.storage, { schema });
  }

  async run(): Promise<unknown> {
    const made = [await migrate(this.#db, FILES), await migrate(this.#db, FILES)];
    this.#db.transaction((tx) => {
      tx.insert(author)
        .values({ name: 'Ursula', tags: ['a'] })
        .run();
    });
    return { made, found: this.#db.query.author.findMany({ with: { books: true } }).sync() };
  }
}
