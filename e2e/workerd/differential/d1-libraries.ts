// Libraries for D1, unmodified, on a database: Drizzle with its relational queries and batches, Kysely, workers-qb.

import { eq, relations, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { blob, integer, real, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { type Generated, Kysely } from 'kysely';
import { D1Dialect } from 'kysely-d1';
import { D1QB } from 'workers-qb';

/** The type of values that come from either engine. */
// biome-ignore lint/suspicious/noExplicitAny: the same code meets two engines, without their types
type Untyped = any;

const authors = sqliteTable('authors', {
  id: integer('id').primaryKey({ autoIncrement: true }),
  name: text('name').notNull().unique(),
});
const books = sqliteTable('books', {
  id: integer('id').primaryKey(),
  author: integer('author').references(() => authors.id, { onDelete: 'cascade' }),
  title: text('title').notNull(),
  price: real('price'),
  tags: text('tags', { mode: 'json' }).$type<string[]>(),
  published: integer('published', { mode: 'timestamp_ms' }),
  cover: blob('cover', { mode: 'buffer' }),
});
const authorRelations = relations(authors, ({ many }) => ({ books: many(books) }));
const bookRelations = relations(books, ({ one }) => ({
  author: one(authors, { fields: [books.author], references: [authors.id] }),
}));

async function onDrizzle(database: Untyped): Promise<unknown> {
  const db = drizzle(database, { schema: { authors, books, authorRelations, bookRelations } });
  await db.run(sql`CREATE TABLE authors (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE)`);
  await db.run(
    sql`CREATE TABLE books (id INTEGER PRIMARY KEY, author INTEGER REFERENCES authors ON DELETE CASCADE, title TEXT,
      price REAL, tags TEXT, published INTEGER, cover BLOB)`,
  );
  const [author] = await db.insert(authors).values({ name: 'Ursula' }).returning();
  const of = author!.id;
  const batch = await db.batch([
    db.insert(books).values({ author: of, title: 'One', price: 9.5, tags: ['a', 'b'] }),
    db
      .insert(books)
      .values({ author: of, title: 'Two', published: new Date(5) })
      .returning(),
    db.select({ count: sql<number>`count(*)` }).from(books),
  ]);
  const [, inserted, counted] = batch;
  const found = await db.query.authors.findMany({ with: { books: { orderBy: books.title } } });
  const upserted = await db
    .insert(authors)
    .values({ name: 'Ursula' })
    .onConflictDoUpdate({ target: authors.name, set: { name: 'U. K.' } })
    .returning();
  const failed = await db
    .batch([
      db.insert(authors).values({ name: 'Lost' }),
      db.insert(authors).values({ name: 'U. K.' }),
    ])
    .then(
      () => 'none',
      (error: Error) => String(error.cause ?? error),
    );
  const names = await db.select({ name: authors.name }).from(authors).all();
  const row = await db.select().from(books).where(eq(books.title, 'Two')).get();
  const values = await db.select({ title: books.title, price: books.price }).from(books).values();
  await db.delete(authors).where(eq(authors.id, of));
  const left = await db.$count(books);
  return { author, inserted, counted, found, upserted, failed, names, row, values, left };
}

interface Schema {
  person: { id: Generated<number>; name: string; age: number | null };
}

async function onKysely(database: Untyped): Promise<unknown> {
  const db = new Kysely<Schema>({ dialect: new D1Dialect({ database }) });
  await db.schema
    .createTable('person')
    .addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('name', 'text', (column) => column.notNull().unique())
    .addColumn('age', 'integer')
    .execute();
  const people = [
    { name: 'Ada', age: 36 },
    { name: 'Zoë', age: null },
  ];
  const result = await db.insertInto('person').values(people).executeTakeFirst();
  const inserted = [Number(result.insertId), Number(result.numInsertedOrUpdatedRows)];
  const updated = await db
    .updateTable('person')
    .set((eb) => ({ age: eb('age', '+', 1) }))
    .where('name', '=', 'Ada')
    .returningAll()
    .execute();
  const deleted = await db.deleteFrom('person').where('age', 'is', null).executeTakeFirst();
  const failed = await db
    .insertInto('person')
    .values({ name: 'Ada', age: 1 })
    .execute()
    .then(() => 'none', String);
  const numbers = [...inserted, Number(deleted.numDeletedRows)];
  return {
    numbers,
    updated,
    failed,
    left: await db.selectFrom('person').selectAll().execute(),
  };
}

async function onQueryBuilder(database: Untyped): Promise<unknown> {
  const db = new D1QB(database);
  await db
    .createTable({ tableName: 'pet', schema: 'id INTEGER PRIMARY KEY, name TEXT, legs INTEGER' })
    .execute();
  const data = [
    { name: 'Rex', legs: 4 },
    { name: 'Kit', legs: 2 },
  ];
  const inserted = await db.insert({ tableName: 'pet', data, returning: '*' }).execute();
  const found = await db
    .fetchAll({
      tableName: 'pet',
      where: { conditions: 'legs > ?1', params: [1] },
      orderBy: 'name',
    })
    .execute();
  const one = await db.fetchOne({ tableName: 'pet', fields: 'count(*) AS n' }).execute();
  const { results } = await db
    .update({
      tableName: 'pet',
      data: { legs: 3 },
      where: { conditions: "name = 'Kit'" },
      returning: '*',
    })
    .execute();
  return [inserted.results, found.results, one.results, results];
}

/** Asks for the tables as migration tools do. */
function introspected(database: Untyped): Promise<string> {
  const db = new Kysely<Schema>({ dialect: new D1Dialect({ database }) });
  return db.introspection
    .getTables()
    .then((tables) => tables.map(({ name }) => name).join(), String);
}

/** The findings of each library. */
export async function d1Libraries(database: Untyped): Promise<Record<string, unknown>> {
  return {
    drizzle: await onDrizzle(database),
    kysely: await onKysely(database),
    'workers-qb': await onQueryBuilder(database),
    'names and columns of all tables': await introspected(database),
  };
}
