// Libraries that were written for workerd, unmodified, each in a class of its own. The same file runs
// in workerd, in browsers and in Node; what each method gives must be equal there.

import { DurableObject } from 'cloudflare:workers';
import { eq, sql } from 'drizzle-orm';
import { type DrizzleSqliteDODatabase, drizzle } from 'drizzle-orm/durable-sqlite';
import { migrate } from 'drizzle-orm/durable-sqlite/migrator';
import { blob, integer, real, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { type Connection, Server } from 'partyserver';
import { createMergeableStore } from 'tinybase';
import { createDurableObjectSqlStoragePersister } from 'tinybase/persisters/persister-durable-object-sql-storage';
import { createDurableObjectStoragePersister } from 'tinybase/persisters/persister-durable-object-storage';
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

/** Drizzle's driver for the SQL storage, with its migrator. */
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

/** TinyBase over keys, and over SQL in both of its forms. */
export class Bases extends DurableObject {
  async run(): Promise<unknown> {
    const { storage } = this.ctx;
    const sqlStorage = storage.sql as never;
    const persisters = {
      keys: (store: never) => createDurableObjectStoragePersister(store, storage as never, 'keys/'),
      json: (store: never) =>
        createDurableObjectSqlStoragePersister(store, sqlStorage, { mode: 'json' }),
      fragmented: (store: never) =>
        createDurableObjectSqlStoragePersister(store, sqlStorage, {
          mode: 'fragmented',
          storagePrefix: 'parts_',
        }),
    };
    const results: Record<string, unknown> = {};
    for (const [name, create] of Object.entries(persisters)) {
      const written = createMergeableStore('writer');
      const saving = create(written as never);
      await saving.startAutoSave();
      written.setTables({ pets: { fido: { species: 'dog', age: 3 }, cat: { species: 'cat' } } });
      written.setValues({ open: true, title: 'Zoë 🦊' });
      written.delCell('pets', 'fido', 'age');
      await saving.save();
      await saving.destroy();
      const read = createMergeableStore('reader');
      const loading = create(read as never);
      await loading.load();
      await loading.destroy();
      // Its objects have no prototype, which neither side clones.
      results[name] = JSON.parse(JSON.stringify(read.getContent()));
    }
    return results;
  }
}

/** partyserver's base class, whose connections outlive the object's memory. */
export class Party extends Server {
  static override options = { hibernate: true };

  override async onConnect(connection: Connection): Promise<void> {
    connection.setState({ messages: 0 });
    connection.send(`welcome to ${this.name}`);
    this.broadcast('somebody came', [connection.id]);
  }

  override onMessage(connection: Connection<{ messages: number }>, message: string): void {
    const messages = (connection.state?.messages ?? 0) + 1;
    connection.setState({ messages });
    this.broadcast(`${messages}: ${message}`);
  }

  override onClose(_connection: Connection, code: number): void {
    this.broadcast(`left with ${code}`);
  }

  override onRequest(): Response {
    return Response.json({ name: this.name, here: [...this.getConnections()].length });
  }
}
