// Calls of apps with Drizzle and Kysely on a page; Drizzle with the recipe of docs/query-builders.md.

import { drizzleOn } from 'recipe:drizzle.ts';
import { eq, sql } from 'drizzle-orm';
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { RemoteStorage } from '../../../src/index.ts';
import { runAll } from '../../../src/testing/kysely-program.ts';

const author = sqliteTable('author', {
  id: integer('id').primaryKey(),
  name: text('name').notNull().unique(),
  tags: text('tags', { mode: 'json' }).$type<string[]>(),
});

type CodedError = Error & { code?: string };

/** The code of a promise's rejection; SQLite's codes are found behind the library's own error. */
const codeOf = (made: PromiseLike<unknown>) =>
  made.then(
    () => 'none',
    (error: CodedError) =>
      error.code ?? (error.cause as CodedError | undefined)?.code ?? error.message,
  );

const builders = {
  async drizzle(storage: RemoteStorage) {
    const db = drizzleOn(storage);
    const names = async () =>
      (await db.select({ name: author.name }).from(author).orderBy(author.id)).map(
        ({ name }) => name,
      );
    await db.run(
      sql`CREATE TABLE author(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, tags TEXT)`,
    );
    const inserted = await db
      .insert(author)
      .values([{ name: 'Ursula', tags: ['a', 'b'] }, { name: 'Stanislaw' }])
      .returning();
    await db.update(author).set({ tags: [] }).where(eq(author.name, 'Stanislaw'));
    const found = await db.select().from(author).where(eq(author.name, 'Stanislaw')).get();
    const missing = await db.select().from(author).where(eq(author.name, 'nobody')).get();
    const failed = await codeOf(db.insert(author).values({ name: 'Ursula' }));

    const refused = await codeOf(
      db.transaction((tx) => tx.insert(author).values({ name: 'begun' })),
    );
    const undone = await codeOf(
      storage.transaction(async () => {
        await db.insert(author).values({ name: 'undone' });
        await db.insert(author).values({ name: 'Ursula' });
      }),
    );
    await storage.transaction(async () => {
      await db.insert(author).values({ name: 'Octavia' });
      await db.delete(author).where(eq(author.name, 'Stanislaw'));
    });
    const batchUndone = await codeOf(
      db.batch([
        db.insert(author).values({ name: 'undone' }),
        db.insert(author).values({ name: 'Ursula' }),
      ]),
    );
    const [, selected] = await db.batch([
      db.insert(author).values({ name: 'Iain' }),
      db.select({ count: sql<number>`count(*)` }).from(author),
    ]);
    const codes = { failed, refused, undone, batchUndone };
    return { inserted, found, missing: missing ?? null, codes, selected, names: await names() };
  },

  kysely: runAll,
};

declare global {
  interface Window {
    builders: typeof builders;
  }
}

window.builders = builders;
