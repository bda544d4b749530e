// Drizzle's driver for the SQL storage, with its migrator.

import { DurableObject } from 'cloudflare:workers';
import { eq, sql } from 'drizzle-orm';
import { type DrizzleSqliteDODatabase, drizzle } from 'drizzle-orm/durable-sqlite';
import { migrate } from 'drizzle-orm/durable-sqlite/migrator';
import { blob, integer, real, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import first from './migrations/0000_first.sql';
import second from './migrations/0001_second.sql';

const authors = sqliteTable('authors', {
  id: integer('id').primaryKey({ autoIncrement: true }),
  name: text('name').notNull(),
});

const books = sqliteTable(
  'books',
  {
    id: integer('id').primaryKey({ autoIncrement: true }),
    author: integer('author').references(() => authors.id, { onDelete: 'cascade' }),
    title: text('title').notNull(),
    price: real('price'),
    tags: text('tags', { mode: 'json' }).$type<string[]>(),
    published: integer('published', { mode: 'timestamp_ms' }),
    cover: blob('cover', { mode: 'buffer' }),
  },
  (table) => [uniqueIndex('books_title').on(table.title)],
);

const MIGRATIONS = {
  journal: {
    entries: [
      { idx: 0, when: 1_700_000_000_000, tag: '0000_first', breakpoints: true },
      { idx: 1, when: 1_700_000_100_000, tag: '0001_second', breakpoints: true },
    ],
  },
  migrations: { m0000: first, m0001: second },
};

export class Library extends DurableObject {
  readonly #db: DrizzleSqliteDODatabase = drizzle(this.ctx.storage as never, { logger: false });

  constructor(ctx: never, env: never) {
    super(ctx, env);
    void this.ctx.blockConcurrencyWhile(() => migrate(this.#db, MIGRATIONS));
  }

  async run(): Promise<unknown> {
    const db = this.#db;
    await migrate(db, MIGRATIONS); // a second time changes nothing
    const [author] = await db.insert(authors).values({ name: 'Ursula' }).returning();
    await db.insert(books).values([
      { author: author!.id, title: 'One', price: 9.5, tags: ['a', 'b'], published: new Date(0) },
      { author: author!.id, title: 'Two', cover: new Uint8Array([1, 2, 3]) as never },
    ]);
    const updated = await db
      .update(books)
      .set({ price: sql`coalesce(${books.price}, 0) + 1` })
      .where(eq(books.author, author!.id))
      .returning({ title: books.title, price: books.price });
    const joined = await db
      .select({ title: books.title, author: authors.name, tags: books.tags, at: books.published })
      .from(books)
      .innerJoin(authors, eq(books.author, authors.id))
      .orderBy(books.title);
    let failure = 'none';
    try {
      db.transaction((tx) => {
        tx.insert(books).values({ title: 'Three' }).run();
        tx.insert(books).values({ title: 'One' }).run();
      });
    } catch {
      failure = 'rolled back';
    }
    const [count] = await db.select({ count: sql<number>`count(*)` }).from(books);
    await db.delete(authors).where(eq(authors.id, author!.id));
    const left = await db.select({ title: books.title }).from(books).all();
    return { author, updated, joined, failure, count, left };
  }
}
